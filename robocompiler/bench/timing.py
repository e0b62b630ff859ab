"""Rounds of samples: what is measured is sampled in turn, so that ratios compare like with like on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from robocompiler.bench.spread import Spread

FORWARD, INVERSE = "forward dynamics", "inverse dynamics"
SAMPLE_SECONDS = 2e-3  # a sample repeats its work for about this long


class Sample(NamedTuple):
    """Seconds per evaluation, after `overhead` (seconds of an empty-work call, 0 where nothing is subtracted)."""

    seconds: float
    overhead: float = 0.0


@dataclass(frozen=True)
class Timed:
    """Something to measure.

    Attributes:
        quantity: `FORWARD` or `INVERSE`.
        solver: what computes it, as the table names it.
        ours: whether it is code of this compiler.
        sample: takes one sample.
        error: delta_a or delta_tau, the largest over all states; None where nothing comparable comes out.
        note: settings, what was subtracted, or what the error is of.
    """

    quantity: str
    solver: str
    ours: bool
    sample: Callable[[], Sample]
    error: float | None
    note: str = ""


@dataclass(frozen=True)
class Skipped:
    """What was not measured, and why."""

    solver: str
    reason: str


@dataclass(frozen=True)
class Row:
    """A measurement: seconds per evaluation, what was subtracted, and the ratio to the baseline of its quantity."""

    quantity: str
    solver: str
    ours: bool
    seconds: Spread
    overhead: Spread
    ratio: Spread
    error: float | None
    note: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "quantity": self.quantity, "solver": self.solver, "ours": self.ours, "seconds": self.seconds.as_dict(),
            "subtracted": self.overhead.as_dict(), "ratio": self.ratio.as_dict(), "error": self.error,
            "note": self.note,
        }  # fmt: skip


def measure_rounds(
    timed: Sequence[Timed], rounds: int, progress: Callable[[int], None] | None = None
) -> tuple[Row, ...]:
    """Sample everything once a round; the baseline of a quantity is its first entry.

    One round goes before the counted ones, so that caches, clocks and repeat counts have settled.
    """
    baseline = {item.quantity: k for k, item in reversed(list(enumerate(timed)))}
    for item in timed:
        item.sample()
    samples: list[list[Sample]] = []
    for number in range(rounds):
        samples.append([item.sample() for item in timed])
        if progress is not None:
            progress(number)
    rows = []
    for k, item in enumerate(timed):
        base = baseline[item.quantity]
        rows.append(
            Row(
                item.quantity, item.solver, item.ours,
                Spread.of([one[k].seconds for one in samples]), Spread.of([one[k].overhead for one in samples]),
                Spread.of([one[k].seconds / one[base].seconds for one in samples]), item.error, item.note,
            )
        )  # fmt: skip
    return tuple(rows)


class PythonLoop:
    """Seconds per call of a Python function for a list of arguments, processor time of this thread (or wall clock)."""

    def __init__(
        self,
        call: Callable[..., object],
        arguments: Sequence[tuple[Any, ...]],
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._call, self._arguments, self._clock = call, arguments, clock
        self._repeats = 0

    def seconds(self) -> float:
        """One sample: the mean over as many passes through the list as take about `SAMPLE_SECONDS`."""
        if not self._repeats:
            self._repeats = max(1, round(SAMPLE_SECONDS / max(self._run(3) / 3, 1e-9)))
        return self._run(self._repeats) / (self._repeats * len(self._arguments))

    def _run(self, repeats: int) -> float:
        call, arguments = self._call, self._arguments
        begin = self._clock()
        for _ in range(repeats):
            for one in arguments:
                call(*one)
        return self._clock() - begin


@dataclass(frozen=True)
class NetLoop:
    """A call with the time of an empty-work call of the same binding subtracted, both sampled one after the other."""

    work: PythonLoop
    empty: PythonLoop

    def sample(self) -> Sample:
        """One sample of both."""
        overhead = self.empty.seconds()
        return Sample(self.work.seconds() - overhead, overhead)
