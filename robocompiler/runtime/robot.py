"""`Robot`: a compiled robot in Python.  Needs only numpy and cffi."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

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


def load(path: str | Path) -> Robot:
    """Load a compiled robot from its folder (build/NAME) or manifest.

    Imports only numpy and cffi.  Raises LoadError when something is missing, damaged, stale or of another version.
    """
    file = find_manifest(path)
    manifest: dict[str, Any] = read_manifest(file)
    description = Description(manifest)
    library = Library(file.parent, manifest)
    return Robot(library, description, "port", description.parameters)
