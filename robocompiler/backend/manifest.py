"""The manifest: the contract between a compiled robot and whatever loads it, as one JSON file.

Everything the runtime knows about a robot is here: names and units, where each joint's numbers lie, sparsity in
compressed columns, charts and modules, limits, the rank report, operation counts, flags and digests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from robocompiler.backend.cache import value_digest
from robocompiler.backend.emit import Emission
from robocompiler.backend.motion_view import REFUSED_ROTATION
from robocompiler.graph.complexity import complexity
from robocompiler.records.expressions import evaluate
from robocompiler.records.joint_types import JOINT_SHAPES, coordinate_names
from robocompiler.records.model import CoordinateSum, Drive, Joint, Limits, Mechanism, Port, Support
from robocompiler.runtime.manifest import FORMAT, checksum
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.program import Pattern, RobotProgram
from robocompiler.symbolic.reduction import Chart, Reduction
from robocompiler.version import ABI, VERSION

NO_MODES: Mapping[str, Mapping[str, str]] = {}


def manifest_text(
    program: RobotProgram,
    emission: Emission,
    real: str,
    build: Mapping[str, Any],
    modes: Mapping[str, Mapping[str, str]] = NO_MODES,
) -> str:
    """The manifest of a robot; `build` tells compiler, flags and libraries, `modes` folder and digest of the compiled
    support modes.
    """
    data = _manifest(program, emission, real, build)
    if program.reduction.reach is not None:
        data["reach"] = asdict(program.reduction.reach)
    data["supports"] = [_support(support, modes) for support in program.closures.topology.mechanism.supports]
    if build["compiled"]:  # what cannot be loaded needs no seal, and then compares equal up to rounding
        data["checksum"] = checksum(data)
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _manifest(program: RobotProgram, emission: Emission, real: str, build: Mapping[str, Any]) -> dict[str, Any]:
    closures, reduction = program.closures, program.reduction
    topology = closures.topology
    mechanism = topology.mechanism
    chords = {chord.joint: chord for chord in topology.chords}
    return {
        "format": FORMAT,
        "abi": ABI,
        "robocompiler": VERSION,
        "robot": program.name,
        "prefix": emission.prefix,
        "real": real,
        "digest": emission.digest,
        "source_digest": value_digest(repr(mechanism)),
        "build": dict(build),
        "cdef": cdef(emission.interface),
        "length": reduction.length,
        "coordinates": _coordinates(topology.q_names, program),
        "velocities": [
            {"name": name, "unit": unit, "scale": scale}
            for name, unit, scale in zip(
                topology.v_names,
                [u for s in topology.slots for u in JOINT_SHAPES[topology.kind(s.joint)].velocity_units],
                reduction.column_scales,
                strict=True,
            )
        ],
        "speed_limits": _speed_limits(program),
        "joints": [
            {
                "name": slot.joint,
                "type": topology.kind(slot.joint).value,
                "a": topology.joint(slot.joint).a.body,
                "b": topology.joint(slot.joint).b.body,
                "role": _role(slot.joint, chords),
                "q": [slot.q0, slot.nq],
                "v": [slot.v0, slot.nv],
            }
            for slot in topology.slots
        ],
        "parameters": [{"name": p.name, "default": p.default} for p in mechanism.parameters],
        "bodies": [body.name for body in mechanism.bodies],
        "frames": [{"name": f.name, "movers": list(f.movers)} for f in program.kinematics.frames],
        "ports": [_port(port, mechanism) for port in mechanism.ports],
        "drives": [_drive(drive) for drive in mechanism.drives],
        "closures": _closures(closures),
        "active": list(closures.active),
        "row_scales": list(reduction.row_scales),
        "condensed_pattern": _stacked(
            [b.closure_pattern for b in program.blocks], [b.condensed for b in program.blocks], topology.nv
        ),
        "augmented_pattern": _stacked(
            [b.jacobian_pattern for b in program.blocks], [b.augmented for b in program.blocks], topology.nv
        ),
        "charts": {chart.name: _chart(chart, reduction) for chart in reduction.charts},
        "reference": list(reduction.reference),
        "rank": _rank(reduction, len(closures.active)),
        "floor": reduction.floor,
        "refused_rotation": REFUSED_ROTATION,
        "complexity": complexity(topology).__dict__,
        "operations": program.operations,
        "warnings": [*mechanism.warnings, *emission.warnings],
    }


def cdef(header: str) -> str:
    """The declarations of a generated header as cffi wants them: no preprocessor, no comments, sizes as numbers."""
    sizes = dict(re.findall(r"^#define (\w+) (\d+)\b", header, re.M))
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    text = text.replace('extern "C" {', "")
    text = re.sub(r"^\}$", "", text, flags=re.M)
    text = re.sub(r"enum \{.*?\};", "", text, flags=re.S)
    parts = re.split(r"(typedef struct \{.*?\} \w+;)", text, flags=re.S)
    # extents of arguments are for readers, since cffi passes pointers; those of structures are their layout
    text = "".join(part if k % 2 else re.sub(r"\[[^\]]*\]", "[]", part) for k, part in enumerate(parts))
    for name, value in sizes.items():
        text = re.sub(rf"\b{name}\b", value, text)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]+", " ", text)).strip() + "\n"


def _role(joint: str, chords: Mapping[str, Any]) -> str:
    if joint not in chords:
        return "tree"
    return "kept" if chords[joint].kept else "cut"


def _coordinates(names: Sequence[str], program: RobotProgram) -> list[dict[str, Any]]:
    topology = program.closures.topology
    entries = []
    for slot in topology.slots:
        joint = topology.joint(slot.joint)
        units = JOINT_SHAPES[joint.type].coordinate_units
        for k, (name, unit) in enumerate(zip(coordinate_names(joint.name, joint.type), units, strict=True)):
            entries.append({"name": name, "unit": unit, "limits": _position(joint, k)})
    assert [entry["name"] for entry in entries] == list(names)
    return entries


def _speed_limits(program: RobotProgram) -> list[float | None]:
    """Per velocity the declared limit of its speed."""
    topology = program.closures.topology
    limits: list[float | None] = []
    for slot in topology.slots:
        own = [limit.velocity for limit in topology.joint(slot.joint).limits]
        limits += [own[k] if k < len(own) else None for k in range(slot.nv)]
    return limits


def _position(joint: Joint, k: int) -> list[float] | None:
    shape = JOINT_SHAPES[joint.type]
    if shape.nq != shape.nv or k >= len(joint.limits):
        return None
    interval = joint.limits[k].position
    return None if interval is None else list(interval)


def _limits(limits: Limits) -> dict[str, Any]:
    return {
        "displacement": None if limits.position is None else list(limits.position),
        "velocity": limits.velocity,
        "effort": limits.effort,
    }


def _port(port: Port, mechanism: Mechanism) -> dict[str, Any]:
    measure = port.measure
    if isinstance(measure, CoordinateSum):
        terms = {name: evaluate(weight, mechanism.defaults) for name, weight in measure.terms}
        return {"name": port.name, "terms": terms, "limits": _limits(port.limits)}
    return {"name": port.name, "distance": [measure.a.body, measure.b.body], "limits": _limits(port.limits)}


def _drive(drive: Drive) -> dict[str, Any]:
    return {
        "name": drive.name,
        "port": drive.port,
        "states": [{"name": s.name, "unit": s.unit, "initial": s.initial} for s in drive.states],
        "commands": [{"name": command.name, "unit": command.unit} for command in drive.commands],
    }


def _support(support: Support, modes: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """A support mode; folder (relative to the manifest's) and digest are null for one that was not compiled."""
    mode = modes.get(support.name, {})
    return {
        "name": support.name,
        "contacts": dict(support.contacts),
        "folder": mode.get("folder"),
        "digest": mode.get("digest"),
    }


def _closures(closures: ClosureProgram) -> list[dict[str, Any]]:
    entries, condensed, augmented = [], 0, 0
    for closure in closures.closures:
        size = int(closure.full.numel())
        entries.append(
            {
                "name": closure.name,
                "kind": closure.kind,
                "condensed": [condensed, len(closure.row_units)],
                "augmented": [augmented, size],
            }
        )
        condensed += len(closure.row_units)
        augmented += size
    return entries


def _stacked(patterns: Sequence[Pattern], rows: Sequence[Sequence[int]], columns: int) -> dict[str, Any]:
    entries = sorted(
        (column, own[row])
        for pattern, own in zip(patterns, rows, strict=True)
        for row, column in zip(pattern.rows, pattern.columns, strict=True)
    )
    starts = [0] * (columns + 1)
    for column, _ in entries:
        starts[column + 1] += 1
    for column in range(columns):
        starts[column + 1] += starts[column]
    return {"shape": [sum(map(len, rows)), columns], "colptr": starts, "rowind": [row for _, row in entries]}


def _chart(chart: Chart, reduction: Reduction) -> dict[str, Any]:
    return {
        "independent": list(chart.independent),
        "modules": [
            {
                "name": module.name,
                "closures": list(module.closures),
                "rows": list(module.rows),
                "dependents": list(module.dependents),
                "independents": list(module.independents),
                "sign": module.sign,
                "smallest_pivot": module.smallest_pivot,
            }
            for module in chart.modules
        ],
    }


def _rank(reduction: Reduction, columns: int) -> dict[str, Any]:
    rank = reduction.rank
    return {
        "rank": rank.rank,
        "columns": columns,
        "freedoms": columns - rank.rank,
        "rows": len(reduction.row_scales),
        "smallest_kept": _evidence(rank.smallest_kept),
        "largest_dropped": _evidence(rank.largest_dropped),
        "gap": _evidence(rank.gap) if rank.largest_dropped > 0 else None,
        "singular_values": [_evidence(value) for value in rank.singular_values],
        "probe_ranks": list(rank.ranks),
    }


def _evidence(value: float) -> float:
    """A figure of the rank report to three digits: more would be the rounding of one processor, not evidence."""
    return float(f"{value:.3g}") if value > 1e-13 else 0.0 if value < 1e-30 else float(f"{value:.0e}")
