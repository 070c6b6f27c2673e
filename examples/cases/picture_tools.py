"""Tools for pictures of people: find them, cut parts out, and answer questions about a face.

They stand in for the neural models of the CodeNav paper's case study: people are what stands on a white ground, and a
question is answered by the colours of the picture. Pillow is all that they need.
"""

from __future__ import annotations

from PIL import Image

HAT, LIPS = (200, 30, 30), (230, 90, 120)


def load_picture(path: str) -> Image.Image:
    """Load a picture as RGB."""
    return Image.open(path).convert("RGB")


def segment_people(picture: Image.Image) -> list[tuple[int, int, int, int]]:
    """Find the people in a picture. Returns a box (left, top, right, bottom) for each, from left to right."""
    inked = picture.convert("L").point(lambda value: 255 * (value < 250))
    columns = [inked.crop((x, 0, x + 1, inked.height)).getbbox() is not None for x in range(inked.width)]
    edges = [x for x in range(1, len(columns)) if columns[x] != columns[x - 1]]
    boxes = []
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        _, top, _, bottom = inked.crop((left, 0, right, inked.height)).getbbox()
        boxes.append((left, top, right, bottom))
    return boxes


def crop_box(picture: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    """Cut a box out of a picture."""
    return picture.crop(box)


def answer_question(face: Image.Image, question: str) -> str:
    """Answer a question about the picture of a face with yes or no. It knows of hats and of smiles."""
    color = HAT if "hat" in question.lower() else LIPS
    return "yes" if color in {found for _, found in face.getcolors(face.width * face.height)} else "no"
