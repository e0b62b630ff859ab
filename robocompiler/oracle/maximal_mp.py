"""The maximal-coordinate oracle in 50 digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robocompiler.oracle.arithmetic import precise_arithmetic
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.oracle.relative import Row
from robocompiler.oracle.spaces import PreciseSpace, Space
from robocompiler.records.model import Mechanism


class PreciseModel(MaximalModel):
    """MaximalModel over 60-digit numbers; 50 digits of its results are good at well-conditioned states.

    The rank and the redundant rows are decided by the double decomposition.  Where redundant rows disagree (records are
    rounded to 1e-16), the truncated row space itself is found to some 1e-29.

    Args:
        package: 'gmpy2' or 'mpmath'; '' takes gmpy2 where installed.  Digits do not depend on it.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Mapping[str, float] | None = None,
        *,
        support: str = "",
        package: str = "",
    ) -> None:
        super().__init__(mechanism, parameters, support=support, arithmetic=precise_arithmetic(package))

    def _space(self, rows: Sequence[Row]) -> Space:
        return PreciseSpace(rows, self.columns, self.arithmetic)
