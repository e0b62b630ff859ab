"""Where a mesh file may lie: in the folder of the file that names it, or in the package around that folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from robocompiler.records.names import shown
from robocompiler.viewer.mesh_files.refusal import MeshRefusedError, PackageMissingError

LEVELS = 3  # above the model's folder, where its package may begin
_PACKAGE_FILES = ("package.xml", "model.config")
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]{1,200})\s*</name>")
_MAXIMUM_PACKAGE_FILE = 1_000_000


def locate(uri: str, model: Path) -> Path:
    """The file, with links followed, that `uri` names in the file `model`.

    Raises MeshRefusedError, PackageMissingError where it is all of a package that cannot be found.

    A relative name starts in the model's folder, package://NAME/... and model://NAME/... in the folder that is or
    states that package: the model's own or one of the next above.  Nothing outside the model's folder and its package
    is found, whatever dots, links or absolute paths lead there.
    """
    try:
        return _located(uri, model)
    except (OSError, RuntimeError, ValueError) as error:  # names too long for the disk, folders that may not be read
        reason = error.strerror if isinstance(error, OSError) else None
        raise MeshRefusedError(f"cannot be looked for: {reason or type(error).__name__}") from error


def _located(uri: str, model: Path) -> Path:
    folder = model.resolve().parent
    name = uri.strip().replace("\\", "/")
    if not name or "\0" in name:
        raise MeshRefusedError("names no file")
    scheme, separator, rest = name.partition("://")
    allowed = [folder, *packages(folder)]
    if not separator or scheme == "file":
        starts, inner = [folder], rest if separator else name
    elif scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        starts = list(_roots(package, folder))
        allowed += starts
        if not starts:
            raise PackageMissingError(
                f"no folder around the model is the package {shown(package)}: put the model below a folder of that "
                "name, or one whose package.xml states it"
            )
    else:
        raise MeshRefusedError(f"{scheme[:20]}:// is not fetched; put the file beside the model")
    found = [path for start in starts if (path := _inside(start / inner, allowed)) is not None]
    if not found:
        raise MeshRefusedError(
            f"leads out of the folder of the model and of its package; put the file below {folder.name}/"
        )
    for path in found:
        if path.is_file():
            return path
    raise MeshRefusedError("there is no such file")


def packages(folder: Path) -> Iterator[Path]:
    """The nearest folder around `folder`, itself included, that says to be a package."""
    for candidate in _around(folder):
        if any((candidate / name).is_file() for name in _PACKAGE_FILES):
            yield candidate
            return


def _roots(package: str, folder: Path) -> Iterator[Path]:
    """Folders that are the package: by their names, or by what their package.xml states; also one inside `folder`."""
    if package in ("", ".", ".."):
        return
    for candidate in _around(folder):
        if candidate.name == package or _stated_name(candidate) == package:
            yield candidate
    inner = folder / package
    if inner.is_dir() and _inside(inner, [folder]):  # a link that leads out is no root
        yield inner


def _around(folder: Path) -> Iterator[Path]:
    """`folder` and the next above it, but no home folder, none that holds it, and none at the top of the disk."""
    yield folder
    home = _home()
    for candidate in list(folder.parents)[:LEVELS]:
        if home is not None and (candidate == home or candidate in home.parents):
            return
        if len(candidate.parts) <= 2:
            return
        yield candidate


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:  # a process without one
        return None


def _stated_name(folder: Path) -> str:
    path = folder / "package.xml"
    try:
        if not path.is_file() or path.stat().st_size > _MAXIMUM_PACKAGE_FILE:
            return ""
        match = _PACKAGE_NAME.search(path.read_bytes())
    except OSError:
        return ""
    return match[1].decode("utf-8", "replace") if match else ""


def _inside(path: Path, allowed: list[Path]) -> Path | None:
    """The path with links followed, where that lies in an allowed folder."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle
        return None
    return real if any(real.is_relative_to(folder.resolve()) for folder in allowed) else None
