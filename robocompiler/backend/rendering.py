"""The templates of all emitted files."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

import jinja2

from robocompiler.backend.c_operations import calls_libm
from robocompiler.errors import CompileError
from robocompiler.resources import templates_folder


@functools.cache
def environment() -> jinja2.Environment:
    """One for the process: parsing the templates takes longer than printing a small robot."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_folder()),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # the output is C, not HTML; names hold only letters, digits and _ - . / space
    )
    made.tests["calling_libm"] = calls_libm
    return made


def keep_parsed(folder: Path) -> None:
    """Keep what parsing a template gives in `folder`, under digests of its text, for later processes.

    CompileError when the file system refuses.
    """
    place = folder / jinja2.__version__
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot make the folder {place}: {error.strerror}") from None
    environment().bytecode_cache = _Parsed(str(place))


class _Parsed(jinja2.FileSystemBytecodeCache):
    """A later build of this process may come when the folder is gone: what cannot be kept is parsed again."""

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def render(template: str, **values: object) -> str:
    """The text of one template."""
    return environment().get_template(template).render(**values)


def text_digest(files: Mapping[str, str]) -> str:
    """Digest of {path: text}."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{files[path]}\0".encode())
    return digest.hexdigest()
