"""The robots that are measured."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROBOTS = ("stewart", "excavator", "kangaroo", "go2", "panda")
CLOSED_CHAINS = ("stewart", "excavator", "kangaroo")


def model(name: str) -> Path:
    """The mechanism file of a robot."""
    return ROOT / "models" / f"{name}.yaml"
