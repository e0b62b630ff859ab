"""Files that an SDF includes: <include> becomes the model of the other file, with the name, pose, ... given here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from robocompiler.importers.includes import Includes
from robocompiler.importers.log import ImportLog
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown

_SCHEMES = ("http://", "https://", "fuel://", "ssh://")
_OVERRIDES = ("pose", "static")


def with_models(root: Element, path: Path, log: ImportLog) -> Element:
    """The tree with every <include> replaced by a <model>."""
    includes = Includes(path.parent, log, [path.resolve()], {path.resolve()})
    return _expanded(root, includes, 0)


def _expanded(element: Element, includes: Includes, depth: int) -> Element:
    includes.bound(depth, element)
    children: list[Element] = []
    for child in element.children:
        if child.tag == "include" and element.tag in ("world", "model", "sdf"):
            model = _included(child, includes, depth)
            children += [] if model is None else [model]
        elif child.tag in ("world", "model"):
            children.append(_expanded(child, includes, depth + 1))
        else:
            children.append(child)
    return replace(element, children=tuple(children))


def _included(element: Element, includes: Includes, depth: int) -> Element | None:
    uri = element.first("uri")
    if uri is None or not uri.text:
        includes.log.problem("<uri> is missing", "include", element.line)
        return None
    if element.get("merge").lower() in ("true", "1"):
        includes.log.problem("merged includes are not read; include the model without merge", "include", element.line)
        return None
    name = _file_of(uri.text, includes, element)
    if name is None:
        return None
    root = includes.enter(name, uri, folder=includes.active[-1].parent, once=False)
    if root is None:
        return None
    models = [root] if root.tag == "model" else list(root.all("model"))
    found = None
    if root.tag not in ("sdf", "model") or len(models) != 1:
        includes.log.problem(f"{shown(name)} holds {len(models)} models; one is included", "include", element.line)
    else:
        found = _overridden(_expanded(models[0], includes, depth + 1), element)
    includes.leave()
    return found


def _file_of(uri: str, includes: Includes, element: Element) -> str | None:
    """The relative name of the file behind a URI: model://NAME is a folder beside the including file or one above."""
    if uri.startswith(_SCHEMES):
        includes.log.problem(f"{shown(uri)} is not fetched; download it beside the model", "include", element.line)
        return None
    folder = includes.active[-1].parent
    name = uri.removeprefix("file://")
    if uri.startswith("model://"):
        inner = uri.removeprefix("model://")
        name = next((c for c in (inner, f"../{inner}") if _model_file(folder, c) is not None), inner)
    return _model_file(folder, name) or name


def _model_file(folder: Path, name: str) -> str | None:
    """`name`, or model.sdf in it when it is a folder; None when there is nothing."""
    if "\0" in name:
        return None
    path = folder / name
    if path.is_dir():
        return f"{name}/model.sdf" if (path / "model.sdf").is_file() else None
    return name if path.is_file() else None


def _overridden(model: Element, include: Element) -> Element:
    """The model with the name, pose, static and placement frame of the include in place of its own."""
    attributes = dict(model.attributes)
    name, frame = include.first("name"), include.first("placement_frame")
    if name is not None and name.text:
        attributes["name"] = name.text
    if frame is not None and frame.text:
        attributes["placement_frame"] = frame.text
    given = {tag: element for tag in _OVERRIDES if (element := include.first(tag)) is not None}
    children = [child for child in model.children if child.tag not in given]
    return replace(model, attributes=attributes, children=(*given.values(), *children))
