"""Which inputs a name stands for: independent speeds with a coordinate, and whole poses of balls and free roots."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.arguments import refused, unknown, whole
from robocompiler.errors import ArgumentError
from robocompiler.runtime.description import Description


@dataclass(frozen=True)
class Scalar:
    """An input with a coordinate of its own: place among the independents, and in q."""

    index: int
    coordinate: int


@dataclass(frozen=True)
class Pose:
    """A ball or free root that is an input as a whole: its number in the C interface, and where it lies in q."""

    number: int
    start: int
    size: int


class Inputs:
    """The inputs of a robot in the port chart, by name."""

    def __init__(self, description: Description) -> None:
        self.description = description
        independent = [int(i) for i in description.independent("port")]
        self.names = tuple(description.velocities[i] for i in independent)
        self.scalars: dict[int, Scalar] = {}
        self.poses: dict[str, Pose] = {}
        self._joints: dict[str, list[int]] = {}
        for joint in description.joints:
            (q0, nq), (v0, nv) = joint["q"], joint["v"]
            own = [independent.index(v0 + k) for k in range(nv) if v0 + k in independent]
            self._joints[joint["name"]] = own
            if nq == nv:
                places = [k for k in range(nv) if v0 + k in independent]
                self.scalars |= {u: Scalar(u, q0 + k) for u, k in zip(own, places, strict=True)}
            elif own and len(own) == nv:
                self.poses[joint["name"]] = Pose(len(self.poses), q0, nq)
        self._by_coordinate = {description.coordinates[s.coordinate]: s for s in self.scalars.values()}

    def index(self, name: str | int) -> int:
        """Place of an independent speed."""
        if isinstance(name, str):
            if name in self.names:
                return self.names.index(name)
            if name in self._by_coordinate:
                return self._by_coordinate[name].index
            raise self._unknown(name)
        place = whole(name)
        if place is None:
            raise refused("an input", "a name or a place among Robot.independent", name)
        if not 0 <= place < len(self.names):
            raise ArgumentError(f"input {name}: there are {len(self.names)} inputs")
        return place

    def find(self, name: str | int) -> tuple[Scalar, ...] | Pose:
        """What `set` writes for a name or index: coordinates, or one whole pose."""
        if isinstance(name, str) and name in self.poses:
            return self.poses[name]
        if isinstance(name, str) and name in self._joints:
            own = self._joints[name]
            if own and all(u in self.scalars for u in own):
                return tuple(self.scalars[u] for u in own)
        index = self.index(name)
        if index not in self.scalars:
            joint = self.names[index].partition(":")[0]
            mend = f"set({joint!r}, pose)" if joint in self.poses else f"advance({self.names[index]!r}, increment)"
            raise ArgumentError(f"{self.names[index]!r} is a speed without a coordinate of its own; use {mend}")
        return (self.scalars[index],)

    def _unknown(self, name: str) -> ArgumentError:
        dependent = name in self.description.velocities or name in self.description.coordinates
        if dependent or name in self._joints:
            return ArgumentError(f"{name!r} is no input; the independents are {', '.join(self.names) or 'none'}")
        return unknown("input", name, (*self.names, *self.poses))
