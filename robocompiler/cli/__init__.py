"""The command line: `robocompile MODEL -o build/`, and its subcommands (docs/command-line.md)."""

from __future__ import annotations

from robocompiler.cli.commands import robocompile

__all__ = ["main", "robocompile"]


def main() -> None:
    """Run the command with the arguments of this process and exit with its documented code."""
    robocompile()
