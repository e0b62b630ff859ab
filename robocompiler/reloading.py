"""Model reconfiguration: edited records compiled in a running robot's place, and its state carried over by names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robocompiler.arguments import duck, flag, from_options, mapping, texts
from robocompiler.errors import ArgumentError, LoadError, ModelError, Problem
from robocompiler.runtime import robot as runtime
from robocompiler.runtime.motion.carry import Carried, alike, carry

if TYPE_CHECKING:
    from robocompiler.backend.options import BuildReport
    from robocompiler.records.model import Mechanism
    from robocompiler.runtime.robot import Robot


@dataclass(frozen=True)
class Reload:
    """The new robot, and what it took.

    robot: the new one, in the old one's chart (the port chart where it has none of that name) and with its parameter
    values; rebuilt: {unit: why} of the units that were compiled, those of a support mode as 'mode/unit'; reused: how
    many were not; carried: the state, None if none was given.
    """

    robot: Robot
    rebuilt: Mapping[str, str]
    reused: int
    carried: Carried | None

    def __str__(self) -> str:
        lines = [f"{self.robot.name}: {len(self.rebuilt)} units compiled, {self.reused} reused"]
        lines += [f"  {unit}: {why}" for unit, why in self.rebuilt.items()]
        return "\n".join([*lines, *([f"  {self.carried}"] if self.carried else [])])


def reload(
    robot: Robot,
    model: str | Path | Mechanism,
    q: ArrayLike | None = None,
    u: ArrayLike | None = None,
    z: ArrayLike | None = None,
    *,
    independent: Sequence[str] | None = None,
    supports: str | Sequence[str] | None = None,
    charts: str | int | None = None,
    repair: bool = False,
    **options: Any,
) -> Reload:
    """Compile edited records into the folder of a running robot and carry its state; only what they touch is compiled.

    The old robot, its support modes included, works on as it was, in the same process and whatever happens here.  When
    the compile fails, its folder stays as it was too, but for support modes that were compiled before the failure.
    When only the state cannot be carried (AssemblyError, RankError), the folder has the new robot.

    Args:
        robot: a floating or grounded robot, not one held in a support mode.
        model: the edited records, or their file; they have the robot's name.  See `edited`.
        q, u, z: its state: assembled configuration, independent speeds (default: at rest) and drive states.
        independent, supports, charts, options: as in `compile`, where they are to change; else those of this robot.
        repair: as in `compile`.

    Raises:
        ModelError, AssemblyError, RankError, CompileError: as in `compile`, or another robot's records.
        AssemblyError, RankError: no state of the new robot near that of the old one; see `carry`.
        ValueError: a robot in a support mode, arrays of the wrong size, u or z without q.
    """
    from robocompiler.backend.choices import read_choices
    from robocompiler.backend.options import BuildOptions, chart_count
    from robocompiler.backend.repeat import repeat_key, standing_build
    from robocompiler.compiler import compile_to_folder

    duck(robot, ("assemble", "support", "simulate"), "robot", "a Robot")
    flag(repair, "repair")
    if robot.anchors:
        raise ArgumentError(f"{robot.name} is held in a support mode; reload the floating robot, and switch it again")
    if q is None and (u is not None or z is not None):
        raise ArgumentError("a state needs its q where it has u or z")
    folder = robot._library.folder
    known = read_choices(folder)
    mechanism = _records(folder, robot.name, model, repair)
    wanted = known.independent if independent is None else texts(independent, "independent")
    given = known.supports if supports is None else supports
    modes = (given,) if isinstance(given, str) else texts(given, "supports")
    from_options(BuildOptions, options, "rc.reload")
    most, build = known.charts if charts is None else chart_count(charts), replace(known.options, **options)
    if build.emit_only:
        raise ArgumentError("text alone cannot be loaded: reload without emit_only")
    _keep_supports(robot)
    key = repeat_key(mechanism, wanted, modes, build, most)
    report = standing_build(mechanism, folder.parent, key)
    if report is None:
        _, report = compile_to_folder(
            mechanism, folder.parent, independent=wanted, supports=modes, charts=most, options=build, key=key
        )
    new = runtime.load(report.folder)
    carried = None
    if q is not None:
        carried = carry(robot, q, np.zeros(len(robot.independent)) if u is None else u, new, z)
    reasons = dict(_reasons(report))
    rebuilt = {unit: why for unit, why in reasons.items() if why != "unchanged"}
    return Reload(carried.robot if carried else alike(robot, new), rebuilt, len(reasons) - len(rebuilt), carried)


def edited(model: str | Path | Mechanism, changes: Mapping[str, Any]) -> Mechanism:
    """Records, or those of a file in any format, with `changes` merged in; see `records.edit.edited_records`.

    rc.edited("arm.yaml", {"bodies": {"hand": {"mass": 2.0}}, "joints": {"spare": None}})

    Raises ModelError: the file is wrong, or None for what is not there, or the edited records are wrong.
    """
    from robocompiler.records.edit import edited_records

    return edited_records(_read(model), mapping(changes, "changes", "of records, as in a file"))


def _read(model: str | Path | Mechanism) -> Mechanism:
    from robocompiler.importers.read_model import read_model
    from robocompiler.records.model import Mechanism

    return model if isinstance(model, Mechanism) else read_model(model)


def _records(folder: Path, name: str, model: str | Path | Mechanism, repair: bool) -> Mechanism:
    """The edited records, which must be those of the robot in `folder`."""
    from robocompiler import _repaired
    from robocompiler.backend.identifiers import c_identifier

    mechanism = _read(model)
    if c_identifier(mechanism.name) != folder.name:
        message = (
            f"these are the records of '{mechanism.name}', the running robot is '{name}'; rc.compile compiles others"
        )
        raise ModelError([Problem(message, "name", mechanism.source.file)])
    return _repaired(mechanism) if repair else mechanism


def _keep_supports(robot: Robot) -> None:
    """Open the support modes, whose libraries are about to be replaced.  One that is lost already stays so."""
    for name in robot.supports:
        with contextlib.suppress(LoadError):
            robot.open_supports([name])


def _reasons(report: BuildReport, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(unit, why it was compiled or 'unchanged') of a robot and its support modes."""
    yield from ((f"{prefix}{unit}", why) for unit, why in report.reasons.items())
    for mode, own in report.supports.items():
        yield from _reasons(own, f"{mode}/")
