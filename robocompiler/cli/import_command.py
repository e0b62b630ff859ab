"""`robocompile import`: a URDF, MJCF or SDF file to a mechanism file, with a report of what was decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.cli.commands import robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT, json_text
from robocompiler.cli.output import printable, write_error, write_out
from robocompiler.cli.unused import refuse_unused

if TYPE_CHECKING:
    from robocompiler.importers.import_model import Imported
    from robocompiler.importers.log import Note


@robocompile.command("import", epilog=EXIT_CODE_TEXT, short_help="Turn a URDF, MJCF or SDF file into a mechanism file.")
@click.argument("file")
@click.option("--output", "-o", metavar="MODEL.yaml", help="The file to write [default: standard output].")
@click.option("--loops", metavar="FILE", help="Closing joints and more [default: STEM.loops.yaml beside FILE].")
@click.option("--report", is_flag=True, help="Tell every decision, also what was recognised and renamed.")
@click.option("--base", type=click.Choice(["fixed", "floating"]), default="fixed", help="The root link of a URDF.")
@click.option(
    "--key", default="", metavar="NAME", help="The keyframe of an MJCF that is the reference [default: first]."
)
@click.option("--keep-connects", is_flag=True, help="Two connects of an MJCF stay two balls instead of one hinge.")
@click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON; needs --output.")
@click.option("--quiet", "-q", is_flag=True, help="Print no report; errors are shown.")
@click.pass_context
def import_command(
    context: click.Context, /, file: str, output: str | None, report: bool, as_json: bool, quiet: bool, **choices: Any
) -> None:
    """Import FILE (URDF, MJCF or SDF) into the input language.

    What was assumed and what was left out is told, and stands at the head of the written file.
    """
    from robocompiler.backend.atomic import write_atomically
    from robocompiler.importers.import_model import import_model
    from robocompiler.importers.options import ImportOptions

    if as_json and output is None:
        raise click.UsageError("--json needs --output, since the mechanism itself goes to standard output.")
    options = ImportOptions(
        loops=Path(choices["loops"]) if choices["loops"] else None,
        base=choices["base"],
        key=choices["key"],
        hinges=not choices["keep_connects"],
    )
    refuse_unused(
        context,
        ("report", not (quiet or as_json), "tells more in the report, which --quiet and --json leave out"),
    )
    imported = import_model(file, options)
    refuse_unused(
        context,
        ("base", imported.format == "URDF", f"is for URDF, and {file} is {imported.format}"),
        ("key keep_connects", imported.format == "MJCF", f"is for MJCF, and {file} is {imported.format}"),
    )
    text = yaml_text(imported, Path(file).name)
    if output is None:
        write_out(text)
    else:
        write_atomically(Path(output), text.encode("utf-8"))
    if as_json:
        write_out(json_text(_data(imported, output)))
    elif not quiet:
        tell = write_error if output is None else write_out
        tell(_report(imported, output, everything=report))


def yaml_text(imported: Imported, name: str) -> str:
    """The mechanism file with the notes as comments at its head; file names without folders, so that it can move."""
    from robocompiler.records.yaml_writer import mechanism_yaml

    head = [f"Imported from {name} ({imported.format}) by RoboCompiler.", ""]
    for note in imported.notes:
        place = Path(note.file).name + (f":{note.line}" if note.line is not None else "")
        head.append(f"{place}: {_said(note)}")
    comments = "".join(f"# {line}".rstrip() + "\n" for line in map(_one_line, head))
    return f"{comments}\n{mechanism_yaml(imported.mechanism)}"


def _said(note: Note) -> str:
    record = f"{note.record}: " if note.record else ""
    times = "" if note.count == 1 else f" ({note.count} times, first here)"
    return f"{record}{note.kind}: {note.message}{times}"


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _report(imported: Imported, output: str | None, *, everything: bool) -> str:
    from robocompiler.importers.log import ASSUMED, LEFT_OUT

    mechanism = imported.mechanism
    groups = ("bodies", "joints", "couplings", "ports", "frames")
    counts = ", ".join(f"{len(getattr(mechanism, group))} {group}" for group in groups)
    lines = [f"{imported.format} {mechanism.name}: {counts}"]
    if output is not None:
        lines.append(f"written to {output}")
    shown = [note for note in imported.notes if everything or note.kind in (ASSUMED, LEFT_OUT)]
    lines += [str(note) for note in shown]
    hidden = len(imported.notes) - len(shown)
    if hidden:
        lines.append(f"{hidden} more were recognised or renamed (--report tells them)")
    told = sum(note.kind in (ASSUMED, LEFT_OUT) for note in imported.notes)
    lines += [f"warning: {warning}" for warning in mechanism.warnings[: len(mechanism.warnings) - told]]
    return "".join(_one_line(line) + "\n" for line in lines)


def _data(imported: Imported, output: str | None) -> dict[str, Any]:
    mechanism = imported.mechanism
    return {
        "robot": mechanism.name,
        "format": imported.format,
        "output": output,
        "bodies": len(mechanism.bodies),
        "joints": len(mechanism.joints),
        "couplings": len(mechanism.couplings),
        "ports": len(mechanism.ports),
        "frames": len(mechanism.frames),
        "notes": [
            {
                "kind": n.kind, "message": n.message, "record": n.record, "file": n.file, "line": n.line,
                "count": n.count,
            }
            for n in imported.notes
        ],
        "warnings": list(mechanism.warnings),
    }  # fmt: skip
