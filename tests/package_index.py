"""A package index and a Debian archive over HTTP, for builds inside a real engine with pip and apt-get."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self


def wheel(name: str, version: str, text: str, *, requires: str = "") -> tuple[str, bytes]:
    """A wheel of one module: its file name and its bytes."""
    info = f"{name}-{version}.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-say={name}:say\n",
    }
    rows = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


def source(name: str, version: str, backend: str) -> tuple[str, bytes]:
    """A source distribution that builds itself with a module of its own: its file name and its bytes."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    info = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, content in (("pyproject.toml", project), ("PKG-INFO", info), ("backend.py", backend)):
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return f"{name}-{version}.tar.gz", buffer.getvalue()


def debian(folder: Path, name: str, version: str, program: str) -> tuple[str, bytes]:
    """A Debian package with a program `/usr/bin/NAME`, made with dpkg-deb: its file name and its bytes."""
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr" / "bin").mkdir(parents=True)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: t <t@t>\nDescription: of tests\n"
    (root / "DEBIAN" / "control").write_text(control)
    (root / "usr" / "bin" / name).write_text(program)
    (root / "usr" / "bin" / name).chmod(0o755)
    made = folder / f"{name}_{version}_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, made], check=True, capture_output=True)
    return made.name, made.read_bytes()


class PackageIndex:
    """A server of files under `/simple/` for pip and under `/debian/` for apt-get.

    `credentials` are `user:password`; if set, they are required. A path in `slow` is answered once `release` is set.
    """

    def __init__(self, host: str, credentials: str = "") -> None:
        self.wheels: dict[str, bytes] = {}
        self.packages: dict[str, bytes] = {}
        self.slow: set[str] = set()
        self.asked: list[str] = []
        self.release = threading.Event()
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                wanted = "Basic " + base64.b64encode(credentials.encode()).decode()
                if credentials and self.headers.get("Authorization") != wanted:
                    self.answer(401, b"", {"WWW-Authenticate": 'Basic realm="tests"'})
                    return
                if self.path in index.slow:
                    index.release.wait(60)
                found = index.answer(self.path)
                self.answer(200 if found is not None else 404, found or b"", {})

            def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                if not self.path.startswith("/files/"):
                    self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.host, self.port = host, self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def answer(self, path: str) -> bytes | None:
        """The body of a page or a file; None if there is none."""
        if path.startswith("/simple/"):
            project = path.removeprefix("/simple/").strip("/")
            names = [name for name in self.wheels if name.partition("-")[0].replace("_", "-") == project]
            links = "".join(f'<a href="/files/{name}">{name}</a>\n' for name in names)
            return f"<!DOCTYPE html><html><body>{links}</body></html>".encode() if names else None
        if path == "/debian/./Packages":
            return self._listed()
        name = path.rpartition("/")[2]
        return self.wheels.get(name) if path.startswith("/files/") else self.packages.get(name)

    def url(self, path: str = "/simple", *, credentials: str = "") -> str:
        """The address of a path, as the containers of the engine reach it."""
        return f"http://{credentials + '@' if credentials else ''}{self.host}:{self.port}{path}"

    def wait_for(self, path: str) -> None:
        """Wait until somebody has requested a path."""
        until = time.monotonic() + 60
        while path not in self.asked:
            assert time.monotonic() < until, f"nobody asked for {path}"
            time.sleep(0.02)

    def _listed(self) -> bytes:
        entries = []
        for file, data in self.packages.items():
            name, version, _ = file.split("_")
            entries.append(
                f"Package: {name}\nVersion: {version}\nArchitecture: all\nFilename: ./{file}\nSize: {len(data)}\n"
                f"SHA256: {hashlib.sha256(data).hexdigest()}\nDescription: of tests\n"
            )
        return "\n".join(entries).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
