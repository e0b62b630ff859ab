"""The two matrices that the page shows: C by chords and modules, and the reduced mass matrix of the port chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.report.spy import Entry, Group, Pattern
from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]

_ROWS = ("rotation x", "rotation y", "rotation z", "position x", "position y", "position z")
_NOTHING = 1e-12  # of sqrt(M_ii M_jj), below which an entry of M_r counts as zero


def closure_pattern(robot: Robot, manifest: Mapping[str, Any]) -> Pattern:
    """The structural nonzeros of C, with their values at the reference.

    Rows are grouped by closure in the order of the port chart's modules, columns by module: its dependents and the
    speeds of its cut joints; then the independent speeds; then what no closure solves for.
    """
    closures: list[dict[str, Any]] = manifest["closures"]
    modules = manifest["charts"]["port"]["modules"]
    order = [k for module in modules for k in module["closures"]]
    order += [k for k in range(len(closures)) if k not in order]
    names, rows = [], []
    for k in order:
        start, count = closures[k]["augmented"]
        texts = _ROWS if count == len(_ROWS) else ("residual",)
        names += [(closures[k]["name"], f"{closures[k]['name']}, {text}") for text in texts]
        rows += list(range(start, start + count))
    columns, blocks = _columns(robot, manifest)
    pattern = manifest["augmented_pattern"]
    C = robot.closure_jacobian(robot.reference)
    place_row, place_column = _places(rows), _places(columns)
    entries = []
    for column in range(pattern["shape"][1]):
        for row in pattern["rowind"][pattern["colptr"][column] : pattern["colptr"][column + 1]]:
            i, j, value = place_row[row], place_column[column], float(C[row, column])
            title = f"{names[i][1]} by {robot.velocities[column]}: {value:.6g}"
            entries.append(Entry(i, j, title, value == 0.0))
    ordered = tuple(sorted(entries, key=lambda entry: (entry.row, entry.column)))
    grouped = tuple(Group(name, len(list(same))) for name, same in groupby(name for name, _ in names))
    return Pattern(f"sparsity of C, {len(rows)} x {len(columns)}", grouped, blocks, ordered)


def _columns(robot: Robot, manifest: Mapping[str, Any]) -> tuple[list[int], tuple[Group, ...]]:
    """Velocity indices in the order of the columns, and their groups."""
    chart = manifest["charts"]["port"]
    cut = {joint["name"]: joint["v"] for joint in manifest["joints"] if joint["role"] == "cut"}
    columns: list[int] = []
    groups = []
    for module in chart["modules"]:
        names = [manifest["closures"][k]["name"] for k in module["closures"]]
        own = [i for name in names if name in cut for i in range(cut[name][0], sum(cut[name]))]
        members = [*module["dependents"], *own]
        columns += members
        groups.append(Group(module["name"], len(members)))
    columns += chart["independent"]
    groups.append(Group("independent", len(chart["independent"])))
    rest = [i for i in range(len(robot.velocities)) if i not in set(columns)]
    groups.append(Group("other", len(rest)))
    return columns + rest, tuple(group for group in groups if group.size)


def mass_pattern(robot: Robot, poses: Sequence[Array]) -> Pattern:
    """The entries of M_r (port chart) that are not zero at one of `poses`, with their values at the first."""
    names = robot.independent
    if not names:
        return Pattern("sparsity of M_r, 0 x 0", (), (), ())
    found = [robot.mass_matrix(q) for q in poses]
    filled = np.zeros(found[0].shape, dtype=bool)
    for M in found:
        size = np.sqrt(np.outer(np.diag(M), np.diag(M)))
        filled |= np.abs(M) > _NOTHING * size
    M = found[0]
    entries = tuple(
        Entry(int(i), int(j), f"{names[i]} by {names[j]}: {M[i, j]:.6g}")
        for i, j in zip(*np.nonzero(filled), strict=True)
    )
    groups = tuple(Group(name, len(list(same))) for name, same in groupby(n.partition(":")[0] for n in names))
    return Pattern(f"sparsity of M_r, {len(names)} x {len(names)}", groups, groups, entries)


def _places(order: Sequence[int]) -> dict[int, int]:
    return {index: place for place, index in enumerate(order)}
