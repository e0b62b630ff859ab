"""The command line: `robocompile MODEL -o build/`, and its subcommands (docs/command-line.md)."""

from __future__ import annotations

from robocompiler.cli.bench import bench_command  # joins the group
from robocompiler.cli.commands import robocompile
from robocompiler.cli.export_command import export_command  # joins the group
from robocompiler.cli.import_command import import_command  # joins the group
from robocompiler.cli.repair_command import repair_command  # joins the group
from robocompiler.cli.simulate_command import simulate_command  # joins the group
from robocompiler.cli.view_command import view_command  # joins the group

__all__ = [
    "bench_command",
    "export_command",
    "import_command",
    "main",
    "repair_command",
    "robocompile",
    "simulate_command",
    "view_command",
]


def main() -> None:
    """Run the command with the arguments of this process and exit with its documented code."""
    robocompile()
