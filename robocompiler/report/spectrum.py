"""The singular values that decided the rank: of the scaled condensed Jacobian at every probed pose, on a log axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.numerics.gap import CLEAR, NOISE, RankDecision
from robocompiler.report.svg import add, drawing, text_of, write
from robocompiler.symbolic.closures import ClosureProgram
from robocompiler.symbolic.reduction import Reduction

_LEFT, _TOP, _PLOT, _BELOW = 64.0, 18.0, 260.0, 46.0
_DECADES = 18  # the axis ends at 1e-18; what is smaller, or zero, stands there
_SPACING = (7.0, 30.0)  # px between neighbours, at least and at most
_WIDTH = 800.0


def spectra(closures: ClosureProgram, reduction: Reduction) -> tuple[tuple[float, ...], ...]:
    """Singular values of the scaled condensed Jacobian at the probed poses, relative to each pose's largest.

    The first pose is the reference as the rank was decided there: assembled nearest to the records' values, before the
    independents were held at theirs.  Poses of lower rank are not among the probes.
    """
    evaluator = ClosureEvaluator(closures)
    found = []
    for pose in reduction.probes:
        J = evaluator.jacobian(np.array(pose))
        values = np.linalg.svd(J, compute_uv=False) if min(J.shape) else np.zeros(0)
        top = float(values[0]) if values.size and values[0] > 0 else 1.0
        found.append(tuple(float(value) / top for value in values))
    return tuple(found)


def spectrum_svg(values: Sequence[Sequence[float]], rank: RankDecision) -> str:
    """The singular values over their number, one column per value, with the rank and the gap; '' without values."""
    count = max(map(len, values), default=0)
    if not count:
        return ""
    spacing = min(max(_WIDTH / count, _SPACING[0]), _SPACING[1])
    width = _LEFT + spacing * count + 230.0
    svg = drawing(width, _TOP + _PLOT + _BELOW, f"singular values; rank {rank.rank}")
    right = _LEFT + spacing * count
    _axes(svg, right, count, spacing)
    for level, text in ((CLEAR, "clear above"), (NOISE, "rounding below")):
        add(svg, "line", "threshold", x1=_LEFT, x2=right, y1=_height(level), y2=_height(level))
        write(svg, right + 6, _height(level) + 4, f"{text} {level:.0e}")
    edge = _LEFT + spacing * rank.rank
    add(svg, "line", "rank", f"rank {rank.rank}", x1=edge, x2=edge, y1=_TOP, y2=_TOP + _PLOT)
    for pose, series in enumerate(values):
        for k, value in enumerate(series):
            where = "reference" if pose == 0 else f"probe {pose}"
            title = f"{where}: singular value {k + 1} is {value:.3g}, {'kept' if k < rank.rank else 'dropped'}"
            look = ("kept" if k < rank.rank else "dropped") + ("" if pose else " reference")
            x = _LEFT + spacing * (k + 0.5)
            add(svg, "circle", look, title, cx=x, cy=_height(value), r=2.2 if pose else 3.2)
    if 0 < rank.rank < count:
        _gap(svg, rank, edge, right)
    return text_of(svg)


def _height(value: float) -> float:
    """Where a relative singular value stands."""
    decades = -math.log10(value) if value > 0 else float(_DECADES)
    return _TOP + _PLOT * min(max(decades, 0.0), float(_DECADES)) / _DECADES


def _axes(svg: Element, right: float, count: int, spacing: float) -> None:
    for decade in range(0, _DECADES + 1, 2):
        y = _TOP + _PLOT * decade / _DECADES
        add(svg, "line", "grid", x1=_LEFT, x2=right, y1=y, y2=y)
        label = "1" if decade == 0 else f"1e-{decade}" if decade < _DECADES else "below"
        write(svg, _LEFT - 8, y + 4, label, "end")
    step = max(1, math.ceil(count / 12))
    for k in range(0, count, step):
        write(svg, _LEFT + spacing * (k + 0.5), _TOP + _PLOT + 16, str(k + 1), "middle")
    write(svg, _LEFT, _TOP + _PLOT + 36, "number of the singular value, largest first")


def _gap(svg: Element, rank: RankDecision, edge: float, right: float) -> None:
    """The two sides of the gap, at the rank's line."""
    low = rank.largest_dropped
    add(
        svg, "line", "gap", f"gap from {rank.smallest_kept:.3g} to {low:.3g}", x1=edge, x2=edge,
        y1=_height(rank.smallest_kept), y2=_height(low),
    )  # fmt: skip
    write(
        svg, right + 6, _height(rank.smallest_kept) + 4, f"smallest kept {rank.smallest_kept:.2g}", style="label strong"
    )
    text = f"largest dropped {low:.2g}" if low > 0 else "nothing above zero dropped"
    write(svg, right + 6, _height(low) - 4, text, style="label strong")
