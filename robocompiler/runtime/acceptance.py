"""When a configuration counts as assembled: complete residual, log domain, assembly branch, joint limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robocompiler.runtime.evaluation import Evaluation

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ACCEPTED = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5}


class Acceptance:
    """The acceptance conditions of one robot in one chart."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.description = evaluation.description
        # redundant rows of the records may disagree by the floor found at compile time; nothing closes better than that
        self.tolerance = max(ACCEPTED[evaluation.library.real], 8 * self.description.floor)
        self._row_scales = self.description.augmented_scales()
        chart = self.description.charts[evaluation.chart]
        place = {int(index): k for k, index in enumerate(self.description.active)}
        self._blocks = {
            m["name"]: (np.ix_(m["rows"], [place[i] for i in m["dependents"]]), m["sign"])
            for m in chart["modules"]
            if m["dependents"] and m["sign"]  # 0: more working rows than unknowns, whose selected ones mark no branch
        }
        self._squares = {
            m["name"]: np.ix_(m["rows"], [place[i] for i in m["dependents"]])
            for m in chart["modules"]
            if m["dependents"]
        }

    def residual(self, q: Array) -> float:
        """Largest scaled augmented residual; infinite outside the log domain."""
        rho = self.evaluation.residual(q)
        if not np.all(np.isfinite(rho)):
            return float("inf")
        turns = np.linalg.norm(rho[: 6 * len(self.description.chords)].reshape(-1, 6)[:, :3], axis=1)
        if np.any(turns > self.description.refused_rotation):
            return float("inf")
        return float(np.abs(rho / self._row_scales).max(initial=0.0))

    def closed(self, q: Array) -> bool:
        """Whether all closures hold to the tolerance."""
        return self.residual(q) <= self.tolerance

    def off_branch(self, q: Array) -> list[str]:
        """Modules whose det R_p has not its sign of the reference."""
        J = self.evaluation.jacobian(q)
        return [name for name, (block, sign) in self._blocks.items() if np.linalg.slogdet(J[block])[0] != sign]

    def orientations(self, q: Array) -> dict[str, int]:
        """Sign of det R_p of every module with dependents, whether or not it marks a branch."""
        return self.orientations_of(self.evaluation.jacobian(q))

    def orientations_of(self, J: Array) -> dict[str, int]:
        """The same from the scaled condensed Jacobian (nk, active)."""
        return {name: int(np.linalg.slogdet(J[block])[0]) for name, block in self._squares.items()}

    def on_branch(self, q: Array, module: str) -> bool:
        """Whether one module's det R_p has its sign of the reference."""
        if module not in self._blocks:
            return True
        block, sign = self._blocks[module]
        return bool(np.linalg.slogdet(self.evaluation.jacobian(q)[block])[0] == sign)

    def gaps(self, q: Array) -> dict[str, tuple[float, float]]:
        """Gap of every closure as (metres, radians); a coupling's stands in the second place."""
        rho = self.evaluation.residual(q)
        gaps = {}
        for closure in self.description.closures:
            start, count = closure["augmented"]
            part = rho[start : start + count]
            if closure["kind"] == "coupling":
                gaps[closure["name"]] = (0.0, float(abs(part[0])))
            else:
                gaps[closure["name"]] = (float(np.linalg.norm(part[3:])), float(np.linalg.norm(part[:3])))
        return gaps

    def fixed_by(self, hold: Indices) -> Indices:
        """Coordinates that holding these velocities fixes.

        A ball of which only some angular velocities are held has none: no coordinate belongs to a single one of them.
        """
        held = set(map(int, hold))
        found: list[int] = []
        for joint in self.description.joints:
            (q0, nq), (v0, nv) = joint["q"], joint["v"]
            if nq == nv:
                found += [q0 + k for k in range(nq) if v0 + k in held]
            elif set(range(v0, v0 + nv)) <= held:
                found += range(q0, q0 + nq)
        return np.array(found, dtype=np.intp)
