"""The straight line of passes, from a mechanism file to a folder of libraries.

read -> Mechanism -> Topology -> ClosureProgram -> Reduction -> RobotProgram -> C text -> libraries
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from robocompiler.analysis.reduce import reduce_closures
from robocompiler.analysis.standing import standing_mechanism
from robocompiler.backend.build import build_robot
from robocompiler.backend.choices import Choices, record_choices
from robocompiler.backend.head_start import HeadStart
from robocompiler.backend.identifiers import c_identifier
from robocompiler.backend.options import BuildOptions, BuildReport, Progress
from robocompiler.backend.repeat import record_build
from robocompiler.backend.side_task import SideTask
from robocompiler.errors import AssemblyError, RankError
from robocompiler.graph.build import derive_topology
from robocompiler.graph.supports import find_supports
from robocompiler.graph.topology import Topology
from robocompiler.importers.read_model import read_model
from robocompiler.records.model import Mechanism, Support
from robocompiler.symbolic.closures import ClosureProgram, build_closures
from robocompiler.symbolic.program import RobotProgram, build_kinematics, with_mechanics
from robocompiler.symbolic.reduction import Reduction

T = TypeVar("T")
DEFAULT_OPTIONS = BuildOptions()


@dataclass(frozen=True)
class FrontEnd:
    """The results of all passes before the backend, and the seconds that each took.

    supports: the same for each support mode that was asked for, by the mode's name.
    """

    mechanism: Mechanism
    topology: Topology
    closures: ClosureProgram
    reduction: Reduction
    program: RobotProgram
    seconds: dict[str, float] = field(default_factory=dict)
    supports: Mapping[str, FrontEnd] = field(default_factory=dict)


def run_front_end(
    model: str | Path | Mechanism,
    *,
    independent: Sequence[str] = (),
    cut_first: Collection[str] = (),
    charts: int = 0,
    progress: Progress | None = None,
    ahead: Callable[[RobotProgram], None] | None = None,
) -> FrontEnd:
    """Run every pass up to the robot program (`cut_first`: see `derive_topology`; `charts`: see `reduce_closures`).

    `ahead` is given the program without its mechanics, as soon as it is there.

    Raises ModelError, AssemblyError or RankError.
    """
    seconds: dict[str, float] = {}

    def kernels() -> RobotProgram:
        kinematics = build_kinematics(closures, reduction)
        if ahead is not None:
            ahead(kinematics)
        return with_mechanics(kinematics, SideTask)

    def step(name: str, run: Callable[[], T], describe: Callable[[T], str]) -> T:
        begin = time.monotonic()
        result = run()
        seconds[name] = time.monotonic() - begin
        if progress is not None:
            progress(name, describe(result), seconds[name])
        return result

    def read() -> Mechanism:
        return model if isinstance(model, Mechanism) else read_model(model)

    mechanism = step("read", read, lambda m: f"{len(m.bodies)} bodies, {len(m.joints)} joints")
    topology = step(
        "graph",
        lambda: derive_topology(mechanism, cut_first),
        lambda t: f"{len(t.edges)} tree joints, {len(t.chords)} chords",
    )
    closures = step("closures", lambda: build_closures(topology), lambda c: f"{len(c.closures)} closures")
    reduction = step(
        "reduce",
        lambda: reduce_closures(closures, independent, charts),
        lambda r: f"rank {r.rank.rank}, {len(r.chart('port').independent)} freedoms",
    )
    program = step("kernels", kernels, lambda p: f"{len(p.kernels)} kernels")
    return FrontEnd(mechanism, topology, closures, reduction, program, seconds)


def support_front_end(
    floating: FrontEnd,
    support: str,
    *,
    independent: Sequence[str] = (),
    charts: int = 0,
    progress: Progress | None = None,
    ahead: Callable[[RobotProgram], None] | None = None,
) -> FrontEnd:
    """The passes for one support mode, held where the floating robot stands at its reference.

    Raises ModelError for an unknown mode; AssemblyError or RankError, whose message names the mode, when the held robot
    does not close or has no clear rank.
    """
    mechanism = standing_mechanism(floating.closures, floating.reduction, support)
    try:
        return run_front_end(mechanism, independent=independent, charts=charts, progress=progress, ahead=ahead)
    except (AssemblyError, RankError) as error:
        error.args = (f"in support mode '{support}': {error}",)
        raise


def compile_to_folder(
    model: str | Path | Mechanism,
    output: str | Path = "build",
    *,
    independent: Sequence[str] = (),
    supports: str | Sequence[str] = (),
    charts: int = 0,
    options: BuildOptions = DEFAULT_OPTIONS,
    progress: Progress | None = None,
    key: str = "",
) -> tuple[FrontEnd, BuildReport]:
    """Compile `model` into `output`/<name>/ and return what was decided and done.

    Args:
        supports: support modes to compile as well, by name, or "all".  Each becomes a robot of its own in
            `output`/<name>/supports/<mode>/.  They are built first and the robot's manifest, written last, lists them.
        charts: most further charts of the robot and of each support mode; see `reduce_closures`.
        key: `repeat.repeat_key` of this compile, under which it is remembered; empty: it is not.
    """
    names = (supports,) if isinstance(supports, str) else tuple(supports)
    fronts: dict[str, FrontEnd] = {}
    builds: dict[str, BuildReport] = {}
    with HeadStart(Path(output), options, progress) as head:
        # where a support mode may still be refused, nothing is written before
        begin = None if names else head.begin
        front = run_front_end(model, independent=independent, charts=charts, progress=progress, ahead=begin)
        head.check()
        folder = Path(output) / c_identifier(front.mechanism.name)
        for mode in find_supports(front.mechanism, names):
            fronts[mode.name], builds[mode.name] = _support(
                front, mode, folder, (independent, charts), options, progress
            )
        begun = head if begin is not None else None
        report = build_robot(front.program, Path(output), options, progress, supports=builds, head=begun)
    if not options.emit_only:
        record_choices(report.folder, Choices(tuple(independent), names, charts, options))
    if key:
        record_build(report, key)
    return replace(front, supports=fronts), report


def _support(
    floating: FrontEnd,
    mode: Support,
    folder: Path,
    wanted: tuple[Sequence[str], int],
    options: BuildOptions,
    progress: Progress | None,
) -> tuple[FrontEnd, BuildReport]:
    """Front end and build of one support mode, in a folder below the robot's; wanted: independents, and charts."""
    independent, charts = wanted
    if progress is not None:
        progress("support", ", ".join((mode.name, *(f"{frame} {kind}" for frame, kind in mode.contacts))), 0.0)
    place = folder / "supports" / c_identifier(mode.name)
    with HeadStart(place.parent, options, progress, folder=place) as head:
        begin = head.begin
        front = support_front_end(
            floating, mode.name, independent=independent, charts=charts, progress=progress, ahead=begin
        )
        return front, build_robot(front.program, place.parent, options, progress, folder=place, head=head)
