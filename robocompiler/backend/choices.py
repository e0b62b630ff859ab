"""What a robot was compiled with, remembered beside its object cache, so that edited records are compiled alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.cache import CACHE_FOLDER
from robocompiler.backend.options import BuildOptions
from robocompiler.errors import CompileError

_RECORD = "choices.json"


@dataclass(frozen=True)
class Choices:
    """independent, supports, charts: as given to a compile; options: of the build."""

    independent: tuple[str, ...]
    supports: tuple[str, ...]
    charts: int
    options: BuildOptions


def record_choices(folder: Path, choices: Choices) -> None:
    """Remember with what the robot in `folder` was compiled; a record that says so already is not touched."""
    path = folder / CACHE_FOLDER / _RECORD
    content = (json.dumps(asdict(choices), indent=1, sort_keys=True) + "\n").encode()
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def read_choices(folder: Path) -> Choices:
    """With what the robot in `folder` was compiled.  CompileError where that is not known."""
    try:
        data = json.loads((folder / CACHE_FOLDER / _RECORD).read_text())
        options = BuildOptions(**{**data["options"], "extra_flags": _texts(data["options"]["extra_flags"])})
        return Choices(_texts(data["independent"]), _texts(data["supports"]), int(data["charts"]), options)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CompileError(
            f"{folder}: it is not known with what options this robot was compiled ({type(error).__name__} at "
            f"{CACHE_FOLDER}/{_RECORD}); compile its records here once with rc.compile, then reload"
        ) from None


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError("a list of texts expected")
    return tuple(values)
