"""A mechanism for other tools: MJCF, URDF with its side file, a Pinocchio model, and drawings of the graph.

    rc.export.mjcf("models/stewart.yaml").text
    rc.export.pinocchio("models/kangaroo.yaml").model

Each function takes the path of a model (YAML or what `import` reads) or records.  Needs no C compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robocompiler.analysis.reduce import reduce_closures
from robocompiler.exporters.dot import dot_text
from robocompiler.exporters.mjcf import Exported, mjcf_text
from robocompiler.exporters.pinocchio_model import PinocchioExport, pinocchio_model
from robocompiler.exporters.urdf import ExportedUrdf, urdf_text
from robocompiler.graph.build import derive_topology
from robocompiler.graph.draw import graph_svg
from robocompiler.importers.read_model import read_model
from robocompiler.records.model import Mechanism
from robocompiler.symbolic.closures import build_closures

Model = str | Path | Mechanism


@dataclass(frozen=True)
class Assembled:
    """A mechanism with the values of all coordinates at its assembled reference."""

    mechanism: Mechanism
    reference: dict[str, float]


def assembled(model: Model) -> Assembled:
    """The records and their assembled reference, by the passes of the compiler up to the reduction.

    Raises ModelError, AssemblyError or RankError.
    """
    mechanism = _records(model)
    topology = derive_topology(mechanism)
    reduction = reduce_closures(build_closures(topology), ())
    return Assembled(mechanism, dict(zip(topology.q_names, reduction.reference, strict=True)))


def mjcf(model: Model) -> Exported:
    """The MJCF of a model, for MuJoCo; see `exporters.mjcf.mjcf_text`.  Raises ModelError, AssemblyError, RankError."""
    found = assembled(model)
    return mjcf_text(found.mechanism, found.reference)


def urdf(model: Model) -> ExportedUrdf:
    """The URDF of a model, and the side file that makes it whole; see `exporters.urdf.urdf_text`.

    Raises ModelError, AssemblyError, RankError.
    """
    found = assembled(model)
    return urdf_text(found.mechanism, found.reference)


def pinocchio(model: Model) -> PinocchioExport:
    """A Pinocchio model of a model, with constraint models and name maps; see `exporters.pinocchio_model`.

    Raises MissingPackageError without Pinocchio; ModelError, AssemblyError, RankError.
    """
    found = assembled(model)
    return pinocchio_model(found.mechanism, found.reference)


def dot(model: Model) -> str:
    """The graph of a model in the DOT language of Graphviz.  Raises ModelError."""
    return dot_text(derive_topology(_records(model)))


def svg(model: Model) -> str:
    """The graph of a model as a drawing in SVG, with its tree and chords.  Raises ModelError.

    `robocompile inspect MODEL --svg FILE` draws the loop modules too, for which it decides the rank.
    """
    return graph_svg(derive_topology(_records(model)))


def _records(model: Model) -> Mechanism:
    return model if isinstance(model, Mechanism) else read_model(model)
