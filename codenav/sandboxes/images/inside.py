"""Tasks of an image build, run in a temporary container. Standard library only, Python 3.8 and later.

`BUILD` contains the task in `task.json` and the outcome in `result.json`. The folder is a volume of the container and
is removed with it, so the settings of pip, which may contain passwords, are never in a layer.
"""

from __future__ import annotations

import glob
import json
import os
import stat
import subprocess
import sys
from typing import Any

BUILD = "/tmp/codenav-build"
REQUIREMENTS = os.path.join(BUILD, "requirements")
LAST_LINES = 12

APT_OPTIONS = ("-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")
"""Options that keep apt-get from writing caches of the lists it has read."""


PIP_OPTIONS = (
    "--no-input", "--no-compile", "--no-cache-dir", "--no-warn-script-location", "--disable-pip-version-check",
)  # fmt: skip
"""Options that keep pip from asking, caching, compiling and checking for a newer version of itself."""


class Failed(Exception):
    """A program of the task failed. The message is its last output."""


def run(command: list[str], env: dict[str, str], secrets: list[str]) -> None:
    """Run a program to its end.

    Raises:
        Failed: it failed; the message has its last lines, with secrets masked.
    """
    # pip resolves the paths of archives in a requirements file relative to its working directory.
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=REQUIREMENTS
    )
    if done.returncode:
        text = done.stdout.decode("utf-8", "replace")
        for secret in secrets:
            text = text.replace(secret, "***")
        lines = [line.rstrip()[:300] for line in text.splitlines() if line.strip()]
        raise Failed("\n".join(lines[-LAST_LINES:]) or f"exit status {done.returncode}")


def environment(task: dict[str, Any]) -> dict[str, str]:
    """Return the environment of programs: paths, no user, and the settings of the task."""
    home = os.path.join(BUILD, "home")
    for folder in (home, REQUIREMENTS):
        os.makedirs(folder, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH") or "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        **task["env"],
    }


def apt(task: dict[str, Any]) -> dict[str, Any]:
    """Install Debian packages as root, without what the next `apt-get update` fetches again."""
    env = {**environment(task), "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", *APT_OPTIONS, "update"], env, task["secrets"])
    command = ["apt-get", *APT_OPTIONS, "install", "--yes", "--no-install-recommends", "--", *task["packages"]]
    run(command, env, task["secrets"])
    for path in glob.glob("/var/cache/apt/archives/*.deb") + glob.glob("/var/lib/apt/lists/*_*"):
        os.unlink(path)
    return {}


def install(task: dict[str, Any]) -> dict[str, Any]:
    """Make a virtual environment on the image's interpreter, and install the requirements in it."""
    env = environment(task)
    place = task["environment"]
    run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", place], env, task["secrets"])
    python = os.path.join(place, "bin", "python3")
    if task["requirements"]:
        pip = ["-m", "pip"] if task["pip"] == "" else [os.path.join(BUILD, task["pip"], "pip")]
        command = [python, *pip, "install", *PIP_OPTIONS]
        for name in task["requirements"]:
            command += ["--requirement", os.path.join(REQUIREMENTS, name)]
        run(command, env, task["secrets"])
    for name, text in task["files"].items():
        for site in glob.glob(os.path.join(place, "lib", "python*", "site-packages")):
            with open(os.path.join(site, name), "w", encoding="utf-8") as file:
                file.write(text)
    compile_all(python, os.path.join(place, "lib"), env)
    listed = subprocess.run([python, "-c", _LIST, place], env=env, stdout=subprocess.PIPE, check=True)
    return {"packages": json.loads(listed.stdout.decode())}


_LIST = """
import glob, json, sys
from importlib import metadata
found = metadata.distributions(path=glob.glob(sys.argv[1] + "/lib/python*/site-packages"))
print(json.dumps(sorted({(item.metadata["Name"], item.version) for item in found if item.metadata["Name"]})))
"""


def byte_code(task: dict[str, Any]) -> dict[str, Any]:
    """Compile a code base. In a sandbox nothing could, and nothing changes it: both are read-only there."""
    compile_all(sys.executable, task["folder"], environment(task))
    return {}


def compile_all(python: str, folder: str, env: dict[str, str]) -> None:
    """Compile a folder. Files that do not compile, such as templates or code for other versions, are skipped."""
    command = [python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", folder]
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Run the task, and write its result."""
    with open(os.path.join(BUILD, "task.json"), encoding="utf-8") as file:
        task = json.load(file)
    result = os.path.join(BUILD, "result.json")
    os.close(os.open(result, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR))
    try:
        answer = {"failed": None, **{"apt": apt, "install": install, "byte_code": byte_code}[task["do"]](task)}
    except Failed as error:
        answer = {"failed": str(error)}
    except OSError as error:
        answer = {"failed": f"{error.filename or task['do']}: {error.strerror}"}
    except subprocess.CalledProcessError as error:
        answer = {"failed": str(error)}
    with open(result, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
