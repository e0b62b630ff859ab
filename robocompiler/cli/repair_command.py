"""`robocompile repair`: a mechanism with nearly redundant loops to one whose loops are exact, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocompiler.cli.commands import find, robocompile
from robocompiler.cli.failures import EXIT_CODE_TEXT, json_text
from robocompiler.cli.output import printable, write_error, write_out

if TYPE_CHECKING:
    from robocompiler.analysis.repairing import Repair


@robocompile.command("repair", epilog=EXIT_CODE_TEXT, short_help="Make nearly redundant loops of MODEL exact.")
@click.argument("model")
@click.option("--output", "-o", metavar="FIXED.yaml", help="The file to write [default: standard output].")
@click.option("--json", "as_json", is_flag=True, help="Print the report, or the error, as JSON; needs --output.")
@click.option("--quiet", "-q", is_flag=True, help="Print no report; errors are shown.")
def repair_command(model: str, output: str | None, as_json: bool, quiet: bool) -> None:
    """Write MODEL with the smallest changes of joint frames that make its loops exactly redundant.

    Every change is told and stands at the head of the written file.  What is more than rounding is refused.
    """
    from robocompiler.analysis.repair_text import repair_data, repair_text
    from robocompiler.analysis.repairing import repair_mechanism
    from robocompiler.backend.atomic import write_atomically
    from robocompiler.importers.read_model import read_model

    if as_json and output is None:
        raise click.UsageError("--json needs --output, since the mechanism itself goes to standard output.")
    source = find(model, quiet)
    repair = repair_mechanism(read_model(source.path))
    text = _yaml(repair, Path(source.path).name)
    if output is None:
        write_out(text)
    else:
        write_atomically(Path(output), text.encode("utf-8"))
    if as_json:
        write_out(json_text({**repair_data(repair), "output": output}))
    elif not quiet:
        tell = write_error if output is None else write_out
        tell(printable(repair_text(repair)) + (f"written to {printable(output)}\n" if output else ""))


def _yaml(repair: Repair, name: str) -> str:
    from robocompiler.analysis.repair_text import repair_text
    from robocompiler.records.yaml_writer import mechanism_yaml

    comments = [f"Repaired from {name} by RoboCompiler.", "", *repair_text(repair).splitlines()]
    head = "".join(f"# {printable(line)}".rstrip() + "\n" for line in comments)
    return f"{head}\n{mechanism_yaml(repair.mechanism)}"
