"""One way in for every format: a path to records, by what the file is.

What reads foreign formats is imported when there is such a file: a compile of unchanged YAML has no time for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from robocompiler.arguments import path as file_path
from robocompiler.importers.options import DEFAULTS, ImportOptions
from robocompiler.records.model import Mechanism
from robocompiler.records.reader import read_mechanism

if TYPE_CHECKING:
    from robocompiler.importers.visuals import Visuals

XML_SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".xacro")


def is_foreign(path: str | Path) -> bool:
    """Whether a file is to be imported, by its suffix."""
    return Path(path).suffix.lower() in XML_SUFFIXES


def read_model(path: str | Path, options: ImportOptions = DEFAULTS) -> Mechanism:
    """The mechanism in a file of any format: YAML, or URDF, MJCF and SDF by their suffix.  Raises ModelError."""
    file_path(path, "model")
    if not is_foreign(path):
        return read_mechanism(path)
    from robocompiler.importers.import_model import import_model

    return import_model(path, options).mechanism


def read_with_visuals(path: str | Path, options: ImportOptions = DEFAULTS) -> tuple[Mechanism, Visuals]:
    """The mechanism in a file of any format and the shapes that it draws on its bodies; YAML has none.

    No mesh is opened or looked for.  Raises ModelError.
    """
    from robocompiler.importers.import_model import import_model
    from robocompiler.importers.visuals import Visuals

    if not is_foreign(path):
        return read_mechanism(path), Visuals()
    found = import_model(path, options)
    return found.mechanism, found.visuals
