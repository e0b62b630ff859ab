"""Names and places: everything about a robot that needs no numbers, read from its manifest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocompiler.arguments import mapping, named, unknown
from robocompiler.errors import ArgumentError
from robocompiler.runtime.arrays import floats
from robocompiler.runtime.reports import ChartReport, DriveInfo, ModuleInfo, PortInfo, RankReport

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Description:
    """Index of a robot's coordinates, velocities, joints, frames, ports, closures and charts."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self.name: str = manifest["robot"]
        self.coordinates: tuple[str, ...] = tuple(entry["name"] for entry in manifest["coordinates"])
        self.velocities: tuple[str, ...] = tuple(entry["name"] for entry in manifest["velocities"])
        self.coordinate_units: tuple[str, ...] = tuple(entry["unit"] for entry in manifest["coordinates"])
        self.velocity_units: tuple[str, ...] = tuple(entry["unit"] for entry in manifest["velocities"])
        self.joints: tuple[dict[str, Any], ...] = tuple(manifest["joints"])
        self.frames: tuple[str, ...] = tuple(entry["name"] for entry in manifest["frames"])
        self.movers: tuple[tuple[int, ...], ...] = tuple(tuple(entry["movers"]) for entry in manifest["frames"])
        tree = sorted({index for joint in self.joints if joint["role"] == "tree" for index in _range(joint["v"])})
        self.motions: dict[int, int] = {index: k for k, index in enumerate(tree)}
        self.warnings: tuple[str, ...] = tuple(manifest.get("warnings", ()))
        self.closures: tuple[dict[str, Any], ...] = tuple(manifest["closures"])
        self.charts: dict[str, Any] = manifest["charts"]
        self.parameters: dict[str, float] = {entry["name"]: entry["default"] for entry in manifest["parameters"]}
        self.reference: Array = np.array(manifest["reference"], dtype=np.float64)
        self.active: Indices = np.array(manifest["active"], dtype=np.intp)
        self.length: float = manifest["length"]
        self.floor: float = manifest["floor"]
        self.refused_rotation: float = manifest["refused_rotation"]
        self.column_scales: Array = np.array([entry["scale"] for entry in manifest["velocities"]], dtype=np.float64)
        self.row_scales: Array = np.array(manifest["row_scales"], dtype=np.float64)
        self.limits: dict[int, tuple[float, float]] = {
            i: tuple(entry["limits"]) for i, entry in enumerate(manifest["coordinates"]) if entry["limits"] is not None
        }
        self.speed_limits: dict[int, float] = {
            i: float(limit) for i, limit in enumerate(manifest["speed_limits"]) if limit is not None
        }
        self.supports: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in manifest["supports"]}
        self.ports = tuple(_port(entry) for entry in manifest["ports"])
        self.drives = tuple(_drive(entry) for entry in manifest["drives"])
        self.drive_start: Array = np.array(
            [state["initial"] for entry in manifest["drives"] for state in entry["states"]], dtype=np.float64
        )
        self.rank_report = RankReport.of(manifest["rank"])
        self.chart_report = ChartReport.of(manifest["reach"]) if "reach" in manifest else None
        self.condensed = Sparsity(manifest["condensed_pattern"])
        self.augmented = Sparsity(manifest["augmented_pattern"])
        self._joint = {joint["name"]: joint for joint in self.joints}
        self._coordinate = {name: i for i, name in enumerate(self.coordinates)}
        self._frame = {name: i for i, name in enumerate(self.frames)}

    @property
    def chords(self) -> tuple[str, ...]:
        """Names of the closing joints, in the order of their six augmented rows."""
        return tuple(closure["name"] for closure in self.closures if closure["kind"] != "coupling")

    def cut_velocities(self, closure: int) -> list[int]:
        """Velocity indices of a closure's eliminated joint (none for couplings and kept chords)."""
        joint = self._joint.get(self.closures[closure]["name"])
        if self.closures[closure]["kind"] == "coupling" or joint is None or joint["role"] != "cut":
            return []
        start, count = joint["v"]
        return list(range(start, start + count))

    def augmented_scales(self) -> Array:
        """Sizes of one unit of the augmented rows: 1 for radians, the length scale for metres, a coupling's own."""
        scales = np.ones(self.augmented.shape[0])
        for closure in self.closures:
            start, count = closure["augmented"]
            if closure["kind"] == "coupling":
                scales[start] = self.row_scales[closure["condensed"][0]]
            else:
                scales[start + 3 : start + count] = self.length
        return scales

    def frame_index(self, name: str) -> int:
        """Index of a frame (every body is a frame of its own name)."""
        return self._frame[named("frame", name, self._frame)]

    def coordinate_slice(self, name: str) -> slice:
        """Where the coordinates of a joint, or one coordinate, lie in q."""
        if isinstance(name, str) and name in self._coordinate:
            index = self._coordinate[name]
            return slice(index, index + 1)
        if isinstance(name, str) and name in self._joint:
            start, count = self._joint[name]["q"]
            return slice(start, start + count)
        raise unknown("joint or coordinate", name, (*self._joint, *self.coordinates))

    def velocity_indices(self, name: str) -> list[int]:
        """Velocity indices of a joint, a velocity, or a coordinate of a joint."""
        if name in self.velocities:
            return [self.velocities.index(name)]
        joint = self._joint.get(name.partition(":")[0]) if isinstance(name, str) else None
        if joint is None or (name not in self._joint and name not in self._coordinate):
            raise unknown("joint or coordinate", name, (*self._joint, *self.coordinates))
        start, count = joint["v"]
        return list(range(start, start + count))

    def single_coordinate(self, name: str) -> tuple[int, int]:
        """(velocity index, coordinate index) of a coordinate that has a speed of its own."""
        place = self.coordinate_slice(name)
        joint = self._joint[name.partition(":")[0]]
        if place.stop - place.start != 1:
            several = ", ".join(self.coordinates[place])
            raise ArgumentError(f"joint {name!r} has several coordinates; name one of {several}")
        (q0, nq), (v0, nv) = joint["q"], joint["v"]
        if nq != nv:
            raise ArgumentError(f"{name!r} belongs to a quaternion: its coordinates have no speed each; use its frame")
        return v0 + place.start - q0, place.start

    def modules(self, chart: str) -> tuple[ModuleInfo, ...]:
        """The modules of a chart."""
        return tuple(
            ModuleInfo(
                name=module["name"],
                closures=tuple(self.closures[i]["name"] for i in module["closures"]),
                dependents=tuple(self.velocities[i] for i in module["dependents"]),
                independents=tuple(self.velocities[i] for i in module["independents"]),
                smallest_pivot=module["smallest_pivot"],
            )
            for module in self.charts[chart]["modules"]
        )

    def independent(self, chart: str) -> Indices:
        """Velocity indices of a chart's independent speeds, in the order of u."""
        return np.array(self.charts[chart]["independent"], dtype=np.intp)

    def configuration(self, values: Mapping[str, float | Sequence[float] | Array], base: Array) -> Array:
        """`base` with the named joints or coordinates replaced."""
        q = base.copy()
        for name, value in mapping(values, "the values of a configuration", "{joint or coordinate: value}").items():
            place = self.coordinate_slice(name)
            size = place.stop - place.start
            given = np.atleast_1d(floats(value, repr(name), "a number" if size == 1 else f"{size} numbers"))
            if given.shape != (size,):
                names = ", ".join(self.coordinates[place])
                raise ArgumentError(f"{name!r} has {size} coordinates, got {given.size}; they are {names}")
            if not np.all(np.isfinite(given)):
                raise ArgumentError(f"{name!r}: not a finite number: {value}")
            q[place] = given
        self.check_quaternions(q, repair=True)
        return q

    def check_quaternions(self, q: Array, repair: bool = False) -> None:
        """Refuse quaternions that are not of unit length; small deviations are repaired in place on request."""
        for name, place in self._quaternions:
            part = q[place]
            norm = math.sqrt(part.dot(part))
            if abs(norm - 1) > 1e-6:
                raise ArgumentError(f"joint {name!r}: its quaternion (w, x, y, z) has length {norm:.6g}, not 1")
            if repair and abs(norm - 1) > 4e-16:
                part /= norm

    @cached_property
    def _quaternions(self) -> tuple[tuple[str, slice], ...]:
        """(joint, where its quaternion lies in q) of every spherical and free joint."""
        balls = [joint for joint in self.joints if joint["type"] in ("spherical", "free")]
        return tuple((joint["name"], slice(sum(joint["q"]) - 4, sum(joint["q"]))) for joint in balls)

    def violated_limits(self, q: Array, slack: float = 1e-9) -> dict[str, tuple[float, float, float]]:
        """{coordinate: (value, lower, upper)} of the position limits that q violates."""
        return {
            self.coordinates[i]: (float(q[i]), lower, upper)
            for i, (lower, upper) in self.limits.items()
            if not lower - slack <= q[i] <= upper + slack
        }


