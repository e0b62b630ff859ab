"""Functions run in forked copies: results and errors come back, a copy that was ended is told, none is left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from robocompiler.backend import side_task
from robocompiler.backend.side_task import SideTask, in_two_processes
from robocompiler.errors import CompileError

forking = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked here")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are forked whatever the machine has."""
    monkeypatch.setattr(side_task, "cores", lambda: 2)


def test_results_and_errors_come_back_whoever_asks() -> None:
    task = SideTask(lambda: {"big": "x" * 2_000_000, "process": os.getpid()})
    seen: list[object] = []
    asking = [threading.Thread(target=lambda: seen.append(task.result())) for _ in range(3)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(seen) == 3 and all(value is task.result() for value in seen)
    assert len(task.result()["big"]) == 2_000_000  # type: ignore[arg-type]

    def refuse() -> int:
        raise CompileError("constant too large", ("cc",), "some.log")

    try:
        failing = SideTask(refuse)
        failing.result()
    except CompileError as error:
        assert (str(error), error.command, error.log) == ("constant too large", ("cc",), "some.log")
    else:
        pytest.fail("no error came back")


@forking
def test_the_copy_is_another_process_and_leaves_nothing() -> None:
    task = SideTask(os.getpid)
    child = task.result()
    assert child != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(child, 0)
    task.stop()
    assert task.result() == child


@forking
def test_a_stopped_or_killed_copy_is_told() -> None:
    begin = time.monotonic()
    slow = SideTask(lambda: time.sleep(60))
    slow.stop()
    with pytest.raises(CompileError, match="was ended"):
        slow.result()
    killed = SideTask(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(CompileError, match="status -9"):
        killed.result()
    assert time.monotonic() - begin < 30


@forking
def test_what_cannot_be_sent_back_is_an_error_and_no_hang() -> None:
    with pytest.raises(Exception, match="pickle"):
        SideTask(lambda: lambda: 1).result()


def test_with_one_core_everything_happens_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_task, "cores", lambda: 1)
    assert SideTask(os.getpid).result() == os.getpid()


@pytest.mark.parametrize("costs", [[1, 2, 3, 4], [9000, 10, 4000, 5000], [0, 0, 0, 90_000]])
def test_two_processes_give_what_one_gives_in_the_same_order(costs: list[int]) -> None:
    found = in_two_processes(lambda item: (item, os.getpid()), "abcd", costs)
    assert [item for item, _ in found] == list("abcd")
    if sum(costs) < side_task.WORTH:
        assert {process for _, process in found} == {os.getpid()}
    if costs[2] == 4000 and sys.platform == "linux" and side_task.cores() > 1:
        assert len({process for _, process in found}) == 2
