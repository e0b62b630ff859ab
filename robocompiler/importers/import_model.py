"""Records from a file of a foreign format: URDF, MJCF or SDF, told apart by its root element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from robocompiler.importers.draft import Draft
from robocompiler.importers.log import ASSUMED, LEFT_OUT, RENAMED, ImportLog, Note
from robocompiler.importers.mjcf import import_mjcf
from robocompiler.importers.options import DEFAULTS, ImportOptions
from robocompiler.importers.sdf import import_sdf
from robocompiler.importers.side_file import Merge, read_side_file, side_file_of
from robocompiler.importers.urdf import import_urdf
from robocompiler.importers.visuals import Visuals
from robocompiler.importers.xml_reader import Element, read_xml
from robocompiler.records.model import Mechanism
from robocompiler.records.names import MAXIMUM_NAME_LENGTH, check_name, shown
from robocompiler.records.reader import mechanism_from_nodes
from robocompiler.records.yaml_source import read_text

Importer = Callable[[Element, Path, ImportLog, ImportOptions], Draft]
IMPORTERS: dict[str, tuple[str, Importer]] = {
    "robot": ("URDF", import_urdf),
    "mujoco": ("MJCF", import_mjcf),
    "sdf": ("SDF", import_sdf),
}


@dataclass(frozen=True)
class Imported:
    """Records of a foreign file.

    Attributes:
        mechanism: the checked records; its warnings include what was assumed and left out.
        format: 'URDF', 'MJCF' or 'SDF'.
        notes: every decision on the way, by kind.
        visuals: the shapes that the file draws on its bodies, by the bodies' names in the records.
    """

    mechanism: Mechanism
    format: str
    notes: tuple[Note, ...]
    visuals: Visuals


def import_model(path: str | Path, options: ImportOptions = DEFAULTS) -> Imported:
    """Import a URDF, MJCF or SDF file, told apart by its root element, with its side file if there is one.

    Raises ModelError whose `problems` list every fault with file, line and element.
    """
    path = Path(path)
    log = ImportLog(str(path))
    text = read_text(path)
    if text.strip() and not text.lstrip().startswith("<"):
        log.problem("is not XML; expected a URDF, MJCF or SDF file", "", 1)
        log.finish()
    root = read_xml(text, str(path), log)
    if root.tag not in IMPORTERS:
        log.problem(
            f"the root element is <{shown(root.tag)[1:-1]}>; expected <robot> (URDF), <mujoco> (MJCF) or <sdf>",
            "",
            root.line,
        )
        log.finish()
    name, importer = IMPORTERS[root.tag]
    draft = _drafted(importer, root, path, log, options)
    draft.name = _legal_name(draft, path.stem)
    node = draft.node()
    side_path = options.loops or side_file_of(path)
    if side_path is not None:
        side = read_side_file(side_path, log)
        log.note(ASSUMED, f"the side file {shown(side_path.name)} belongs to it")
        node = Merge(log, draft.guessed_ports).merged(node, side)
    if log.problems and not (draft.groups["bodies"] and draft.groups["joints"]):
        log.finish()  # that the records are empty is no fault of its own then
    notes = log.notes
    # without folders, since warnings go into manifests, which do not depend on where the model lies
    told = (replace(note, file=Path(note.file).name) for note in notes if note.kind in (ASSUMED, LEFT_OUT))
    log.warnings += map(str, told)
    mechanism = mechanism_from_nodes(node, log)
    return Imported(mechanism, name, notes, draft.visuals.done())


def _drafted(importer: Importer, root: Element, path: Path, log: ImportLog, options: ImportOptions) -> Draft:
    """What the importer makes; references that lead through too many others are a fault of the file."""
    try:
        return importer(root, path, log, options)
    except RecursionError:
        log.problem("elements refer to one another through too many others to be read", "", root.line)
    log.finish()
    raise AssertionError("finish raises when a problem is noted")


def _legal_name(draft: Draft, stem: str) -> str:
    """The robot's name as far as it is legal."""
    if check_name(draft.name) is None:
        return draft.name
    name = "".join(c if check_name(f"a{c}a") is None else "_" for c in draft.name or stem)[:MAXIMUM_NAME_LENGTH].strip()
    draft.log.note(RENAMED, f"the robot {shown(draft.name)} to {shown(name or 'robot')}", "", draft.line)
    return name or "robot"
