"""`robocompile inspect --html`: compiles a model and writes the page about it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from robocompiler.backend.options import BuildOptions, Progress
from robocompiler.compiler import FrontEnd, compile_to_folder
from robocompiler.records.model import Mechanism
from robocompiler.report.page import Subject, page_html
from robocompiler.runtime.manifest import find_manifest, read_manifest
from robocompiler.runtime.robot import load


@dataclass(frozen=True)
class Source:
    """Where records come from: the file's name without folders, its foreign format or '', notes of its import."""

    file: str
    format: str = ""
    notes: tuple[str, ...] = ()


def read_source(path: Path) -> tuple[Mechanism, Source]:
    """The records of a model file of any format, and what its import tells.  Raises ModelError."""
    from robocompiler.importers.import_model import import_model
    from robocompiler.importers.read_model import is_foreign, read_model

    if not is_foreign(path):
        return read_model(path), Source(path.name)
    found = import_model(path)
    notes = tuple(str(replace(note, file=Path(note.file).name)) for note in found.notes)  # wherever the files lie
    return found.mechanism, Source(path.name, found.format, notes)


def compiled_page(
    mechanism: Mechanism,
    source: Source,
    output: str | None,
    *,
    independent: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[FrontEnd, str]:
    """Compile `mechanism` and describe it: the results of the front end, and the page.

    Args:
        output: where the robot's folder is made and kept; None: in a temporary folder, without optimisation.

    Raises ModelError, AssemblyError, RankError or CompileError.
    """
    if output is not None:
        return _page(mechanism, source, output, independent, BuildOptions(), progress)
    with tempfile.TemporaryDirectory(prefix="robocompiler-") as folder:
        return _page(mechanism, source, folder, independent, BuildOptions(extra_flags=("-O0",)), progress)


def _page(
    mechanism: Mechanism,
    source: Source,
    output: str,
    independent: Sequence[str],
    options: BuildOptions,
    progress: Progress | None,
) -> tuple[FrontEnd, str]:
    front, build = compile_to_folder(mechanism, output, independent=independent, options=options, progress=progress)
    manifest = read_manifest(find_manifest(build.folder))
    subject = Subject(front.program, load(build.folder), manifest, source.file, source.format, source.notes)
    return front, page_html(subject)
