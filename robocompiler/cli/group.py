"""The command group: a first word that is no command is a model to compile, and every error has its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from robocompiler.cli.failures import guarded

_DEFAULT = "compile"
_OWN_OPTIONS = frozenset({"--help", "-h", "--version"})


class ModelGroup(click.Group):
    """`robocompile MODEL ...` is `robocompile compile MODEL ...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front unless the first word is a command or an option of the group."""
        if args and args[0] not in self.commands and args[0] not in _OWN_OPTIONS:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command; in standalone mode (the default) the process exits with a documented code."""
        words = list(sys.argv[1:] if args is None else args)

        def run() -> Any:
            return super(ModelGroup, self).main(
                words, prog_name=prog_name or "robocompile", complete_var=complete_var, standalone_mode=False, **extra
            )

        if not standalone_mode:
            return run()
        before = words[: words.index("--")] if "--" in words else words
        sys.exit(guarded(run, "--json" in before))
