"""Building of the image of a recipe in three stages: system packages, requirements, code.

Each stage is a container that runs one task and is committed. Unchanged stages are reused: an image is found by a label
with the hash of all that it was made from.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from codenav.core.config import home
from codenav.core.errors import StorageFull, Unavailable, UsageError
from codenav.core.system import docker_engine
from codenav.core.system.docker_engine import engine_says
from codenav.core.system.interpreter import OLDEST
from codenav.core.system.locks import held
from codenav.sandboxes.docker_config import PATH, UID
from codenav.sandboxes.docker_image import IMPORTS_LABEL, SOURCES_LABEL
from codenav.sandboxes.images.code import CODE, Packed, record
from codenav.sandboxes.images.containers import END, NoPython, Probe, TaskFailed, Workshop, folders_to, uploaded
from codenav.sandboxes.images.inside import BUILD
from codenav.sandboxes.images.pip_settings import PipSettings
from codenav.sandboxes.images.recipe import BuiltImage, Recipe
from codenav.sandboxes.images.requirements import Requirements
from codenav.sandboxes.owned_resources import KIND_LABEL

CONTENT_LABEL = "codenav.content"
"""Label with the hash of what an image was made from."""
PACKAGES_LABEL = "codenav.packages"
"""Label with the packages that pip installed: `NAME==VERSION`, with white space between them."""
PYTHON_LABEL = "codenav.python"
"""Label with the version of the interpreter."""

ENVIRONMENT = "/opt/codenav/venv"
"""The virtual environment inside, on top of the base image's Python."""
LEAST_SECRET = 6
"""Fewest characters of a variable that is masked in pip's output: shorter ones are versions and flags."""
RECIPE = 1
"""Version of the build rules. It increases when the same recipe yields a different image."""
_PTH = "codenav-code.pth"

_APT = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+)?")


Tell = Callable[[str], None]


def build(recipe: Recipe, *, rebuild: bool = False, tell: Tell = lambda line: None) -> BuiltImage:
    """Build the image of a recipe, unless the engine has one of the same content and `rebuild` is not set.

    If the build fails or is interrupted it leaves no container, and the previous image stays.

    Raises:
        StorageFull: nothing can be written under CODENAV_HOME.
        Unavailable: there is no engine or no base image, or pip or apt-get failed.
        UsageError: the base has no Python 3.8 or later, a name is invalid, or requirements cannot be read.
    """
    with contextlib.closing(docker_engine.connect()) as client:
        job = _Build(client.api, recipe, rebuild, tell)
        try:
            with _alone(recipe, tell):
                return job.run()
        except (TaskFailed, NoPython) as error:
            raise _failure("the build failed", error) from error


