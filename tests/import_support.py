"""What the tests of the importers share: files as text, the oracle's reduced dynamics, engines that read the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocompiler.errors import ModelError, Problem
from robocompiler.importers.import_model import Imported, import_model
from robocompiler.importers.options import DEFAULTS, ImportOptions
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.model import Mechanism

Array = NDArray[np.float64]
DATA = Path(__file__).parent / "data" / "import"


def written(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    """A file with `text`."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def imported(folder: Path, text: str, name: str = "robot.urdf", options: ImportOptions = DEFAULTS) -> Imported:
    """The import of `text`."""
    return import_model(written(folder, text, name), options)


def problems(folder: Path, text: str, name: str = "robot.urdf", options: ImportOptions = DEFAULTS) -> list[Problem]:
    """The problems of `text`; every one names the file and a line."""
    path = written(folder, text, name)
    with pytest.raises(ModelError) as caught:
        import_model(path, options)
    assert all(problem.file and problem.line for problem in caught.value.problems), caught.value
    return list(caught.value.problems)


def at(mechanism: Mechanism, values: Mapping[str, float], speeds: Mapping[str, float] | None = None) -> Any:
    """(oracle, its state at an assembled pose near `values`)."""
    model = MaximalModel(mechanism)
    pose = model.pose(values)
    pose = model.project(pose, list(speeds) if speeds else None)
    return model, model.state(pose, speeds or {})


def mass(mechanism: Mechanism, values: Mapping[str, float] | None = None) -> Array:
    """M_r of the oracle at a pose."""
    model, state = at(mechanism, values or {})
    return np.asarray(model.reduced(state).M, dtype=float)


def messages(found: Imported, kind: str) -> list[str]:
    """The notes of one kind as text."""
    return [f"{note.record}: {note.message}" for note in found.notes if note.kind == kind]
