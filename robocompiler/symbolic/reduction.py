"""The numeric decisions of the compiler as plain data: rank, charts, modules and the assembled reference.

At a feasible q with locally constant rank r, S C Pi^T = [R_a R_p] with R_p (r, r) regular, and v = E u with u = v_a,
E = Pi^T [I; -R_p^-1 R_a].  A chart is one choice of the independent speeds u; its modules are the diagonal blocks of
R_p.
"""

from __future__ import annotations

from dataclasses import dataclass

from robocompiler.numerics.gap import RankDecision
from robocompiler.numerics.pivots import PivotOrder


@dataclass(frozen=True)
class Module:
    """A set of closures that share dependents, solved together.

    closures: indices into the program; rows: selected condensed rows (global indices), as many as dependents;
    dependents, independents: velocity indices (the independents that its selected rows touch); sign: of det R_p at the
    reference, which marks the assembly branch (0: it does not, see analysis.modules); smallest_pivot: least singular
    value of R_p, scaled, over the probes; pivots: the static pivot order of R_p (positions in rows and dependents).
    """

    name: str
    closures: tuple[int, ...]
    rows: tuple[int, ...]
    dependents: tuple[int, ...]
    independents: tuple[int, ...]
    sign: int
    smallest_pivot: float
    pivots: PivotOrder


@dataclass(frozen=True)
class Chart:
    """One choice of independent speeds: velocity indices in the order of u, and the modules.

    probes: the configurations at which its pivots were judged; empty: those of the reduction.
    """

    name: str
    independent: tuple[int, ...]
    modules: tuple[Module, ...]
    probes: tuple[tuple[float, ...], ...] = ()

    @property
    def largest_module(self) -> int:
        """Most dependents in one module."""
        return max((len(module.dependents) for module in self.modules), default=0)

    @property
    def dependent(self) -> tuple[int, ...]:
        """All dependent velocities, module by module."""
        return tuple(index for module in self.modules for index in module.dependents)


@dataclass(frozen=True)
class ReachPath:
    """One input moved as far as it goes: its velocity, the poses met, and why there are no more (analysis.reach)."""

    moved: str
    poses: int
    end: str


@dataclass(frozen=True)
class Reach:
    """Where the further charts were chosen: the paths, their regular poses, and those at which no chart is good."""

    paths: tuple[ReachPath, ...]
    poses: int
    uncovered: int


@dataclass(frozen=True)
class Reduction:
    """All decisions for one mechanism.

    reference: assembled q; probes: the assembled configurations at which ranks and pivots were judged; length: the
    length scale in metres; row_scales, column_scales: sizes of one unit of the condensed rows and of the velocities;
    floor: largest scaled residual left in the redundant rows at the probes, below which closures of these records
    cannot be brought; charts: the port chart, the inner chart, then further ones that were asked for; reach: what these
    cover, None where nobody asked.
    """

    reference: tuple[float, ...]
    probes: tuple[tuple[float, ...], ...]
    length: float
    row_scales: tuple[float, ...]
    column_scales: tuple[float, ...]
    rank: RankDecision
    floor: float
    charts: tuple[Chart, ...]
    reach: Reach | None = None

    def chart(self, name: str) -> Chart:
        """The chart called `name`."""
        return next(chart for chart in self.charts if chart.name == name)
