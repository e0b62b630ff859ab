"""MJCF to a draft."""

from __future__ import annotations

from pathlib import Path

from robocompiler.importers.draft import Draft, placement
from robocompiler.importers.includes import with_includes
from robocompiler.importers.log import ImportLog
from robocompiler.importers.mjcf_actuators import import_actuators
from robocompiler.importers.mjcf_defaults import read_defaults
from robocompiler.importers.mjcf_equality import import_equalities
from robocompiler.importers.mjcf_inertia import import_solids
from robocompiler.importers.mjcf_joints import import_joints
from robocompiler.importers.mjcf_keyframes import import_reference
from robocompiler.importers.mjcf_settings import read_settings
from robocompiler.importers.mjcf_tendons import read_tendons
from robocompiler.importers.mjcf_tree import Tree, read_tree
from robocompiler.importers.mjcf_visuals import import_visuals
from robocompiler.importers.options import ImportOptions
from robocompiler.importers.xml_reader import Element

_READ = frozenset((
    "compiler", "option", "default", "worldbody", "equality", "tendon", "actuator", "keyframe", "include",
))  # fmt: skip
_APART = {
    "asset": "assets (meshes, textures, materials)",
    "contact": "contacts: a mechanism has none; ground contact is a support mode",
    "sensor": "sensors",
    "deformable": "flexible bodies (deformable)",
    "visual": "settings of simulation and rendering",
    "statistic": "settings of simulation and rendering",
    "size": "settings of simulation and rendering",
    "custom": "custom data",
    "extension": "plugins",
}


def import_mjcf(root: Element, path: Path, log: ImportLog, options: ImportOptions) -> Draft:
    """The draft of a <mujoco> element; faults go to `log`."""
    root = with_includes(root, path, log)
    draft = Draft(name=root.get("model") or path.stem, log=log, line=root.line)
    settings = read_settings(root, log)
    draft.gravity = settings.gravity
    tree = read_tree(root, draft, settings, read_defaults(root, log))
    if not tree.bodies:
        log.problem("the model has no body", "worldbody", root.line)
    import_solids(tree, path)
    import_joints(tree)
    _frames(tree)
    tendons = read_tendons(root, tree)
    closing = import_equalities(root, tree, tendons, hinges=options.hinges)
    import_actuators(root, tree, tendons)
    import_reference(root, tree, closing, options.key)
    import_visuals(root, tree, str(path))
    for element in root.children:
        if element.tag not in _READ:
            log.leave_out(_APART.get(element.tag, f"<{element.tag}>"), element.line)
    return draft


def _frames(tree: Tree) -> None:
    """Sites as named frames."""
    for site in tree.sites.values():
        legal = tree.draft.declare("frames", site.name, site.line, "site")
        tree.draft.put("frames", legal, placement(site.body, site.pose), site.line)
