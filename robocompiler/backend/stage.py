"""Where a compile under way keeps texts in the cache; a build that succeeds removes those that nobody needs again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from robocompiler.backend.cache import CACHE_FOLDER
from robocompiler.errors import CompileError

AHEAD = Path(CACHE_FOLDER) / "ahead"  # what is compiled before the output folder is written
APART = Path(CACHE_FOLDER) / "apart"  # code and numbers of long units: see `numbers_apart`

TEMPLATES = Path(CACHE_FOLDER) / "templates"  # parsed ones, kept between builds
TEXTS = Path(CACHE_FOLDER) / "texts"  # of kernels, kept between builds: see `kept_texts`


def write_stage(folder: Path, files: Mapping[str, str]) -> None:
    """Write {path below `folder`: text}.  CompileError when the file system refuses."""
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CompileError(f"cannot write into {folder}: {error.filename or ''}: {error.strerror}") from None


def clear_stages(folder: Path) -> None:
    """Remove the stages of the output folder `folder`; after a failure they stay, for the command in the message."""
    for stage in (AHEAD, APART):
        shutil.rmtree(folder / stage, ignore_errors=True)
