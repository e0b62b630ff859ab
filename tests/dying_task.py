"""A task whose process dies: in a module of its own, as the processes of a pool import little."""

from __future__ import annotations

import os

from robocompiler.check.random_run import Outcome


def dies_at_one(seed: int) -> Outcome:
    """Seed 1 ends its process, as a crash of compiled code would."""
    if seed == 1:
        os._exit(3)
    return Outcome(seed, "passed")
