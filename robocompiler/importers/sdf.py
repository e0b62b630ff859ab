"""SDF to a draft: one or several models, alone or in a world, nested ones and included files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.guessed_ports import guess_ports
from robocompiler.importers.log import ASSUMED, ImportLog
from robocompiler.importers.mimics import import_mimics
from robocompiler.importers.options import ImportOptions
from robocompiler.importers.sdf_files import with_models
from robocompiler.importers.sdf_frames import Scope, build_scope
from robocompiler.importers.sdf_joints import SdfJoint, Version, import_joints, read_mimics
from robocompiler.importers.sdf_links import import_frames, import_links
from robocompiler.importers.sdf_visuals import import_visuals
from robocompiler.importers.seeds import import_seeds
from robocompiler.importers.transforms import UNMOVED, Transform
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD, Vector3
from robocompiler.records.names import shown

_READ = frozenset(("link", "joint", "frame", "model", "pose", "static", "gravity"))
_SETTINGS = frozenset((
    "physics", "scene", "light", "gui", "audio", "wind", "atmosphere", "magnetic_field", "spherical_coordinates",
    "self_collide", "allow_auto_disable", "enable_wind",
))  # fmt: skip
_SDF_GRAVITY: Vector3 = (0.0, 0.0, -9.8)


def import_sdf(root: Element, path: Path, log: ImportLog, options: ImportOptions) -> Draft:
    """The draft of an <sdf> element; faults go to `log`."""
    version = _version(root, log)
    root = with_models(root, path, log)
    world = _world(root, log)
    scope = build_scope(world, "", log)
    if len(scope.inner) == 1:  # the only model needs no prefix
        (only,) = scope.inner.values()
        prefix = only.path
        for inner in only.scopes():
            inner.path = inner.path.removeprefix(prefix).removeprefix("/")
    names = list(scope.inner)
    draft = Draft(name=names[0] if len(names) == 1 else world.get("name") or path.stem, log=log, line=root.line)
    draft.gravity = _gravity(world, log)
    if not names:
        log.problem("there is no model", "sdf", root.line)
    places = list(_placed(scope, UNMOVED))
    worlds = {WORLD: UNMOVED}
    for inner, here in places:
        import_links(inner, draft)
        worlds |= {inner.full(name): here @ inner.pose(name, element) for name, element in inner.all("link")}
    joints: list[SdfJoint] = []
    for inner, here in places:
        joints += import_joints(inner, draft, worlds, here, version)
        import_frames(inner, draft, worlds, here)
        _leftovers(inner)
    _roots(scope, draft, worlds)
    import_seeds(draft)
    mimics = read_mimics(joints, draft)
    import_mimics(mimics, draft)
    guess_ports(draft, mimics)
    import_visuals(scope, draft)
    return draft


def _version(root: Element, log: ImportLog) -> Version:
    words = root.get("version", "1.12").split(".")
    if len(words) < 2 or not all(word.isdigit() and len(word) < 4 for word in words[:2]):
        log.problem(f"'version' must be such as 1.9, found {shown(root.get('version'))}", "sdf", root.line)
        return Version((1, 12))
    return Version((int(words[0]), int(words[1])))


def _world(root: Element, log: ImportLog) -> Element:
    """The world; models that stand alone get one around them."""
    worlds = list(root.all("world"))
    if len(worlds) > 1:
        log.problem(f"{len(worlds)} worlds; keep one", "sdf", worlds[1].line)
    if worlds:
        for model in root.all("model"):
            log.leave_out("models beside the world", model.line)
        return worlds[0]
    for child in root.children:
        if child.tag != "model":
            log.leave_out(f"<{child.tag}>", child.line)
    return replace(root, attributes={}, children=tuple(root.all("model")))


def _gravity(world: Element, log: ImportLog) -> Vector3 | None:
    if world.tag != "world":
        return None
    element = world.first("gravity")
    if element is None:
        log.note(ASSUMED, "gravity is 0 0 -9.8, the default of SDF worlds", world.label, world.line)
        return _SDF_GRAVITY
    return Values({"gravity": element.text}, "gravity", element.line, log).vector("gravity", _SDF_GRAVITY)


def _placed(scope: Scope, here: Transform) -> list[tuple[Scope, Transform]]:
    """All scopes with their poses in the world."""
    result = [(scope, here)]
    for name, inner in scope.inner.items():
        result += _placed(inner, here @ scope.pose(name, inner.element))
    return result


def _roots(scope: Scope, draft: Draft, worlds: dict[str, Transform]) -> None:
    """Links of static models are fixed to the world; the first link of each other loose component floats."""
    tied: dict[str, str] = {}

    def find(name: str) -> str:
        while tied.get(name, name) != name:
            name = tied[name]
        return name

    for record in draft.groups["joints"].values():
        one, two = find(record.data["a"]["body"]), find(record.data["b"]["body"])
        if one != two:
            tied[one if two == WORLD else two] = two if two == WORLD else one
    for inner in scope.scopes():
        for name, element in inner.all("link"):
            full = inner.full(name)
            body = draft.body(full)
            if find(body) == WORLD:
                continue
            if inner.static:
                mount = draft.fresh("joints", f"{body}_mount")
                data = {"type": "fixed", "a": placement(WORLD, worlds[full]), "b": placement(body)}
                draft.put("joints", mount, data, element.line)
            else:
                draft.bases[body] = worlds[full]
                draft.log.note(
                    ASSUMED, "nothing ties it to the world, so it floats", inner.record(element), element.line
                )
            tied[find(body)] = WORLD


def _leftovers(scope: Scope) -> None:
    for child in scope.element.children:
        if child.tag in _SETTINGS:
            scope.log.leave_out("settings of simulation and rendering", child.line)
        elif child.tag not in _READ:
            scope.log.leave_out(f"<{child.tag}> in {'the world' if scope.is_world else 'models'}", child.line)
