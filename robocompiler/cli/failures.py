"""How the command ends when something is wrong: one exit code per kind of error, text for people, JSON for programs."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable
from typing import Any

import click

from robocompiler.cli.output import printable, write_error, write_out
from robocompiler.errors import (
    ArgumentError,
    AssemblyError,
    CompileError,
    LoadError,
    ModelError,
    RankError,
    RoboCompilerError,
)

OK, INTERNAL, USAGE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES: dict[type[RoboCompilerError], int] = {
    ArgumentError: USAGE,
    ModelError: 3,
    AssemblyError: 4,
    RankError: 5,
    CompileError: 6,
    LoadError: 7,
}
EXIT_CODE_TEXT = (
    "Exit codes: 0 done, 1 internal error, 2 wrong use, 3 the model is wrong, 4 the loops do not close, 5 the rank is "
    "not clear, 6 the C compiler or an output file failed, 7 a compiled robot cannot be loaded, 8 a check found "
    "a discrepancy, 9 a simulation ended before its time, 130 interrupted, 141 nobody reads the output."
)
_INTERRUPTED = (
    "robocompile: interrupted.  Nothing is lost: what the output folder held still loads, and objects that were "
    "finished are reused by the next compile."
)
_BUG = "robocompile: this is a fault of RoboCompiler, not of your model; please report it with the text above."


def guarded(run: Callable[[], Any], as_json: bool) -> int:
    """Run a command and return its exit code; errors have been told by then, also as JSON if asked."""
    try:
        return _code(run())
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, click.Abort):
        _tell(_INTERRUPTED, {"type": "Interrupted", "message": "interrupted", "problems": []}, as_json)
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        if as_json:
            _tell("", {"type": type(error).__name__, "message": error.format_message(), "problems": []}, True)
        return error.exit_code
    except RoboCompilerError as error:
        return _refused(error, as_json)
    except Exception as error:  # the last line of defence: a user must learn that the fault is not in the model
        text = printable(traceback.format_exc()) + _BUG
        _tell(text, {"type": "InternalError", "message": f"{type(error).__name__}: {error}", "problems": []}, as_json)
        return INTERNAL


def error_text(error: RoboCompilerError) -> str:
    """The message for people: of a ModelError every problem on its own line as file:line: record: message."""
    if not isinstance(error, ModelError):
        return printable(f"robocompile: {error}")
    lines = [" ".join(str(problem).split("\n")) for problem in error.problems]
    count = len(lines)
    tail = "1 problem" if count == 1 else f"{count} problems"
    return printable("\n".join([*lines, f"robocompile: {tail}; nothing was compiled"]))


def error_record(error: RoboCompilerError) -> dict[str, Any]:
    """The error as plain data: type, message, problems, and what else its kind carries."""
    record: dict[str, Any] = {"type": type(error).__name__, "message": str(error), "problems": []}
    if isinstance(error, ModelError):
        record["problems"] = [
            {"file": p.file, "line": p.line, "record": p.record, "message": p.message} for p in error.problems
        ]
    elif isinstance(error, AssemblyError):
        record |= {"residual": error.residual, "joint": error.joint, "gap": error.gap, "limits": error.limits}
    elif isinstance(error, RankError):
        record["report"] = error.report
    elif isinstance(error, CompileError):
        record |= {"command": list(error.command), "log": error.log}
    return record


def json_text(value: Any) -> str:
    """`value` as JSON with sorted keys; numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=2, sort_keys=True, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refused(error: RoboCompilerError, as_json: bool) -> int:
    _tell(error_text(error), error_record(error), as_json)
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), INTERNAL)


def _tell(text: str, record: dict[str, Any], as_json: bool) -> None:
    if text:
        write_error(text + "\n")
    if as_json:
        try:
            write_out(json_text({"error": record}))
        except (CompileError, click.exceptions.Exit):
            return  # nobody reads standard output; the text on standard error has said it


def _code(result: Any) -> int:
    return result if isinstance(result, int) else OK
