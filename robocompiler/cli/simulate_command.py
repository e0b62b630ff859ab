"""`robocompile simulate`: the motion of a model from the command line, with a log, a plot and an animation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.cli.commands import find, robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT, INTERRUPTED, json_text
from robocompiler.cli.output import printable, write_error, write_out
from robocompiler.cli.unused import refuse_unused
from robocompiler.errors import CompileError

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot
    from robocompiler.runtime.simulation.result import Simulation

EARLY = 9  # exit code: the motion ended before its time
_POSITIVE = click.FloatRange(min=0, min_open=True)
ADAPTIVE = ("bs32", "dopri5")
METHODS = ("euler", "rk4", "ros2", "bs32", "dopri5")


@robocompile.command("simulate", epilog=EXIT_CODE_TEXT, short_help="Simulate the motion of MODEL.")
@click.argument("model")
@click.option("--duration", type=_POSITIVE, required=True, metavar="SECONDS", help="Length of the motion.")
@click.option("--method", type=click.Choice(METHODS), default="rk4", show_default=True, help="Integration method.")
@click.option(
    "--step", type=_POSITIVE, metavar="SECONDS", help="Fixed step [1e-3], or the largest of bs32 and dopri5 [0.1]."
)
@click.option("--rtol", type=_POSITIVE, default=1e-6, show_default=True, help="Tolerance of bs32 and dopri5.")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="Start: a coordinate (rad, m).")
@click.option("--speed", "speeds", multiple=True, metavar="NAME=VALUE", help="Start: an independent speed.")
@click.option(
    "--controller", default="none", show_default=True, metavar="WORD",
    help="none, hold (the start, by PD and inverse dynamics), FILE.py:NAME, or FILE.so:NAME.",
)  # fmt: skip
@click.option("--kp", type=click.FloatRange(min=0), default=1e3, show_default=True, help="Gain of hold.")
@click.option("--kd", type=click.FloatRange(min=0), default=50.0, show_default=True, help="Rate gain of hold.")
@click.option("--sample-time", type=_POSITIVE, metavar="SECONDS", help="Of the controller [continuous].")
@click.option("--slip", type=_POSITIVE, default=1e-2, show_default=True, help="Speed below which dry friction creeps.")
@click.option("--ignore-limits", is_flag=True, help="Go on beyond limits of joints and ports.")
@click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, help="Steps per recorded row.")
@click.option("--log", metavar="FILE", help="Log to FILE, .npz or .parquet, while the simulation runs.")
@click.option("--plot", metavar="FILE.svg", help="Draw ports, speeds and energies.")
@click.option("--animate", metavar="FILE.html", help="Write a page that shows the motion.")
@click.option("--support", metavar="NAME", help="Hold the robot in this support mode.")
@click.option("--library", metavar="FOLDER", help="Simulate this compiled robot instead of compiling MODEL.")
@click.option(
    "--output", "-o", default="build", show_default=True, metavar="FOLDER", help="Where MODEL is compiled to."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary, or the error, as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress and no summary; errors are shown.")
@click.pass_context
def simulate_command(context: click.Context, /, model: str, as_json: bool, quiet: bool, **options: Any) -> int:
    """Compile MODEL and simulate its motion from the reference, or from the start that --set and --speed give.

    Ctrl-C ends the motion early and keeps the log.  The exit code is 0 when the motion lasted its time and 9 when it
    ended before: at a limit, a singular pose, a step that cannot be taken.
    """
    word = options["controller"]
    refuse_unused(
        context,
        ("kp kd", word == "hold", "only goes with --controller hold, whose gain it is"),
        ("sample_time", word != "none", "is that of a controller, and there is none: give one by --controller"),
        ("rtol", options["method"] in ADAPTIVE, f"only goes with --method {' or '.join(ADAPTIVE)}"),
        ("output", not options["library"], "says where MODEL is compiled to, so it does not go with --library"),
    )
    for option in ("log", "plot", "animate"):
        _refuse_folder(option, options[option])
    robot = _robot(model, options, quiet)
    motion = _simulated(robot, options, quiet)
    pictures = {"plot": options["plot"], "animate": options["animate"]}
    for how, file in pictures.items():
        if file:
            with _writing(file):
                getattr(motion, how)(file)
    files = [str(f) for f in (motion.log_path, *pictures.values()) if f]
    if as_json:
        write_out(json_text(_data(robot, motion, files)))
    elif not quiet:
        write_out(_text(motion, files))
    return {"completed": 0, "interrupted": INTERRUPTED}.get(motion.end.kind, EARLY)


def _refuse_folder(option: str, file: str | None) -> None:
    """CompileError, before any work, where the folder of an output file is not there."""
    if file is not None and not Path(file).parent.is_dir():
        raise CompileError(f"--{option} {file}: there is no folder {Path(file).parent}; make it first")


@contextmanager
def _writing(file: str | None) -> Iterator[None]:
    """CompileError where an output file cannot be written."""
    try:
        yield
    except OSError as error:
        raise CompileError(f"cannot write {file or 'the files of this run'}: {error.strerror or error}") from None


def _robot(model: str, options: dict[str, Any], quiet: bool) -> Robot:
    """The robot: of a given folder, or of MODEL, compiled where that changes something."""
    from robocompiler.runtime.robot import load

    support, output = options["support"], Path(options["output"])
    if options["library"]:
        robot = load(options["library"])
        return robot.support(support) if support else robot
    from robocompiler.backend.options import BuildOptions
    from robocompiler.backend.repeat import repeat_key, standing_build
    from robocompiler.importers.read_model import read_model

    mechanism = read_model(find(model, quiet).path)
    supports = (support,) if support else ()
    key = repeat_key(mechanism, (), supports, BuildOptions())
    report = standing_build(mechanism, output, key) if key else None
    if report is None:
        from robocompiler.cli.progress import display
        from robocompiler.compiler import compile_to_folder

        with display(quiet) as progress:
            _, report = compile_to_folder(mechanism, output, supports=supports, progress=progress, key=key)
    robot = load(report.folder)
    return robot.support(support) if support else robot


def _simulated(robot: Robot, options: dict[str, Any], quiet: bool) -> Simulation:
    from robocompiler.cli.simulate_controller import controller_of, guessed, named_values
    from robocompiler.cli.simulate_progress import bar
    from robocompiler.runtime.simulation.loads import SmoothFriction

    try:
        wanted = named_values(options["values"], "--set")
        q = robot.assemble(robot.configuration(wanted))
        if not quiet:
            write_error("".join(f"start    {printable(note)}\n" for note in guessed(robot, wanted, q)))
        u = [0.0] * len(robot.independent)
        for name, value in named_values(options["speeds"], "--speed").items():
            if name not in robot.independent:
                raise ValueError(f"--speed {name}: not an independent speed; these are: {', '.join(robot.independent)}")
            u[robot.independent.index(name)] = value
        step = options["step"] or (1e-3 if options["method"] in ("euler", "rk4", "ros2") else 0.1)
        controller = controller_of(robot, q, options)
        with bar(options["duration"], quiet) as progress, _writing(options["log"]):
            return robot.simulate(
                options["duration"], q, u, controller=controller, method=options["method"], step=step,
                rtol=options["rtol"], friction=SmoothFriction(options["slip"]), every=options["every"],
                log=options["log"], events=() if options["ignore_limits"] else None, progress=progress,
            )  # fmt: skip
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _data(robot: Robot, motion: Simulation, files: list[str]) -> dict[str, Any]:
    energy = motion.energy.sum(axis=1)
    return {
        "format": 1,
        "robot": robot.name,
        "end": {
            "kind": motion.end.kind, "t": motion.end.t, "message": motion.end.message, "event": motion.end.event,
        },
        "events": [{"name": event.name, "t": event.t, "detail": event.detail} for event in motion.events],
        "saturated": dict(motion.saturated),
        "steps": motion.statistics.steps,
        "rejected": motion.statistics.rejected,
        "evaluations": motion.statistics.evaluations,
        "seconds": motion.statistics.seconds,
        "rows": int(motion.t.size),
        "energy": {"first": float(energy[0]), "last": float(energy[-1])} if energy.size else None,
        "residual": float(motion.residual.max(initial=0.0)),
        "files": files,
        "last": {
            "q": dict(zip(robot.coordinates, motion.q[-1].tolist(), strict=True)),
            "u": dict(zip(robot.independent, motion.u[-1].tolist(), strict=True)),
        } if motion.t.size else None,
    }  # fmt: skip


def _text(motion: Simulation, files: list[str]) -> str:
    said = motion.statistics
    lines = [f"end      {motion.end.kind}: {motion.end.message}"]
    lines += [f"event    {event.name} at {event.t:.9g} s {event.detail}".rstrip() for event in motion.events]
    lines += [f"limit    {port}: at its effort limit for {time:.4g} s" for port, time in motion.saturated.items()]
    lines.append(
        f"steps    {said.steps} ({said.rejected} rejected), {said.evaluations} evaluations, {said.seconds:.2f} s on "
        "the clock"
    )
    lines.append(f"closure  largest scaled residual {motion.residual.max(initial=0.0):.2e}")
    lines += [f"written  {file}" for file in files]
    return "".join(printable(line) + "\n" for line in lines)
