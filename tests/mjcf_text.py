"""Small MJCF texts, and the import of one with MuJoCo's own reading beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from import_engines import compare_with_mujoco, tree_of
from import_support import imported, written

from robocompiler.importers.import_model import Imported
from robocompiler.importers.options import ImportOptions
from robocompiler.records.model import Mechanism

SOLID = '<inertial pos="0.1 0.02 0" mass="1.5" diaginertia=".01 .02 .025"/>'
RADIAN = '<compiler angle="radian"/>'


def model(*parts: str, name: str = "m") -> str:
    return f'<mujoco model="{name}">\n' + "\n".join(parts) + "\n</mujoco>\n"


def world(*bodies: str) -> str:
    return "<worldbody>\n" + "\n".join(bodies) + "\n</worldbody>"


def body(name: str, inner: str, attributes: str = "", solid: str = SOLID) -> str:
    return f'<body name="{name}" {attributes}>{solid}{inner}</body>'


def load(folder: Path, text: str, options: ImportOptions | None = None) -> Imported:
    return imported(folder, text, "robot.xml", options or ImportOptions())


def engine(folder: Path, text: str) -> Any:
    mujoco = pytest.importorskip("mujoco", reason="a package of the verify extra, not needed to compile")
    return mujoco.MjModel.from_xml_path(str(written(folder, text, "robot.xml")))


def same_tree(folder: Path, text: str, *closing: str) -> Mechanism:
    """The records, after MuJoCo has agreed on masses, poses, inertia and bias."""
    records = load(folder, text).mechanism
    theirs = engine(folder, text)
    for seed in (1, 2):
        assert compare_with_mujoco(theirs, tree_of(records, *closing), seed) == theirs.nv
    return records
