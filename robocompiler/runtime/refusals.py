"""Why a configuration could not be assembled, as an AssemblyError that carries the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError
from robocompiler.numerics.gauss_newton import smallest_gap
from robocompiler.runtime.acceptance import Acceptance
from robocompiler.runtime.description import Description

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def refuse_limits(acceptance: Acceptance, q: Array) -> None:
    """Raise AssemblyError if the assembled q violates joint limits; `q` of the error is what was wanted."""
    limits = acceptance.description.violated_limits(q)
    if not limits:
        return
    name, (value, lower, upper) = next(iter(limits.items()))
    raise AssemblyError(
        f"assembled, but {name} is {value:.9g}, outside its limits [{lower:.6g}, {upper:.6g}]"
        + (f" (and {len(limits) - 1} more)" if len(limits) > 1 else ""),
        residual=acceptance.residual(q),
        joint=name,
        eta=1.0,
        limits=limits,
        q=q,
    )


def refuse_branch(acceptance: Acceptance, q: Array, modules: Sequence[str]) -> NoReturn:
    """Raise AssemblyError: the loops close, but `modules` are on another assembly branch than the reference."""
    raise AssemblyError(
        f"the loops close only on another assembly branch ({', '.join(modules)})",
        residual=acceptance.residual(q),
        joint=modules[0],
        eta=1.0,
        q=q,
    )


def refuse_open(acceptance: Acceptance, starts: Sequence[Array], hold: Indices, eta: float) -> NoReturn:
    """Raise AssemblyError with the smallest gap that can be found from `starts` with the velocities in `hold` fixed."""
    evaluation, description = acceptance.evaluation, acceptance.description
    free = np.flatnonzero(~np.isin(description.active, hold))
    candidates = [smallest_gap(evaluation, evaluation.recover(start), free) for start in starts]
    best = min(candidates, key=lambda q: float(np.linalg.norm(evaluation.rows(q))))
    if acceptance.closed(best):
        flipped = acceptance.off_branch(best)
        if flipped:
            refuse_branch(acceptance, best, flipped)
        raise AssemblyError(
            f"the loops close with {_held(description, hold)} held, but the way there passes a singular pose, "
            "beyond which the branch is not known; assemble by smaller steps from a configuration nearby",
            residual=acceptance.residual(best),
            joint=acceptance.evaluation.description.closures[0]["name"],
            eta=eta,
            q=best,
        )
    gap = acceptance.gaps(best)
    worst = max(gap, key=lambda name: gap[name][0] / description.length + gap[name][1])
    metres, radians = gap[worst]
    raise AssemblyError(
        f"the loops cannot be closed with {_held(description, hold)} held; the smallest gap found is {metres:.6g} m "
        f"and {radians:.6g} rad, at {worst}",
        residual=acceptance.residual(best),
        gap=gap,
        joint=worst,
        eta=eta,
        limits=description.violated_limits(best),
        q=best,
    )


def _held(description: Description, hold: Indices) -> str:
    names = ", ".join(description.velocities[i] for i in hold[:6]) + (", ..." if hold.size > 6 else "")
    return names or "nothing"
