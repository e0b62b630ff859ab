"""Work that may go on beside other work: where, whoever calls a pass decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Protocol[T_co]):
    """Something that was begun."""

    def result(self) -> T_co:
        """Wait for it, and return what it gave or raise what it raised."""

    def stop(self) -> None:
        """End it if it has not ended; nobody wants the result."""


class Aside(Protocol):
    """Begins `run`, whose result must be picklable: it may run in a copy of this process."""

    def __call__(self, run: Callable[[], T], /) -> Task[T]:
        """The task that runs it."""


@dataclass(frozen=True)
class _Done(Generic[T]):
    value: T

    def result(self) -> T:
        return self.value

    def stop(self) -> None:
        pass


def at_once(run: Callable[[], T], /) -> Task[T]:
    """No task: `run` runs here and now."""
    return _Done(run())
