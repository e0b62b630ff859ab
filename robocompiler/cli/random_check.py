"""`robocompile check --random N`: many random mechanisms, each compiled to C and compared with the oracles."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from robocompiler.backend.atomic import write_atomically
from robocompiler.backend.options import BuildOptions
from robocompiler.check.random_run import FAILED, PASSED, REFUSED, Outcome, check_random, random_yaml, reproduce
from robocompiler.cli.check import FORMAT
from robocompiler.cli.output import render, write_error
from robocompiler.compiler import compile_to_folder
from robocompiler.errors import CompileError
from robocompiler.records.model import Mechanism
from robocompiler.runtime.robot import Robot, load
from robocompiler.version import VERSION

Task = Callable[[int], Outcome]

# Unoptimised: what is tested is the printed C, and gcc's optimiser would take most of the time.
OPTIONS = BuildOptions(workers=1, extra_flags=("-O0",))
_FRESH = 100  # mechanisms a worker process checks before another takes its place: loaded libraries stay in memory
_EVERY = 25  # progress is told after as many mechanisms
_DIED = "the checking process died (a crash of the compiled code, or out of memory)"


def check_many(seeds: Sequence[int], task: Task, jobs: int, tell: Callable[[Outcome], None]) -> list[Outcome]:
    """Outcomes of `task` in the order of `seeds`, `jobs` at a time in processes of their own.

    `tell` sees them as they come.  `task` is importable, as `functools.partial(check_one, states=2)` is.
    """
    found: dict[int, Outcome] = {}
    for outcome in _outcomes(seeds, task, jobs):
        found[outcome.seed] = outcome
        tell(outcome)
    return [found[seed] for seed in seeds]


def _outcomes(seeds: Sequence[int], task: Task, jobs: int) -> Iterator[Outcome]:
    """Pool after pool, so that loaded libraries do not fill the memory.

    A crash takes all processes of a pool along; the seeds that were lost are then checked one by one.
    """
    lost: list[int] = []
    size = _FRESH * jobs  # a pool's own limit of tasks per process (max_tasks_per_child) hangs in Python 3.11
    for first in range(0, len(seeds), size):
        yield from _in_pool(seeds[first : first + size], task, jobs, lost)
    for seed in lost:
        again: list[int] = []
        yield from _in_pool([seed], task, 1, again)
        if again:
            yield Outcome(seed, FAILED, _DIED)


def _in_pool(seeds: Sequence[int], task: Task, jobs: int, lost: list[int]) -> Iterator[Outcome]:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for the processes: one mechanism a core, not one matrix
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(seeds)), mp_context=spawn)
    try:
        waiting: dict[Future[Outcome], int] = {}
        for seed in seeds:
            try:
                waiting[pool.submit(task, seed)] = seed
            except BrokenProcessPool:  # it may break while seeds are still handed out
                lost.append(seed)
        for future in as_completed(waiting):
            try:
                yield future.result()
            except BrokenProcessPool:
                lost.append(waiting[future])
    finally:
        pool.shutdown(cancel_futures=True)


def check_one(seed: int, states: int) -> Outcome:
    """One mechanism, compiled by the C compiler without optimisation."""
    return check_random(seed, compile_unoptimised, states)


def compile_unoptimised(mechanism: Mechanism, folder: Path) -> Robot:
    """The mechanism compiled into `folder` and loaded."""
    return load(compile_to_folder(mechanism, folder, options=OPTIONS)[1].folder)


class Tally:
    """Tells on standard error what was refused or failed at once, and how far the run is now and then."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.quiet = total, quiet
        self.counts: Counter[str] = Counter()

    def __call__(self, outcome: Outcome) -> None:
        """Take note of an outcome."""
        self.counts[outcome.verdict] += 1
        if self.quiet:
            return
        if outcome.verdict != PASSED:
            write_error(f"{outcome.verdict:<8} seed {outcome.seed}: {outcome.reason[:160]}\n")
        done = self.counts.total()
        if done % _EVERY == 0 or done == self.total:
            write_error(f"random   {done} of {self.total}: {self.words()}\n")

    def words(self) -> str:
        """'48 passed, 2 refused, 0 failed'."""
        return ", ".join(f"{self.counts[verdict]} {verdict}" for verdict in (PASSED, REFUSED, FAILED))


def save_failed(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write every mechanism that failed as FOLDER/random_<seed>.yaml; CompileError where that is impossible."""
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CompileError(f"cannot create {folder}: {error.strerror}") from None
    for outcome in outcomes:
        if outcome.verdict == FAILED:
            path = folder / f"random_{outcome.seed}.yaml"
            write_atomically(path, random_yaml(outcome.seed).encode("utf-8"))
            paths.append(path)
    return paths


def random_data(outcomes: Sequence[Outcome], states: int, saved: Sequence[Path]) -> dict[str, Any]:
    """The run as plain data."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    return {
        "format": FORMAT,
        "robocompiler": VERSION,
        "states": states,
        "counts": {verdict: counts[verdict] for verdict in (PASSED, REFUSED, FAILED)},
        "passed": not counts[FAILED],
        "mechanisms": [json.loads(json.dumps(asdict(outcome))) for outcome in outcomes],
        "saved": [str(path) for path in saved],
    }


def random_text(outcomes: Sequence[Outcome], saved: Sequence[Path]) -> str:
    """The closing table: the counts, then each refusal with its evidence and each failure with how to see it again."""
    tally = Tally(len(outcomes), quiet=True)
    for outcome in outcomes:
        tally(outcome)
    sizes = [outcome.bodies for outcome in outcomes]
    freedoms = [outcome.freedoms for outcome in outcomes if outcome.freedoms >= 0]
    parts: list[Any] = [
        Text(f"{len(outcomes)} random mechanisms, seeds {outcomes[0].seed} to {outcomes[-1].seed}: {tally.words()}"),
        Text(f"bodies {min(sizes)} to {max(sizes)}, freedoms {min(freedoms, default=0)} to {max(freedoms, default=0)}"),
        "",
    ]
    for verdict, title, last in (
        (REFUSED, "Refused, and the oracle confirms it", lambda o: o.evidence),
        (FAILED, "Failed", lambda o: reproduce(o.seed)),
    ):
        rows = [outcome for outcome in outcomes if outcome.verdict == verdict]
        if rows:
            parts += [_table(title, [(str(row.seed), row.reason, last(row)) for row in rows]), ""]
    parts += [Text(f"saved    {path}", overflow="fold") for path in saved]
    failed = tally.counts[FAILED]
    verdict = f"FAILED: {failed} of {len(outcomes)}" if failed else "passed: no mechanism failed"
    return render(*parts, Text(verdict, style="bold red" if failed else "bold green"))


def _table(title: str, rows: Sequence[tuple[str, str, str]]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("seed", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    table.add_column("evidence" if title != "Failed" else "again", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
