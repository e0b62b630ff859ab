"""The settings of an MJCF that change what its numbers mean: <compiler> and the gravity of <option>."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robocompiler.importers.log import ASSUMED, ImportLog
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import ORIGIN, Vector3
from robocompiler.records.names import shown

_MASS_CHANGING = {"boundmass": 0.0, "boundinertia": 0.0, "settotalmass": -1.0}
_MEDIUM = ("density", "viscosity")


@dataclass(frozen=True)
class Settings:
    """How to read the file.

    Attributes:
        degrees: whether angles are degrees (the default of MJCF); stated: whether the file says so.
        sequence: axes of euler angles; lower case turns with the frame, upper case stays fixed.
        autolimits: whether a range alone makes a limit.
        from_geoms: 'auto', 'true' or 'false', whether geoms give inertias.
        groups: geom groups that weigh.
        adjusted: why MuJoCo itself must compute all masses, or ''.
    """

    degrees: bool = True
    stated: bool = False
    sequence: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    groups: tuple[int, int] = (0, 5)
    adjusted: str = ""
    gravity: Vector3 = (0.0, 0.0, -9.81)

    def angle(self, value: float) -> float:
        """An angle of the file in radians."""
        return math.radians(value) if self.degrees else value


def read_settings(root: Element, log: ImportLog) -> Settings:
    """The settings; of repeated elements the last word counts."""
    merged: dict[str, str] = {}
    line = None
    for element in root.all("compiler"):
        merged.update(element.attributes)
        line = element.line
    own = Values(merged, "compiler", line, log)
    if own.choice("coordinate", ("local", "global"), "local") == "global":
        own.problem("global coordinates are no longer part of MJCF; save the model again with MuJoCo 2.3")
    sequence = merged.get("eulerseq", "xyz")
    if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
        own.problem(f"'eulerseq' must be three of x, y, z, X, Y, Z, found {shown(sequence)}")
        sequence = "xyz"
    low, high = own.numbers("inertiagrouprange", (2,), (0.0, 5.0))
    return Settings(
        degrees=own.choice("angle", ("degree", "radian"), "degree") == "degree",
        stated="angle" in merged,
        sequence=sequence,
        autolimits=own.flag("autolimits", True),
        from_geoms=own.choice("inertiafromgeom", ("auto", "true", "false"), "auto"),
        groups=(int(low), int(high)),
        adjusted=_adjusted(own),
        gravity=_gravity(root, log),
    )


def _adjusted(own: Values) -> str:
    changing = [key for key, neutral in _MASS_CHANGING.items() if own.number(key, neutral) > max(neutral, 0.0)]
    if own.flag("balanceinertia", False):
        changing.append("balanceinertia")
    return ", ".join(changing)


def _gravity(root: Element, log: ImportLog) -> Vector3:
    gravity: Vector3 = (0.0, 0.0, -9.81)
    for element in root.all("option"):
        own = Values(element.attributes, "option", element.line, log)
        gravity = own.vector("gravity", gravity)
        for key in _MEDIUM:
            if own.number(key):
                log.leave_out(f"<option {key}>: forces of a surrounding fluid", element.line)
        if any(own.vector("wind")):
            log.leave_out("<option wind>: forces of a surrounding fluid", element.line)
        for flag in element.all("flag"):
            if flag.get("gravity") == "disable":
                log.note(ASSUMED, "gravity is disabled, so it is zero", "option: flag", flag.line)
                gravity = ORIGIN
    return gravity


def notice_degrees(ranges: Sequence[tuple[float, float]], settings: Settings, log: ImportLog) -> None:
    """Note hinge ranges (rad, read as degrees because the file does not say otherwise) that look like radians."""
    widest = max((math.degrees(max(abs(low), abs(high))) for low, high in ranges), default=0.0)
    if settings.degrees and not settings.stated and 0 < widest <= 2 * math.pi:
        log.note(
            ASSUMED,
            f"angles are degrees, the default of MJCF, though every hinge range lies within {widest:.4g} degrees: "
            'if radians were meant, write <compiler angle="radian"/>',
            "compiler",
            1,
        )