class _Build:
    """One build of an image."""

    def __init__(self, client: Any, recipe: Recipe, rebuild: bool, tell: Tell) -> None:
        if not recipe.sources:
            raise UsageError("no code base was named", hint="--on PATH or --on pkg:NAME")
        wrong = next((name for name in recipe.apt if not _APT.fullmatch(name)), None)
        if wrong is not None:
            raise UsageError(f"{wrong!r} is not the name of a Debian package", hint="--apt NAME or --apt NAME=VERSION")
        self.client, self.recipe, self.rebuild, self.tell = client, recipe, rebuild, tell
        self.tag = recipe.named()
        self.workshop = Workshop(client, recipe.network)
        self.requirements = Requirements.of(recipe.requirements, recipe.code, recipe.packages)
        self.packed = [Packed.of(code) for code in recipe.code]
        self._probe: Probe | None = None

    def run(self) -> BuiltImage:
        """Build the image, or find it, and return its description."""
        started = time.monotonic()
        base = self._base()
        system = _hash(RECIPE, "system", base["Id"], sorted(set(self.recipe.apt)))
        environment = _hash(system, "environment", self.requirements.digest(), self._imports_inside())
        content = _hash(environment, "code", self.recipe.sources, [
            (one.code.place, one.digest, one.code.import_paths) for one in self.packed
        ])  # fmt: skip
        id = None if self.rebuild else self._kept(content)
        built = id is None
        if id is None:
            id = self._made(base, system, environment, content)
        self._name(id)
        with engine_says():
            found = self.client.inspect_image(id)
        held = found["Config"]["Labels"]
        return BuiltImage(
            image=self.tag,
            id=id,
            built=built,
            base=self.recipe.base,
            sources=self.recipe.sources,
            python=held[PYTHON_LABEL],
            packages=held[PACKAGES_LABEL].split(),
            requirements=self.requirements.origins,
            left_out=[f"{one.code.root}/{path}" for one in self.packed for path in one.left_out],
            size_bytes=int(found["Size"]),
            seconds=time.monotonic() - started,
        )

    def _base(self) -> Mapping[str, Any]:
        from docker.errors import APIError, ImageNotFound

        name = self.recipe.base
        with engine_says():
            try:
                with contextlib.suppress(ImageNotFound):
                    return dict(self.client.inspect_image(name))
                self.tell(f"Fetching {name}")
                hint = "check its name and the network, or name another one with --base"
                docker_engine.fetch(self.client, name, hint=hint)
                return dict(self.client.inspect_image(name))
            except APIError as error:
                raise UsageError(f"{name!r} is not the name of an image", hint="--base python:3.12-slim") from error

    def _made(self, base: Mapping[str, Any], system: str, environment: str, content: str) -> str:
        first = base["Id"]
        if self.recipe.apt:
            first = self._kept(system, rebuild=self.rebuild) or self._with_packages(first, system)
        path = next((one[5:] for one in base["Config"].get("Env") or () if one.startswith("PATH=")), PATH)
        config: dict[str, Any] = {"Env": [f"PATH={ENVIRONMENT}/bin:{path}"]}
        second = self._kept(environment, rebuild=self.rebuild) or self._with_requirements(first, environment, config)
        self.tell("Copying the code in")
        with engine_says():
            held = self.client.inspect_image(second)["Config"]["Labels"]
        marks = {
            **{name: held[name] for name in (PYTHON_LABEL, PACKAGES_LABEL)},
            CONTENT_LABEL: content,
            SOURCES_LABEL: "\n".join(self.recipe.sources),
            IMPORTS_LABEL: json.dumps(self._imports()),
        }
        task = {**_common("byte_code", PipSettings(), {}), "folder": CODE}
        config["Labels"] = marks
        with self.workshop.done(second, "python3", task, before=self._tar(), config=config) as (id, _):
            return self.workshop.commit(id, {})

    def _with_packages(self, image: str, content: str) -> str:
        """Return an image with the Debian packages added."""
        self.tell(f"Installing {', '.join(self.recipe.apt)} with apt-get")
        if not self._probed(image).apt:
            raise UsageError(f"the image {self.recipe.base} has no apt-get", hint="--base python:3.12-slim")
        settings = PipSettings.of_user(BUILD)
        task = {**_common("apt", settings, settings.proxies), "packages": sorted(set(self.recipe.apt))}
        try:
            with self.workshop.done(image, self._probed(image).command, task, root=True, network=True) as (id, _):
                return self.workshop.commit(id, {CONTENT_LABEL: content})
        except TaskFailed as error:
            raise _failure("apt-get could not install", error) from error

    def _with_requirements(self, image: str, content: str, config: Mapping[str, Any]) -> str:
        """Return an image with a virtual environment added that contains the requirements."""
        probe = self._probed(image)
        wanted = self.requirements
        settings = PipSettings.of_user(BUILD)
        values = {name: os.environ[name] for name in wanted.variables if os.environ.get(name)}
        settings.secrets += [value for value in values.values() if len(value) >= LEAST_SECRET]
        settings.take_secrets(re.findall(r"\w+://\S+", "\n".join(wanted.texts.values())))
        files = dict(settings.files)
        pip = ""
        if wanted.names:
            self.tell("Installing what is required, with pip")
            if not probe.pip:
                pip, files[pip] = "pip.whl", _own_pip()
        # site executes lines of a .pth file that begin with import. It reads the file twice where lib64 is a link.
        folders = "".join(
            f"import sys; {one!r} in sys.path or sys.path.insert(0, {one!r})\n"
            for one in reversed(self._imports_inside())
        )
        task = {
            **_common("install", settings, {**settings.env, **values}),
            "environment": ENVIRONMENT,
            "requirements": wanted.names,
            "pip": pip,
            "files": {_PTH: folders} if folders else {},
        }
        files.update({f"requirements/{name}": text.encode() for name, text in wanted.texts.items()})
        paths = {f"requirements/{name}": path for name, path in wanted.uploads.items()}
        place = [*folders_to(os.path.dirname(ENVIRONMENT), uid=UID), END]
        try:
            with self.workshop.done(
                image, probe.command, task, uploaded(files, paths), network=True, before=place, config=config
            ) as (id, result):
                packages = " ".join(f"{name}=={version}" for name, version in result["packages"])
                return self.workshop.commit(
                    id, {CONTENT_LABEL: content, PYTHON_LABEL: probe.version, PACKAGES_LABEL: packages}
                )
        except TaskFailed as error:
            raise _failure("pip could not install what is required", error) from error

    def _tar(self) -> Iterator[bytes]:
        for packed in self.packed:
            yield from packed.tar(uid=UID)
        yield END

    def _probed(self, image: str) -> Probe:
        if self._probe is None:
            name = self.recipe.base
            found = self.workshop.probe(image, name)
            if tuple(map(int, found.version.split(".")[:2])) < OLDEST:
                raise UsageError(
                    f"the image {name} has Python {found.version}; {'.'.join(map(str, OLDEST))} or later is needed",
                    hint="--base python:3.12-slim",
                )
            if not found.venv:
                raise UsageError(f"Python in the image {name} lacks the module venv", hint="--base python:3.12-slim")
            self._probe = found
        return self._probe

    def _imports_inside(self) -> list[str]:
        return list(dict.fromkeys(folder for one in self.packed for folder in one.code.import_folders))

    def _imports(self) -> dict[str, Any]:
        return {str(path): record(one) for one in self.packed for path in one.code.import_paths}

    def _kept(self, content: str, *, rebuild: bool = False) -> str | None:
        """Return the newest image with that content, or None."""
        if rebuild:
            return None
        with engine_says():
            # A single label, because Podman finds nothing with two.
            listed = self.client.images(all=True, filters={"label": [f"{CONTENT_LABEL}={content}"]})
        newest = max(listed, key=lambda item: int(item.get("Created", 0)), default=None)
        return str(newest["Id"]) if newest else None

    def _name(self, id: str) -> None:
        """Tag the image, and remove earlier images of these sources that have lost their name to it."""
        from docker.errors import APIError

        with engine_says():
            name, _, version = (
                self.tag.rpartition(":") if ":" in self.tag.rpartition("/")[2] else (self.tag, "", "latest")
            )
            self.client.tag(id, name, version)
            listed = self.client.images(filters={"label": [f"{KIND_LABEL}=image"]})
        for item in listed:
            named = [one for one in item.get("RepoTags") or () if one != "<none>:<none>"]
            held = item.get("Labels") or {}
            if item["Id"] != id and not named and held.get(SOURCES_LABEL) == "\n".join(self.recipe.sources):
                with contextlib.suppress(APIError):
                    self.client.remove_image(item["Id"])


