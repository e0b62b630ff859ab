"""`Robot`: a compiled robot in Python.  Needs only numpy and cffi."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robocompiler.errors import LoadError
from robocompiler.runtime.description import Description, unknown
from robocompiler.runtime.library import Library
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.mechanics import MechanicalInterface


class Robot(MechanicalInterface):
    """A compiled robot in one chart.

    q (nq,) are all coordinates, cut joints included; v (nv,) all velocities; u (d,) the independent speeds of the
    chart. SI units and radians.  Arguments are anything that numpy turns into float64 arrays; wrong lengths and numbers
    that are not finite raise ValueError.  Methods with `out` write into it and return it.  Safe to share between
    threads.
    """

    # --- variants ---

    def chart(self, name: str) -> Robot:
        """This robot in another chart ('port' or 'inner')."""
        if name not in self._description.charts:
            raise unknown("chart", name, self._description.charts)
        return Robot(self._library, self._description, name, self._parameters)

    def with_parameters(self, values: Mapping[str, float]) -> Robot:
        """This robot with other values of its run-time parameters (configurations must be assembled again)."""
        for name, value in values.items():
            if name not in self._parameters:
                raise unknown("parameter", name, self._parameters)
            if not np.isfinite(value):
                raise ValueError(f"parameter {name!r}: not a finite number: {value}")
        return Robot(self._library, self._description, self._chart, {**self._parameters, **values})

    # --- support modes ---

    @property
    def supports(self) -> dict[str, dict[str, str]]:
        """The declared support modes: {mode: {frame: 'weld' or 'point'}}; see `support`."""
        return {name: dict(entry["contacts"]) for name, entry in self._description.supports.items()}

    def support(self, name: str) -> Robot:
        """The robot held in a support mode, in this robot's chart and with its parameter values.

        Its coordinates have the names of this robot's, and those of its point contacts besides.  The contacts are where
        the frames stand at this robot's `reference` (with parameters at their defaults).

        Raises:
            ValueError: no mode is called `name`.
            LoadError: the mode was not compiled, or by another compile than this robot.
        """
        modes = self._description.supports
        if name not in modes:
            raise unknown("support mode", name, modes)
        mend = f"compile(..., supports={name!r}) or robocompile MODEL --support '{name}' compiles it"
        entry = modes[name]
        if entry["folder"] is None:
            raise LoadError(f"{self.name}: support mode {name!r} was not compiled with this robot; {mend}")
        file = find_manifest(self._library.folder / entry["folder"])
        manifest = read_manifest(file)
        if manifest["digest"] != entry["digest"]:
            raise LoadError(f"{file}: comes from another compile than {self.name!r}; {mend}")
        held = _robot(file, manifest)
        return held.chart(self._chart).with_parameters(self._parameters)


def load(path: str | Path) -> Robot:
    """Load a compiled robot from its folder (build/NAME) or manifest.

    Imports only numpy and cffi.  Raises LoadError when something is missing, damaged, stale or of another version.
    """
    file = find_manifest(path)
    return _robot(file, read_manifest(file))


def _robot(file: Path, manifest: dict[str, Any]) -> Robot:
    description = Description(manifest)
    library = Library(file.parent, manifest)
    return Robot(library, description, "port", description.parameters)
