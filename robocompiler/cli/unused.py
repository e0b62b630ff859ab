"""Options that would mean nothing beside the others are refused, not dropped."""

from __future__ import annotations

import click
from click.core import ParameterSource


def refuse_unused(context: click.Context, *rules: tuple[str, bool, str]) -> None:
    """UsageError for the first option that was given and does nothing.

    rules: (names of parameters, space between; whether they are used here; where they would be), as in
    ("kp kd", word == "hold", "only goes with --controller hold").
    """
    for names, used, where in rules:
        for name in names.split() if not used else ():
            source = context.get_parameter_source(name)
            if source not in (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, None):
                raise click.UsageError(f"{_option(context, name)} {where}.")


def _option(context: click.Context, name: str) -> str:
    """How a parameter is written on the command line, such as --sample-time."""
    found = next(parameter for parameter in context.command.params if parameter.name == name)
    return max(found.opts, key=len)
