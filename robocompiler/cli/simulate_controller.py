"""The controller that a word of the command line means."""

from __future__ import annotations

import importlib.util
import math
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.simulation.compiled_controller import CompiledController
from robocompiler.runtime.simulation.controllers import Controller, Sampled
from robocompiler.runtime.simulation.reference import Reference, independent_coordinates
from robocompiler.runtime.simulation.tracking import TrackingController

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]


class ControllerFault(click.ClickException):
    """The user's controller fails: told with the place in its file, exit code 2."""

    exit_code = 2


def named_values(pairs: Sequence[str], option: str) -> dict[str, float]:
    """{name: number} of NAME=VALUE words; ValueError for another form."""
    found = {}
    for pair in pairs:
        name, equals, text = pair.rpartition("=")
        try:
            found[name.strip()] = float(text)
        except ValueError:
            equals = ""
        if not (equals and name.strip() and math.isfinite(found[name.strip()])):
            raise ValueError(f"{option} {pair}: must be NAME=VALUE with a finite number")
    return found


def guessed(robot: Robot, wanted: Mapping[str, float], q: Array) -> list[str]:
    """What to tell of start values that are not those of q (nq,): of dependents, which follow from the rest."""
    told = []
    for name, value in wanted.items():
        found = float(np.atleast_1d(robot.joint(q, name))[0])
        if not math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-9):
            told.append(
                f"--set {name}={value:.6g} was only a guess to close the loops from, since {name} follows from the "
                f"independents ({', '.join(robot.independent)}); it is {found:.6g}"
            )
    return told


def controller_of(robot: Robot, q: Array, options: dict[str, Any]) -> Any:
    """None, the ready controller at q, a function of a Python file, or one of a shared library."""
    word, period = options["controller"], options["sample_time"]
    if word == "none":
        return None
    if word == "hold":
        places = independent_coordinates(robot)
        still = np.zeros(places.size)
        reference = Reference(robot, lambda t: (q[places], still, still), q)
        return TrackingController(robot, reference, options["kp"], options["kd"], sample_time=period)
    file, colon, name = word.rpartition(":")
    if not colon or not Path(file).suffix:
        file, name = word, ""
    path = Path(file)
    if path.suffix in (".so", ".dylib", ".dll"):
        return CompiledController(path, len(robot.ports), name=name or "step", sample_time=period)
    if path.suffix == ".py" and name:
        return _from_python(robot, path, name, period)
    raise ValueError(
        f"--controller {word}: must be none, hold, FILE.py:NAME (NAME(robot) returns a controller), or FILE.so[:NAME]"
    )


def _from_python(robot: Robot, path: Path, name: str, period: float | None) -> Any:
    """What NAME(robot) of the file returns, a sample time added where it is asked for."""
    if not path.is_file():
        raise ValueError(f"--controller {path}: no such file")
    specification = importlib.util.spec_from_file_location("controller", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
        law = getattr(module, name)(robot)
    except Exception as error:  # the user's own code may raise anything; told with its file and line
        raise ControllerFault(_where(path, error)) from None
    if not callable(law):
        raise ValueError(
            f"--controller {path}:{name}: {name}(robot) must return a function of t, q and u, gave {law!r}"
        )

    def guarded(t: float, q: Array, u: Array) -> Any:
        try:
            return law(t, q, u)
        except Exception as error:  # likewise
            raise ControllerFault(f"at t = {t:.9g} s: {_where(path, error)}") from None

    own = law.sample_time if isinstance(law, Controller) else None
    chosen = period or own
    return guarded if chosen is None else Sampled(guarded, chosen)


def _where(path: Path, error: Exception) -> str:
    own, trace = path.resolve(), traceback.extract_tb(error.__traceback__)
    lines = [step.lineno for step in trace if Path(step.filename).resolve() == own]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return f"{place}: {type(error).__name__}: {error}"