class Sparsity:
    """A compressed-column pattern, and how its nonzeros spread into a dense matrix."""

    def __init__(self, pattern: Mapping[str, Any]) -> None:
        self.shape: tuple[int, int] = tuple(pattern["shape"])
        self.rows: Indices = np.array(pattern["rowind"], dtype=np.intp)
        self.columns: Indices = np.repeat(np.arange(self.shape[1]), np.diff(pattern["colptr"])).astype(np.intp)

    @property
    def nonzeros(self) -> int:
        """Number of structural nonzeros."""
        return int(self.rows.size)

    def dense(self, values: Array, out: Array) -> Array:
        """The matrix with these nonzeros, written into `out`."""
        out[...] = 0.0
        out[self.rows, self.columns] = values
        return out


def _port(entry: Mapping[str, Any]) -> PortInfo:
    return PortInfo(entry["name"], entry.get("terms", {}), tuple(entry.get("distance", ())), entry["limits"])


def _drive(entry: Mapping[str, Any]) -> DriveInfo:
    def named(group: str) -> dict[str, str]:
        return {f"{entry['name']}:{item['name']}": item["unit"] for item in entry[group]}

    states, commands = named("states"), named("commands")
    units = {name: unit for name, unit in (*states.items(), *commands.items()) if unit}
    return DriveInfo(entry["name"], entry["port"], tuple(states), tuple(commands), units)


def _range(place: Sequence[int]) -> range:
    return range(place[0], place[0] + place[1])
