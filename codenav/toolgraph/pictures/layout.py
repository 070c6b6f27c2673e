"""Places of nodes in a picture: those of a group lie together, and those with heavy edges are near to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WORK = 90_000
"""Nodes times steps: 180 steps for 500 nodes."""
GOLDEN = np.pi * (3 - np.sqrt(5))
ROOM = 60.0
"""Pixels between two nodes that nothing draws together."""
FAR = 2.5 * ROOM
"""The distance from which nodes no longer push each other."""
PULL_OF_GROUP = 0.06
PULL_OF_MIDDLE = 0.02
ACROSS = 0.15
"""The pull of an edge between two groups, in parts of that of one inside a group: more would mix the groups."""


def place(radii: Sequence[float], groups: Sequence[int], edges: Sequence[tuple[int, int, float]]) -> Floats:
    """Return a point in pixels for each node: a row of x and y, none below 0. The same input gives the same places.

    Forces as of T. Fruchterman and E. Reingold, Graph drawing by force-directed placement, 1991: all nodes push each
    other away, and edges pull; besides, groups hold their nodes together. At the end circles that overlap are parted.

    Args:
        radii: the radius of each node, in pixels.
        groups: the number of each node's group, from 0.
        edges: pairs of nodes, with the weight of the edge, 0 to 1.
    """
    count = len(radii)
    if not count:
        return np.zeros((0, 2))
    size, group = np.asarray(radii, dtype=np.float64), np.asarray(groups, dtype=np.int64)
    ends = np.array([(one, other) for one, other, _ in edges if one != other], dtype=np.int64).reshape(-1, 2)
    pulls = np.array([0.3 + weight for one, other, weight in edges if one != other])
    pulls = pulls * np.where(group[ends[:, 0]] == group[ends[:, 1]], 1.0, ACROSS)
    points = _start(group)
    steps = max(60, min(400, WORK // count))
    for step in range(steps):
        moves = _pushed(points) + _pulled(points, ends, pulls) + _held(points, group)
        length = np.sqrt((moves**2).sum(axis=1, keepdims=True)) + 1e-9
        # Steps get shorter, so that the drawing comes to rest.
        points += moves / length * np.minimum(length, 2 * ROOM * (1 - step / steps) ** 1.5)
    for _ in range(60):
        if not _part(points, size):
            break
    placed: Floats = points - points.min(axis=0) + size.max()
    return placed


def _start(group: Ints) -> Floats:
    """Each group on a disk of its own, the disks on a spiral from the largest group outwards."""
    points = np.zeros((len(group), 2))
    names, sizes = np.unique(group, return_counts=True)
    area = 0.0
    for name, members in sorted(zip(names, sizes, strict=True), key=lambda one: (-one[1], one[0])):
        turn = np.sqrt(area + members / 2) * ROOM if area else 0.0
        angle = GOLDEN * int(name)
        centre = turn * np.array([np.cos(angle), np.sin(angle)])
        inside = np.arange(members)
        spiral = ROOM * np.sqrt(inside / 2)[:, None] * np.stack([np.cos(GOLDEN * inside), np.sin(GOLDEN * inside)], 1)
        points[group == name] = centre + spiral
        area += float(members)
    return points


def _pushed(points: Floats) -> Floats:
    # Half of the digits: this is nearly all of the work.
    x, y = (points[:, axis].astype(np.float32) for axis in (0, 1))
    across, down = x[:, None] - x[None, :], y[:, None] - y[None, :]
    distance = across**2 + down**2
    # What is far away does not push, or the drawing would grow with every node.
    strength = np.where(distance < FAR**2, ROOM**2 / np.maximum(distance, 1.0), np.float32(0))
    return np.stack([(across * strength).sum(axis=1), (down * strength).sum(axis=1)], 1).astype(np.float64)


def _pulled(points: Floats, ends: Ints, pulls: Floats) -> Floats:
    moves = np.zeros_like(points)
    if len(ends):
        between = points[ends[:, 1]] - points[ends[:, 0]]
        # The law is distance² / room; far ends would be torn over everything between them.
        length = np.minimum(np.sqrt((between**2).sum(axis=1)), 6 * ROOM)
        force = between * (pulls * length / ROOM)[:, None] * 0.25
        np.add.at(moves, ends[:, 0], force)
        np.add.at(moves, ends[:, 1], -force)
    return moves


def _held(points: Floats, group: Ints) -> Floats:
    """The pull towards the middle of the own group, which grows with the group's size, and towards that of all."""
    sizes = np.bincount(group).astype(np.float64)
    middles = np.stack([np.bincount(group, points[:, axis]) for axis in (0, 1)], 1) / np.maximum(sizes, 1)[:, None]
    strength = PULL_OF_GROUP * np.sqrt(sizes)[group][:, None]
    held: Floats = (middles[group] - points) * strength + (points.mean(axis=0) - points) * PULL_OF_MIDDLE
    return held


def _part(points: Floats, size: Floats) -> bool:
    """Move circles that overlap apart, once; False if none does."""
    between = points[:, None, :] - points[None, :, :]
    distance = np.sqrt((between**2).sum(axis=2))
    lacking = size[:, None] + size[None, :] + 6.0 - distance
    np.fill_diagonal(lacking, 0.0)
    lacking = np.maximum(lacking, 0.0)
    if not lacking.any():
        return False
    # Two nodes at one point are parted along a direction that depends on their numbers alone.
    same = (distance < 1e-6) & (lacking > 0)
    if same.any():
        angle = GOLDEN * np.arange(len(points))
        points += np.stack([np.cos(angle), np.sin(angle)], 1) * same.any(axis=1)[:, None]
        return True
    points += (between * (lacking / 2 / np.maximum(distance, 1e-6))[:, :, None]).sum(axis=1)
    return True