def _alone(recipe: Recipe, tell: Tell) -> contextlib.AbstractContextManager[None]:
    """Hold the lock for building from these sources. A second build waits, then finds the image of the first."""
    place = home("data"), f"image-{recipe.key}.lock"
    return held(*place, waiting=lambda: tell("Waiting for another build of these sources"), making=_writable)


@contextlib.contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFull(f"cannot write {error.filename or home('data')}: {error.strerror}", cause=error) from error


def _common(do: str, settings: PipSettings, env: Mapping[str, str]) -> dict[str, Any]:
    return {"do": do, "env": dict(env), "secrets": list(settings.secrets)}


def _failure(what: str, error: Exception) -> Unavailable:
    """Return an error that quotes the last lines of the failed program."""
    lines = "\n".join(f"  {line}" for line in str(error).splitlines())
    return Unavailable(f"{what}:\n{lines}", hint="mend what the lines above name, then build again")


def _hash(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _own_pip() -> bytes:
    """Return a pip wheel of this machine, for a base image without pip.

    Raises:
        Unavailable: there is none here either.
    """
    bundled = Path(sysconfig.get_path("stdlib"), "ensurepip", "_bundled")
    for folder in (bundled, Path("/usr/share/python-wheels")):
        for wheel in sorted(folder.glob("pip-*.whl"), reverse=True):
            return wheel.read_bytes()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    raise Unavailable("the base image has no pip, and this Python brings none", hint=f"--base python:{version}-slim")
