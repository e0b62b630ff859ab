"""What the drawing's colours and letters mean."""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.records.joint_types import JointType

FONT = "DejaVu Sans, Verdana, Arial, sans-serif"
FONT_SIZE = 11
CHARACTER = 7.0  # generous width of one 11 px character, so that text stays inside its box in any of the fonts
LINE = 14  # line height
INK, PAPER, FAINT = "#1f2933", "#ffffff", "#9aa5b1"
PORT_COLOUR = "#b42318"
UNASSIGNED = "#52606d"

# Okabe and Ito's palette: distinct for colour-blind readers too; repeated rounds change the dash pattern.
MODULE_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195")
DASHES = ("6 4", "2 3", "10 4", "8 3 2 3")


@dataclass(frozen=True)
class JointStyle:
    """Letter and colour of a joint type."""

    letter: str
    colour: str


JOINT_STYLES: dict[JointType, JointStyle] = {
    JointType.FIXED: JointStyle("F", "#9aa5b1"),
    JointType.REVOLUTE: JointStyle("R", "#2f6f9f"),
    JointType.CONTINUOUS: JointStyle("Rc", "#2f6f9f"),
    JointType.PRISMATIC: JointStyle("P", "#b45309"),
    JointType.CYLINDRICAL: JointStyle("C", "#8a6d00"),
    JointType.UNIVERSAL: JointStyle("U", "#6d28d9"),
    JointType.SPHERICAL: JointStyle("S", "#047857"),
    JointType.PLANAR: JointStyle("E", "#9d174d"),
    JointType.SCREW: JointStyle("H", "#7c2d12"),
    JointType.FREE: JointStyle("6", "#374151"),
}


@dataclass(frozen=True)
class ChordStyle:
    """Colour and dash pattern of a chord."""

    colour: str
    dash: str


def module_style(index: int) -> ChordStyle:
    """The style of the chords of the `index`-th module."""
    rounds, place = divmod(index, len(MODULE_COLOURS))
    return ChordStyle(MODULE_COLOURS[place], DASHES[rounds % len(DASHES)])
