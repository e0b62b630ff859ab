"""Masses and inertias of MJCF bodies: from <inertial>, and by MuJoCo itself where geoms have to be weighed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robocompiler.importers.inertias import look_at_units, solid
from robocompiler.importers.log import ASSUMED, RECOGNISED, ImportLog
from robocompiler.importers.mjcf_orientation import KEYS, pose_of
from robocompiler.importers.mjcf_settings import Settings
from robocompiler.importers.mjcf_tree import Tree, TreeBody
from robocompiler.importers.transforms import Tensor, Transform, unit_quaternion_of
from robocompiler.importers.values import Values
from robocompiler.records.names import shown
from robocompiler.records.rotations import rotation_of_quaternion

_INSTALL = "pip install 'robocompiler[mjcf]'"


def import_solids(tree: Tree, path: Path) -> None:
    """Put the record of every body."""
    settings = tree.settings
    by_engine = [body for body in tree.bodies if settings.adjusted or _weighed(body, settings)]
    weighed = _by_engine(by_engine, tree, path) if by_engine else {}
    for body in tree.bodies:
        data = weighed.get(body.name)
        if data is None:
            data = _solid(body, settings, tree.log) if body.inertial is not None and body not in by_engine else {}
        tree.draft.put("bodies", body.name, data, body.element.line)


def _weighed(body: TreeBody, settings: Settings) -> bool:
    """Whether geoms decide the inertia of a body."""
    if settings.from_geoms == "false" or (settings.from_geoms == "auto" and body.inertial is not None):
        return False
    return any(_heavy(geom.values, settings) for geom in body.geoms)


def _heavy(geom: Values, settings: Settings) -> bool:
    weight = geom.number("mass") if "mass" in geom else geom.number("density", 1000.0)
    low, high = settings.groups
    return weight > 0 and low <= geom.number("group") <= high


def _solid(body: TreeBody, settings: Settings, log: ImportLog) -> dict[str, Any]:
    element = body.inertial
    assert element is not None
    own = Values(element.attributes, f"{body.element.label}: inertial", element.line, log)
    own.only("mass", "pos", "diaginertia", "fullinertia", *KEYS)
    for key in ("mass", "pos"):
        if key not in own:
            own.problem(f"'{key}' is missing")
    mass = own.number("mass")
    pose = body.inertial_frame @ pose_of(own, settings)
    tensor: Tensor = (0.0,) * 6
    if "fullinertia" in own:
        if any(key in own for key in KEYS):
            own.problem("fullinertia is in body axes and does not go with an orientation; remove one of them")
        values = own.numbers("fullinertia", (6,), (0.0,) * 6)
        tensor = (values[0], values[1], values[2], values[3], values[4], values[5])  # xx yy zz xy xz yz
    elif "diaginertia" in own:
        tensor = (*own.vector("diaginertia"), 0.0, 0.0, 0.0)
    elif mass > 0:
        own.problem("neither diaginertia nor fullinertia is given")
    look_at_units(mass, tensor, own.record, element.line, log)
    return solid(mass, pose, tensor)


def _by_engine(bodies: Sequence[TreeBody], tree: Tree, path: Path) -> dict[str, dict[str, Any]]:
    """Masses and inertias as MuJoCo computes them, by legal name; a fault is noted when it cannot."""
    log, first = tree.log, bodies[0]
    reason = (
        f"<compiler {tree.settings.adjusted}> changes masses"
        if tree.settings.adjusted
        else f"{len(bodies)} bodies have no <inertial>, so that their geoms have to be weighed"
    )
    try:
        mujoco: Any = importlib.import_module("mujoco")
    except ImportError:
        mend = "give every body an <inertial>" if not tree.settings.adjusted else "remove the setting"
        log.problem(
            f"{reason}, which MuJoCo does and is not installed: {_INSTALL}, or {mend}",
            first.element.label,
            first.element.line,
        )
        return {}
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            spec = mujoco.MjSpec.from_file(str(path))
            spec.compiler.fusestatic = False
            model = spec.compile()
    except ValueError as error:
        log.problem(
            f"{reason}, but MuJoCo cannot load the model: {' '.join(str(error).split())}",
            first.element.label,
            first.element.line,
        )
        return {}
    for warning in told:
        log.note(ASSUMED, f"MuJoCo warns: {' '.join(str(warning.message).split())}")
    names = [model.body(k).name for k in range(1, model.nbody)]
    if [name for name in names if name] != [body.source_name for body in tree.bodies if body.source_name]:
        log.problem(
            "MuJoCo finds other bodies in this file than the importer; save the expanded model first "
            "(mujoco.mj_saveLastXML)",
            "",
            1,
        )
        return {}
    log.note(RECOGNISED, f"{reason}: by MuJoCo {mujoco.__version__}", shown(first.name)[1:-1], first.element.line)
    wanted = {body.name for body in bodies}
    return {body.name: _engine_solid(model, k + 1) for k, body in enumerate(tree.bodies) if body.name in wanted}


def _engine_solid(model: Any, k: int) -> dict[str, Any]:
    quaternion = unit_quaternion_of(tuple(float(x) for x in model.body_iquat[k]))
    assert quaternion is not None
    x, y, z = (float(value) for value in model.body_ipos[k])
    xx, yy, zz = (float(value) for value in model.body_inertia[k])
    pose = Transform(rotation_of_quaternion(quaternion), (x, y, z))
    return solid(float(model.body_mass[k]), pose, (xx, yy, zz, 0.0, 0.0, 0.0))
