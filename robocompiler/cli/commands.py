"""The commands themselves: options in, work done, text out.  Slow imports wait until a command needs them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.cli.failures import EXIT_CODE_TEXT, json_text
from robocompiler.cli.group import ModelGroup
from robocompiler.cli.output import printable, render, write_error, write_out
from robocompiler.cli.shipped import ModelFile, find_model, shipped_models
from robocompiler.cli.unused import refuse_unused
from robocompiler.version import VERSION

if TYPE_CHECKING:
    from robocompiler.cli.facts import Facts
    from robocompiler.records.model import Mechanism

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_EPILOG = "`robocompile MODEL` is short for `robocompile compile MODEL`.  " + EXIT_CODE_TEXT

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _names(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def _charts(_: click.Context, __: click.Parameter, value: str) -> int:
    from robocompiler.backend.options import chart_count

    try:
        return chart_count(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _independent() -> Decorator:
    return click.option(
        "--independent",
        multiple=True,
        metavar="A,B,...",
        callback=_names,
        help="Velocities or joints that should be independent where that is regular.",
    )


def _repair() -> Decorator:
    text = "Make nearly redundant loops exact first, and tell what that changes."
    return click.option("--repair", is_flag=True, help=text)


def _json() -> Decorator:
    return click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON.")


def _quiet(text: str) -> Decorator:
    return click.option("--quiet", "-q", is_flag=True, help=text)


@click.group(cls=ModelGroup, context_settings=_CONTEXT, epilog=_EPILOG, subcommand_metavar="MODEL | COMMAND ...")
@click.version_option(VERSION, prog_name="robocompile")
def robocompile() -> None:
    """Compile closed-chain robots, written as graphs of physical records, to exact and fast C.

    MODEL is a mechanism file, or the name of a model that ships: `robocompile kangaroo -o build/`.
    """


@robocompile.command("compile", epilog=EXIT_CODE_TEXT, short_help="Compile MODEL into a folder of C and libraries.")
@click.argument("model")
@click.option("--output", "-o", default="build", show_default=True, metavar="FOLDER", help="Gets a folder per robot.")
@_independent()
@click.option(
    "--support",
    "supports",
    multiple=True,
    metavar="NAME",
    help="Compile this support mode as well, or `all` of them; may be repeated.",
)
@click.option(
    "--charts",
    default="0",
    callback=_charts,
    metavar="auto|N",
    help="Compile further charts, N at most, for motion through poses at which one chart is singular.",
)
@click.option("--real", type=click.Choice(["double", "float"]), default="double", show_default=True, help="Precision.")
@click.option("--cc", metavar="COMMAND", help="C compiler, e.g. clang or 'zig cc' [default: CC, or cc, gcc, clang].")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Compilers at a time [default: one per core].")
@click.option("--emit-only", is_flag=True, help="Write the C text and compile nothing.")
@click.option("--fast-compile", is_flag=True, help="Compile without optimisation: soon there, several times slower.")
@click.option(
    "--portable", is_flag=True, help="For every processor of this kind, with the same numbers, and not for this one."
)
@click.option("--batch", is_flag=True, help="With functions over many states at once (vector lanes).")
@click.option("--derivatives", is_flag=True, help="With derivatives of forward and inverse dynamics.")
@click.option("--resolution", is_flag=True, help="With redundancy resolution: tasks within limits, and their solver.")
@_repair()
@_json()
@_quiet("Show no progress and no table; errors are shown.")
@click.pass_context
def compile_command(
    context: click.Context, /, model: str, output: str, independent: tuple[str, ...], supports: tuple[str, ...],
    **options: Any,
) -> None:  # fmt: skip
    """Compile MODEL into FOLDER/<its name>/; only what changed is compiled again."""
    from robocompiler.backend.options import BuildOptions
    from robocompiler.cli.facts import as_data
    from robocompiler.importers.read_model import read_model

    where = "is for the C compiler, and does not go with --emit-only, which calls none"
    refuse_unused(context, ("cc jobs fast_compile portable", not options["emit_only"], where))
    source = find(model, options["quiet"])
    mechanism = read_model(source.path)
    repaired: dict[str, Any] = {}
    if options["repair"]:
        mechanism, repaired = _repaired(mechanism, options["quiet"])
    choices = BuildOptions(
        real=options["real"], cc=options["cc"], emit_only=options["emit_only"], workers=options["jobs"],
        batch=options["batch"], derivatives=options["derivatives"], resolution=options["resolution"],
        portable=options["portable"],
        extra_flags=("-O0",) if options["fast_compile"] else (),
    )  # fmt: skip
    wanted = {"independent": independent, "supports": supports, "charts": options["charts"]}
    facts = _compiled_facts(source, mechanism, output, wanted, choices, options["quiet"])
    if options["as_json"]:
        write_out(json_text({**as_data(facts), **repaired}))
    elif not options["quiet"]:
        from robocompiler.cli.tables import build_table, modules_table, summary, supports_table

        parts = [summary(facts), ""]
        if facts.chart("port").modules:
            parts += [modules_table(facts), ""]
        if facts.supports:
            parts += [supports_table(facts), ""]
        assert facts.build is not None
        write_out(render(*parts, build_table(facts, facts.build)))


def _repaired(mechanism: Mechanism, quiet: bool) -> tuple[Mechanism, dict[str, Any]]:
    """The repaired records and the report as data; people get it on standard error."""
    from robocompiler.analysis.repair_text import repair_data, repair_text
    from robocompiler.analysis.repairing import repair_mechanism

    repair = repair_mechanism(mechanism)
    if not quiet:
        write_error(printable(repair_text(repair)))
    return repair.mechanism, {"repair": repair_data(repair)}


def _compiled_facts(
    source: ModelFile,
    mechanism: Mechanism,
    output: str,
    wanted: Mapping[str, Any],
    choices: Any,
    quiet: bool,
) -> Facts:
    """Compile, or find that the last build stands, which needs none of the compiler's passes.

    wanted: independents, supports and charts.
    """
    from robocompiler.backend.repeat import repeat_key, standing_build
    from robocompiler.cli.facts import save_facts, saved_facts

    begin = time.monotonic()
    key = "" if choices.emit_only else repeat_key(mechanism, options=choices, **wanted)
    standing = standing_build(mechanism, Path(output), key) if key else None
    known = saved_facts(standing.folder, key) if standing else None
    if standing is not None and known is not None and known.build is not None:
        units = tuple(replace(unit, compiled=False, reason="unchanged") for unit in known.build.units)
        build = replace(known.build, folder=str(standing.folder), changed=(), units=units)
        return replace(known, model=source, build=build, seconds={"compare": time.monotonic() - begin})
    from robocompiler.cli.progress import display
    from robocompiler.cli.report import build_facts, gather, support_facts
    from robocompiler.compiler import compile_to_folder

    with display(quiet) as progress:
        front, report = compile_to_folder(mechanism, output, **wanted, options=choices, progress=progress, key=key)
    facts = gather(source, front, build_facts(report, choices.real, not choices.emit_only), report.seconds)
    facts = replace(facts, supports=support_facts(front, report))
    if key:
        save_facts(report.folder, key, facts)
    return facts


@robocompile.command("inspect", epilog=EXIT_CODE_TEXT, short_help="Explain the structure and rank of MODEL.")
@click.argument("model", required=False)
@click.option("--svg", metavar="FILE", help="Draw the graph with its tree, chords and modules into FILE.")
@click.option(
    "--ir",
    is_flag=False,
    flag_value="",
    metavar="[KERNEL]",
    help="Print the symbolic program instead: all kernels, or those whose name is or begins with KERNEL.",
)
@click.option("--html", metavar="FILE", help="Compile MODEL and write one page about it, with its ports' ranges.")
@click.option("--output", "-o", metavar="FOLDER", help="With --html: compile to here [default: a temporary folder].")
@_repair()
@_independent()
@_json()
@_quiet("Show no progress.")
def inspect_command(
    model: str | None, ir: str | None, independent: tuple[str, ...], as_json: bool, quiet: bool, **options: Any
) -> None:
    """Explain MODEL: its tree, chords, modules, rank and freedoms.

    Needs no C compiler and writes nothing else, but for --html.
    """
    from robocompiler.cli.inspection import inspected, inspection_text, selected_kernels, write_file
    from robocompiler.cli.loops import drawing, inspect_loops
    from robocompiler.cli.page import read_source
    from robocompiler.cli.report import gather

    if model is None and ir:  # `inspect --ir MODEL`: the parser took the only word for the option's value
        model, ir = ir, ""
    if model is None:
        raise click.UsageError("Missing argument 'MODEL'.")
    if options["output"] is not None and options["html"] is None:
        raise click.UsageError("--output only goes with --html; without it nothing is compiled.")
    model_file = find(model, quiet)
    mechanism, source = read_source(model_file.path)
    repaired: dict[str, Any] = {}
    if options["repair"]:
        mechanism, repaired = _repaired(mechanism, quiet)
    front, page = inspected(mechanism, source, independent, options, quiet)
    facts = gather(model_file, front, None, {})
    kernels = None if ir is None else selected_kernels(front.program, ir)
    files = {"page": (options["html"], page), "drawing": (options["svg"], "")}
    if options["svg"] is not None:
        files["drawing"] = (options["svg"], drawing(facts, front.topology))
    for path, text in files.values():
        if path is not None:
            write_file(Path(path), text)
    write_out(inspection_text(inspect_loops(facts, front), front.program, kernels, as_json, repaired))
    for kind, (path, _) in files.items():
        if path is not None and not quiet:
            write_error(f"{kind:<9}{printable(path)}\n")


@robocompile.command("check", epilog=EXIT_CODE_TEXT, short_help="Compare a compiled MODEL with independent references.")
@click.argument("model", required=False)
@click.option("--library", metavar="FOLDER", help="Check this compiled robot instead of compiling MODEL.")
@click.option(
    "--output", "-o", default="build", show_default=True, metavar="FOLDER", help="Where MODEL is compiled to."
)
@click.option("--support", "supports", multiple=True, metavar="NAME", help="Check this support mode too, or `all`.")
@click.option("--states", type=click.IntRange(min=1), help="Number of random states [default: 10; with --random 2].")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed, or the first of --random."
)
@click.option("--precise", is_flag=True, help="Compute the reference in 50 digits; slow.")
@_repair()
@click.option("--random", "count", type=click.IntRange(min=1), metavar="N", help="Check N random mechanisms instead.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Random mechanisms at a time [default: one per core].")
@click.option("--save", metavar="FOLDER", help="Write random mechanisms that fail into FOLDER.")
@_json()
@_quiet("Show no progress and no table; the exit code tells.")
@click.pass_context
def check_command(context: click.Context, /, model: str | None, count: int | None, **options: Any) -> int:
    """Compile MODEL and compare the library with references that share no code with the compiler.

    With --random N instead of MODEL, do so with N random mechanisms.  The exit code is 0 when every quantity is within
    its tolerance and 8 when one is not.
    """
    if (model is None) == (count is None):
        both = "MODEL and --random N are alternatives; give one of them."
        raise click.UsageError("Missing argument 'MODEL' (or --random N)." if model is None else both)
    refuse_unused(
        context,
        ("jobs save", count is not None, "only goes with --random N"),
        ("library output precise repair supports", count is None, "does not go with --random"),
        ("supports", not options["library"], "compiles the mode's records, so it does not go with --library"),
        ("output", not options["library"], "says where MODEL is compiled to, so it does not go with --library"),
    )
    if model is not None:
        return _check_model(model, options)
    assert count is not None
    return _check_random(count, options)


def _check_model(model: str, options: dict[str, Any]) -> int:
    from robocompiler.check.run import check_robot
    from robocompiler.cli.check import FAILED, check_data, check_text
    from robocompiler.cli.progress import display
    from robocompiler.compiler import compile_to_folder
    from robocompiler.importers.read_model import read_model
    from robocompiler.runtime.manifest import find_manifest, read_manifest
    from robocompiler.runtime.robot import load

    quiet, states, folder = options["quiet"], options["states"] or 10, options["library"]
    source = find(model, quiet)
    mechanism = read_model(source.path)
    repaired: dict[str, Any] = {}
    if options["repair"]:
        mechanism, repaired = _repaired(mechanism, quiet)
    held: dict[str, Any] = {}
    with display(quiet) as progress:
        if folder is None:
            front, build = compile_to_folder(
                mechanism, options["output"], supports=options["supports"], progress=progress
            )
            folder, held = build.folder, {name: mode.mechanism for name, mode in front.supports.items()}
        real = read_manifest(find_manifest(folder))["real"]
        robot = load(folder)
        reports = []
        for name, records in {"": mechanism, **held}.items():
            begin = time.monotonic()
            reports.append(
                check_robot(
                    robot.support(name) if name else robot, records, states=states, seed=options["seed"],
                    precise=options["precise"], real=real,
                )
            )  # fmt: skip
            progress("check", f"{name or robot.name}: {states} random states", time.monotonic() - begin)
    if options["as_json"]:
        data = {**check_data(reports[0]), **repaired}
        modes = {name: check_data(report) for name, report in zip(held, reports[1:], strict=True)}
        write_out(json_text({**data, "supports": modes} if modes else data))
    elif not quiet:
        write_out("\n".join(check_text(report) for report in reports))
    return 0 if all(report.passed for report in reports) else FAILED


def _check_random(count: int, options: dict[str, Any]) -> int:
    from robocompiler.check.random_run import Outcome
    from robocompiler.cli.check import FAILED
    from robocompiler.cli.random_check import Tally, check_many, check_one, random_data, random_text, save_failed

    states, seed, quiet = options["states"] or 2, options["seed"], options["quiet"]
    jobs = options["jobs"] or os.cpu_count() or 1
    tally, folder, saved = Tally(count, quiet), options["save"], []
    if folder:
        save_failed([], Path(folder))  # a folder that cannot be made is told before hours of work

    def tell(outcome: Outcome) -> None:
        tally(outcome)
        if folder:
            saved.extend(save_failed([outcome], Path(folder)))

    outcomes = check_many(range(seed, seed + count), partial(check_one, states=states), jobs, tell)
    data = random_data(outcomes, states, saved)
    if options["as_json"]:
        write_out(json_text(data))
    elif not quiet:
        write_out(random_text(outcomes, saved))
    return 0 if data["passed"] else FAILED


@robocompile.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of the input language, for editors."""
    import json

    from robocompiler.records.schema import json_schema

    write_out(json.dumps(json_schema(), indent=2) + "\n")


@robocompile.command("models")
@_json()
def models_command(as_json: bool) -> None:
    """List the models that ship with RoboCompiler."""
    from robocompiler.cli.tables import models_table

    models = shipped_models()
    if as_json:
        write_out(json_text([{"name": m.name, "path": str(m.path), "summary": m.summary} for m in models]))
    else:
        write_out(render(models_table(models)))


def find(text: str, quiet: bool) -> ModelFile:
    """The model file that a word of the command line means; a shipped one is told."""
    source = find_model(text)
    if source.shipped and not quiet:
        write_error(printable(f"model    {source.name} ships with RoboCompiler: {source.path}") + "\n")
    return source
