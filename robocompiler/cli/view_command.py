"""`robocompile view`: a local page that shows a compiled MODEL and moves it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.cli.commands import find, robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT
from robocompiler.cli.output import printable, write_error, write_out

if TYPE_CHECKING:
    from robocompiler.graph.topology import Topology
    from robocompiler.runtime.robot import Robot
    from robocompiler.viewer.visuals import DrawnVisuals

NOTES = 5  # told on the terminal


@robocompile.command("view", epilog=EXIT_CODE_TEXT, short_help="Show MODEL on a local page and move it.")
@click.argument("model")
@click.option(
    "--output", "-o", default="build", show_default=True, metavar="FOLDER", help="Where MODEL is compiled to."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve on; others may reach 0.0.0.0.")
@click.option("--port", "-p", type=click.IntRange(1, 65535), help="TCP port of the page [default: a free one].")
@click.option("--no-browser", is_flag=True, help="Print the address and open no browser.")
@click.option("--fast-compile", is_flag=True, help="Compile without optimisation: the page is there sooner.")
@click.option("--repair", is_flag=True, help="Make nearly redundant loops exact first.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress; the address is shown.")
def view_command(model: str, output: str, **options: Any) -> None:
    """Compile MODEL and show it on a page of this machine: a slider per port and per free coordinate, loops closing.

    The address goes to standard output.  Ctrl-C ends.
    """
    from robocompiler.viewer.serve import import_viser, open_browser, page

    import_viser()  # before the compile, which may be long
    robot, topology, visuals = _compiled(model, output, options)
    if not options["quiet"]:
        _tell(visuals.notes)
    try:
        with page(robot, topology, options["host"], options["port"], visuals) as (_, address):
            write_out(f"{address}\n")
            if not options["quiet"]:
                write_error(f"view     {printable(robot.name)}; Ctrl-C ends\n")
            if not options["no_browser"] and not open_browser(address) and not options["quiet"]:
                write_error("view     no browser was opened; the page is at the address above\n")
            _until_interrupted()
    except OSError as error:
        where = f"{options['host']}:{options['port'] or 'any'}"
        raise click.UsageError(f"Cannot serve on {where}: {error.strerror or error}.  Choose another --port.") from None


def _compiled(model: str, output: str, options: dict[str, Any]) -> tuple[Robot, Topology, DrawnVisuals]:
    """The robot, compiled if that changes anything, the topology of its records, and the visuals of its file."""
    from robocompiler.backend.options import BuildOptions
    from robocompiler.backend.repeat import repeat_key, standing_build
    from robocompiler.cli.progress import display
    from robocompiler.graph.build import derive_topology
    from robocompiler.importers.read_model import read_with_visuals
    from robocompiler.runtime.robot import load
    from robocompiler.viewer.visuals import drawn_visuals

    mechanism, visuals = read_with_visuals(find(model, options["quiet"]).path)
    if options["repair"]:
        from robocompiler.analysis.repair_text import repair_text
        from robocompiler.analysis.repairing import repair_mechanism

        repair = repair_mechanism(mechanism)
        mechanism = repair.mechanism
        write_error(printable(repair_text(repair)))
    choices = BuildOptions(extra_flags=("-O0",) if options["fast_compile"] else ())
    key = repeat_key(mechanism, (), (), choices)
    report = standing_build(mechanism, Path(output), key)
    if report is None:
        from robocompiler.compiler import compile_to_folder

        with display(options["quiet"]) as progress:
            _, report = compile_to_folder(mechanism, output, options=choices, progress=progress, key=key)
    return load(report.folder), derive_topology(mechanism), drawn_visuals(visuals)


def _tell(notes: tuple[str, ...]) -> None:
    """What is not drawn of the model's visuals, the first few."""
    for note in notes[:NOTES]:
        write_error(f"view     {printable(note)}\n")
    if len(notes) > NOTES:
        write_error(f"view     and {len(notes) - NOTES} more visuals that are not drawn; the page tells them\n")


def _until_interrupted() -> None:
    """Wait for Ctrl-C, which is how a page ends."""
    try:
        while True:
            threading.Event().wait(3600)
    except KeyboardInterrupt:
        write_error("\n")
