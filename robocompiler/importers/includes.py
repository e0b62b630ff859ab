"""Files that include files: each is read once, never in a circle, and always from below a stated folder's paths."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from robocompiler.importers.log import ImportLog
from robocompiler.importers.xml_reader import MAXIMUM_NESTING, Element, read_xml
from robocompiler.records.names import shown
from robocompiler.records.yaml_source import read_text

_MAXIMUM_FILES = 200


@dataclass
class Includes:
    """The files of one import: `folder` is where relative names start, `active` the chain that is being read."""

    folder: Path
    log: ImportLog
    active: list[Path] = field(default_factory=list)
    read: set[Path] = field(default_factory=set)
    count: int = 0

    def enter(self, name: str, element: Element, *, folder: Path | None = None, once: bool = True) -> Element | None:
        """The root element of an included file, or None with a fault noted at the including element.

        `leave` must follow.  A file that cannot be parsed raises ModelError, as the main file would.
        """
        path = self._path(name, element, folder or self.folder)
        if path is None:
            return None
        if path in self.active:
            chain = " -> ".join(file.name for file in (*self.active[self.active.index(path) :], path))
            self._fault(f"the includes form a cycle: {chain}; remove one", element)
            return None
        if once and path in self.read:
            self._fault(f"the file {shown(name)} is included twice; keep one", element)
            return None
        self.count += 1
        if self.count > _MAXIMUM_FILES:
            self._fault(f"the model includes more than {_MAXIMUM_FILES} files, the most that are read", element)
            self.log.finish()
        if not path.is_file():
            self._fault(
                f"there is no file {shown(name)} beside the model (looked for {shown(str(path), 200)})", element
            )
            return None
        self.active.append(path)
        self.read.add(path)
        return read_xml(read_text(path), str(path), self.log)

    def leave(self) -> None:
        """The file that was entered last is done."""
        self.active.pop()

    def bound(self, depth: int, element: Element) -> None:
        """Stop with a fault when elements are nested too deeply once files are joined."""
        if depth > MAXIMUM_NESTING:
            self._fault(f"nested deeper than {MAXIMUM_NESTING} elements, with what is included", element)
            self.log.finish()

    def _path(self, name: str, element: Element, folder: Path) -> Path | None:
        if not name.strip():
            self._fault("names no file", element)
            return None
        if PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute() or "\0" in name:
            self._fault(f"{shown(name)}: only relative names are included; put the file beside the model", element)
            return None
        return (folder / name).resolve()

    def _fault(self, message: str, element: Element) -> None:
        self.log.problem(message, element.label, element.line)


def with_includes(root: Element, path: Path, log: ImportLog) -> Element:
    """An MJCF tree with every <include file> replaced by the children of that file's root element.

    Names are relative to the folder of the main file, and a file may be included once, as in MuJoCo.
    """
    if not _holds(root, "include"):
        return root
    return _expanded(root, Includes(path.parent, log, [path.resolve()], {path.resolve()}), 0)


def _expanded(element: Element, includes: Includes, depth: int) -> Element:
    includes.bound(depth, element)
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            children.append(_expanded(child, includes, depth + 1))
            continue
        root = includes.enter(child.get("file"), child)
        if root is not None:
            children += _expanded(root, includes, depth + 1).children
            includes.leave()
    return replace(element, children=tuple(children))


def _holds(element: Element, tag: str) -> bool:
    """Whether an element with this tag stands anywhere inside."""
    waiting = [element]
    while waiting:
        current = waiting.pop()
        if current.tag == tag:
            return True
        waiting += current.children
    return False
