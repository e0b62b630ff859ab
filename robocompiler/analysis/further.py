"""Further charts on request: where the mechanism goes, which charts that needs, and their modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robocompiler.analysis.cover import GOOD, Pose, covering, motions, quality_of, samples_at
from robocompiler.analysis.evaluator import ClosureEvaluator
from robocompiler.analysis.modules import Samples, make_chart
from robocompiler.analysis.reach import rank_at, reachable
from robocompiler.symbolic.reduction import Chart, Reach, ReachPath

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """The charts there are, and how the independents of a chart are ordered (a key for column numbers)."""

    charts: tuple[Chart, ...]
    samples: Samples
    order: Callable[[int], tuple[int, int, int]]


def further_charts(
    evaluator: ClosureEvaluator, reference: Array, standing: Standing, rank: int, most: int
) -> tuple[tuple[Chart, ...], Reach]:
    """At most `most` charts besides the standing ones, so that one is good at every pose met, and what was met.

    Their modules hold no branch: a chart of the cover is entered wherever the motion needs it, on either side of its
    own singular poses, so that the sign of det R_p at the reference says nothing there.
    """
    samples = standing.samples
    paths = reachable(evaluator, reference, standing.charts[0].independent)
    met = [(q, evaluator.jacobian(q)) for q in (reference, *(q for path in paths for q in path.poses))]
    regular = [(q, J) for q, J in met if rank_at(J) == rank]
    place = {index: column for column, index in enumerate(samples.active)}
    own = [(chart.name, [place[index] for index in chart.independent]) for chart in standing.charts]
    freedoms, inner = len(samples.active) - rank, own[1][1]
    poses = []
    for _, J in regular:
        barred = _barred(standing.charts, J, place)
        # the port chart's mechanics are computed in the inner chart
        unsure = quality_of(motions(J, freedoms), inner) < GOOD
        poses.append(Pose(J, barred | {standing.charts[0].name} if unsure else barred))
    cover = covering(poses, own, freedoms, most)
    charts = []
    for number, choice in enumerate(cover.choices, start=1):
        taken, picked = samples_at(samples, [regular[k][1] for k in choice.poses])
        columns = set(choice.independent)
        dependents = [column for column in range(len(samples.active)) if column not in columns]
        independent = [samples.active[column] for column in sorted(columns, key=standing.order)]
        chart = make_chart(f"chart_{number}", independent, dependents, taken, f"chart_{number}_")
        probes = tuple(tuple(map(float, regular[choice.poses[k]][0])) for k in picked)
        charts.append(replace(chart, modules=tuple(replace(m, sign=0) for m in chart.modules), probes=probes))
    report = tuple(ReachPath(path.moved, len(path.poses), path.end) for path in paths)
    return tuple(charts), Reach(report, cover.poses, cover.uncovered)


def _barred(charts: Sequence[Chart], J: Array, place: dict[int, int]) -> frozenset[str]:
    """Charts of which a module is not on its branch at this Jacobian."""

    def off(chart: Chart) -> bool:
        blocks = [
            (module.sign, J[np.ix_(module.rows, [place[index] for index in module.dependents])])
            for module in chart.modules
            if module.sign and module.dependents
        ]
        return any(np.linalg.slogdet(block)[0] != sign for sign, block in blocks)

    return frozenset(chart.name for chart in charts if off(chart))
