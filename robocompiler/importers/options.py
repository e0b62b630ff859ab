"""What a user may decide about an import."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FIXED, FLOATING = "fixed", "floating"


@dataclass(frozen=True)
class ImportOptions:
    """Choices that the files leave open.

    Attributes:
        loops: side file with closing joints; None: STEM.loops.yaml beside the model, if there is one.
        base: URDF only: whether the root link is 'fixed' to the world or 'floating'.
        key: MJCF only: name of the keyframe that becomes the reference; '': the first.
        hinges: MJCF only: whether connects between the same bodies become one joint.
    """

    loops: Path | None = None
    base: str = FIXED
    key: str = ""
    hinges: bool = True


DEFAULTS = ImportOptions()
