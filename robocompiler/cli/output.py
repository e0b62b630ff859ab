"""Writing to the two streams of the process: whole texts, safe on a terminal, calm when the reader has gone."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from typing import TextIO

import click
from rich.console import Console, RenderableType

from robocompiler.errors import CompileError

BROKEN_PIPE = 141  # what a shell reports for a program ended by SIGPIPE
WIDE = 120  # columns of a report that goes to a file or a pipe
_PIECE = 8192  # characters written at a time
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """`text` with control characters spelt out, so that a file's name cannot steer the terminal."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def write_out(text: str) -> None:
    """Write `text` to standard output.

    When the reader has gone (`| head`) the command ends at once with exit code 141; CompileError when the text cannot
    be written for another reason (a full disk).
    """
    stream = sys.stdout
    try:
        _write(stream, text)
    except BrokenPipeError:
        _mute(stream)
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except OSError as error:
        _mute(stream)
        raise CompileError(f"cannot write to standard output: {error.strerror}") from None


def write_error(text: str) -> None:
    """Write `text` to standard error; work goes on when nobody reads it any more."""
    stream = sys.stderr
    try:
        _write(stream, text)
    except OSError:
        _mute(stream)


def console(stream: TextIO) -> Console:
    """A console that takes every text literally: file paths may hold [brackets] and :colons:."""
    return Console(
        file=stream,
        width=None if stream.isatty() or os.environ.get("COLUMNS") else WIDE,
        markup=False,
        highlight=False,
        emoji=False,
    )


def render(*parts: RenderableType) -> str:
    """The text of `parts` as standard output shows it: in colours and its own width on a terminal."""
    shadow = _Shadow()
    screen = console(shadow)
    for part in parts:
        screen.print(part)
    return "\n".join(line.rstrip() for line in shadow.getvalue().split("\n"))


class _Shadow(io.StringIO):
    """A text in memory that rich takes for standard output."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a StringIO has none
        """The encoding of standard output: rich draws with ASCII where that is all there is."""
        return sys.stdout.encoding or "utf-8"

    def isatty(self) -> bool:
        """Whether standard output is a terminal."""
        return sys.stdout.isatty()


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, "replace").decode(encoding)
    # Piece by piece: an unbuffered stream reports a reader who left in the middle of a write only at the next one.
    for start in range(0, len(text), _PIECE):
        stream.write(text[start : start + _PIECE])
        stream.flush()


def _mute(stream: TextIO) -> None:
    """Send what is still buffered nowhere, or the interpreter would complain about it when it ends."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor has nothing to redirect
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
