"""`robocompile export`: a model for other tools, with a report of what stands differently there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocompiler.cli.commands import robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT, json_text
from robocompiler.cli.output import printable, write_error, write_out
from robocompiler.cli.shipped import find_model
from robocompiler.cli.unused import refuse_unused
from robocompiler.errors import CompileError

if TYPE_CHECKING:
    from robocompiler.exporters.notes import ExportNote

FORMATS = ("mjcf", "urdf", "dot", "svg")


@robocompile.command("export", epilog=EXIT_CODE_TEXT, short_help="Write MODEL as MJCF, URDF, or its graph.")
@click.argument("model")
@click.option("--to", "form", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option("--output", "-o", metavar="FILE", help="The file to write [default: standard output; urdf needs it].")
@click.option("--force", is_flag=True, help="Let a URDF's side file replace another that is there already.")
@click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON; needs --output.")
@click.option("--quiet", "-q", is_flag=True, help="Print no report; errors are shown.")
@click.pass_context
def export_command(
    context: click.Context, /, model: str, form: str, output: str | None, force: bool, as_json: bool, quiet: bool
) -> None:
    """Export MODEL for other tools.

    What is said in another way there, and what the format cannot say, is told.  A URDF gets a side file
    STEM.loops.yaml beside it, with its loops: `robocompile import FILE` reads both.
    """
    from robocompiler.backend.atomic import write_atomically

    refuse_unused(context, ("force", form == "urdf", "only goes with --to urdf: nothing else has a side file"))
    if output is None and (as_json or form == "urdf"):
        reason = "--json" if as_json else "--to urdf"
        raise click.UsageError(f"{reason} needs --output.")
    files, notes = _texts(find_model(model).path, form, None if output is None else Path(output))
    if not force:
        _keep_others(files, output)
    if output is None:
        write_out(files[""])
    for path, text in files.items() if output is not None else ():
        write_atomically(Path(path), text.encode("utf-8"))
    written = [] if output is None else list(files)
    if as_json:
        write_out(json_text(_data(form, written, notes)))
    elif not quiet:
        tell = write_error if output is None else write_out
        lines = [f"written to {path}" for path in written] + [str(note) for note in notes]
        tell("".join(" ".join(printable(line).split()) + "\n" for line in lines))


def _keep_others(files: dict[str, str], output: str | None) -> None:
    """CompileError where a file that was not asked for by name would replace another: somebody may have written it."""
    for path, text in files.items():
        if path != output and Path(path).is_file() and Path(path).read_bytes() != text.encode("utf-8"):
            raise CompileError(
                f"{path} is there already, with other content; nothing was written.  Choose another --output, or "
                "replace it with --force"
            )


def _texts(model: Path, form: str, output: Path | None) -> tuple[dict[str, str], tuple[ExportNote, ...]]:
    """Texts by path ('' for standard output), and the notes."""
    from robocompiler import export

    name = "" if output is None else str(output)
    if form == "urdf":
        assert output is not None
        found = export.urdf(model)
        return {name: found.text, str(output.with_name(f"{output.stem}.loops.yaml")): found.side}, found.notes
    if form == "mjcf":
        made = export.mjcf(model)
        return {name: made.text}, made.notes
    return {name: export.dot(model) if form == "dot" else export.svg(model)}, ()


def _data(form: str, files: list[str], notes: tuple[ExportNote, ...]) -> dict[str, Any]:
    told = [{"kind": n.kind, "message": n.message, "record": n.record, "count": n.count} for n in notes]
    return {"format": form, "files": files, "notes": told}
