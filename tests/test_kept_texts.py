"""Kept texts of kernels: what is filled into one equals what is printed, and whatever a text depends on names it."""

from __future__ import annotations

import dataclasses
import functools
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.edited_model import write_edited
from robocompiler.backend import kept_texts, side_task
from robocompiler.backend.c_operations import PLAIN_NUMBERS, CReal, Place
from robocompiler.backend.emit import emit
from robocompiler.backend.kept_texts import KeptTexts, Print, Request
from robocompiler.backend.places import fill, with_places
from robocompiler.backend.printer import print_kernel
from robocompiler.backend.routine import Routine
from robocompiler.backend.straight_line import Constant, Load, Operation, Store, StraightLine, Value
from robocompiler.compiler import run_front_end
from robocompiler.symbolic.kernel import Argument
from robocompiler.symbolic.program import RobotProgram, build_kinematics, with_mechanics

MODELS = Path(__file__).resolve().parent.parent / "models"
Item = tuple[Print, Routine, Request]


@dataclasses.dataclass(frozen=True)
class Recording(KeptTexts):
    """Tells what is printed."""

    items: list[Item] = dataclasses.field(default_factory=list)

    def printed(self, run: Print, items: Sequence[tuple[Routine, Request]]) -> list[tuple[str, ...]]:
        self.items.extend((run, *item) for item in items)
        return super().printed(run, items)


@functools.cache
def program(name: str) -> RobotProgram:
    return run_front_end(MODELS / f"{name}.yaml").program


@functools.cache
def printed_items(name: str) -> tuple[Item, ...]:
    seen = Recording()
    emit(program(name), texts=seen)
    return tuple(seen.items)


def with_numbers(routine: Routine, number: Callable[[float], float]) -> Routine:
    """The routine with other numbers; equal ones become one constant, at the first one's place, as CasADi's do."""
    values: list[Value] = []
    at: dict[int, int] = {}
    known: dict[str, int] = {}
    for index, value in enumerate(routine.program.values):
        new: Value = value
        if isinstance(value, Operation):
            new = Operation(value.code, tuple(at[operand] for operand in value.operands))
        elif isinstance(value, Constant):
            plain = abs(value.value) in PLAIN_NUMBERS
            new = Constant(value.value if plain else number(value.value))
            if new.value.hex() in known:
                at[index] = known[new.value.hex()]
                continue
            known[new.value.hex()] = len(values)
        at[index] = len(values)
        values.append(new)
    stores = tuple(Store(s.argument, s.position, at[s.value]) for s in routine.program.stores)
    return dataclasses.replace(routine, program=StraightLine(tuple(values), stores))


def through_places(item: Item) -> tuple[str, ...]:
    run, routine, request = item
    placed = with_places(routine)
    literals = [CReal(request.real).literal(number).text for number in placed.numbers]
    return tuple(fill(text, literals) for text in run(placed.routine, request))


@pytest.mark.parametrize("name", ["excavator", "rssr"])
def test_a_text_with_places_is_the_text_with_its_numbers_there(name: str) -> None:
    items = printed_items(name)
    assert len(items) > 20
    for run, routine, request in items:
        assert through_places((run, routine, request)) == run(routine, request), routine.name


@pytest.mark.parametrize("name", ["excavator", "rssr"])
def test_neither_digits_nor_equal_numbers_change_the_text_around_them(name: str) -> None:
    draw = random.Random(3)
    drawn: dict[float, float] = {}

    def apart(_: float) -> float:  # all different, of all lengths
        digits = f"{draw.uniform(3.0, 9.0):.{draw.randint(4, 15)}f}"
        return float(f"{draw.choice('+-')}{digits}e{draw.randint(-9, 9)}")

    def few(number: float) -> float:  # many equal, the same one for the same number
        return drawn.setdefault(number, draw.choice((0.3, -7.25, 1.5e-7, 12345.678901234567)))

    same = 0
    items = [item for item in printed_items(name) if item[1].operations < 600]
    for run, routine, request in items:
        for change in (apart, few):
            edited = with_numbers(routine, change)
            text = run(edited, request)
            assert through_places((run, edited, request)) == text, routine.name
            if with_places(edited).code == with_places(routine).code:
                same += 1
                placed = with_places(edited)
                literals = [CReal(request.real).literal(number).text for number in placed.numbers]
                kept = run(with_places(routine).routine, request)  # of the other numbers
                assert tuple(fill(one, literals) for one in kept) == text, routine.name
    assert same > 1.4 * len(items) > 25  # of two edits of each kernel


def small_routine() -> Routine:
    """out = (0.1 x0 + 0.25, 0.1 x1)"""
    values = (Load(0, 0), Load(0, 1), Constant(0.1), Constant(0.25), Operation(3, (0, 2)), Operation(1, (4, 3)))
    values += (Operation(3, (1, 2)),)
    stores = (Store(0, 0, 5), Store(0, 1, 6))
    return Routine("small", "A sum", (Argument("x", 2),), (Argument("out", 2),), StraightLine(values, stores))


RUNS: list[str] = []


def printing(routine: Routine, request: Request) -> tuple[str, ...]:
    RUNS.append(routine.name)
    text = print_kernel(routine, function_name=request.function_name, real=request.real, static=request.static)
    return text, f"/* {request} */"


def other_printing(routine: Routine, request: Request) -> tuple[str, ...]:
    return printing(routine, request)


def runs(texts: KeptTexts, routine: Routine, request: Request, run: Print = printing) -> int:
    """How often something is printed for this request; the answer is that of nothing kept."""
    expected = KeptTexts().printed(run, [(routine, request)])
    before = len(RUNS)
    assert texts.printed(run, [(routine, request)]) == expected
    return len(RUNS) - before


def test_everything_that_a_text_depends_on_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, routine, request = KeptTexts(tmp_path / "texts"), small_routine(), Request("f", "double")
    assert (runs(texts, routine, request), runs(texts, routine, request)) == (1, 0)
    assert runs(texts, with_numbers(routine, lambda number: number + 3.0), request) == 0
    assert runs(texts, with_numbers(routine, lambda number: 0.7), request) == 0
    for more in (
        {"function_name": "g"}, {"real": "float"}, {"static": True}, {"sizes": {"x": "NX"}}, {"prefix": "r"},
        {"macro": "R"},
    ):  # fmt: skip
        assert runs(texts, routine, dataclasses.replace(request, **more)) == 1, more
    for more in (
        {"name": "other"}, {"summary": "B"}, {"inputs": (Argument("y", 2),)}, {"inputs": (Argument("x", 3),)},
        {"inputs": (Argument("x", 2, "m"),)}, {"outputs": (Argument("o", 2),)},
    ):  # fmt: skip
        assert runs(texts, dataclasses.replace(routine, **more), request) == 1, more
    values, stores = routine.program.values, routine.program.stores
    for program in (
        StraightLine((*values[:6], Operation(3, (0, 2))), stores),  # another operand
        StraightLine((*values[:6], Operation(2, (1, 2))), stores),  # another operation
        StraightLine((*values[:2], Constant(0.5), *values[3:]), stores),  # a number of equations
        StraightLine((*values[:2], Constant(-0.5), *values[3:]), stores),
        StraightLine((*values[:2], Constant(float("inf")), *values[3:]), stores),
        StraightLine(values, (stores[0], Store(0, 1, 4))),
    ):
        assert runs(texts, dataclasses.replace(routine, program=program), request) == 1, program
    assert runs(texts, routine, request, other_printing) == 1
    assert runs(texts, routine, request) == 0
    with monkeypatch.context() as patched:
        patched.setattr(kept_texts, "own_digest", lambda: "another source")
        assert runs(texts, routine, request) == 1
    with monkeypatch.context() as patched:
        patched.setattr(kept_texts.casadi, "__version__", "another")
        assert runs(texts, routine, request) == 1


@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda _: b"", lambda b: b[:80] + b"?" + b[81:]])
def test_a_damaged_text_is_printed_again_and_replaced(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    texts, routine, request = KeptTexts(tmp_path), small_routine(), Request("f", "double")
    assert runs(texts, routine, request) == 1
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    assert damage(good) != good
    path.write_bytes(damage(good))
    assert runs(texts, routine, request) == 1
    assert path.read_bytes() == good
    assert runs(texts, routine, request) == 0


def test_texts_unused_for_longest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, routine = KeptTexts(tmp_path), small_routine()
    for number, name in enumerate("abc"):
        texts.printed(printing, [(routine, Request(name, "double"))])
        (path,) = [p for p in tmp_path.iterdir() if p.stat().st_mtime > 1e6]
        os.utime(path, (number, number))
    assert runs(texts, routine, Request("a", "double")) == 0  # used: the youngest again
    sizes = sum(path.stat().st_size for path in tmp_path.iterdir())
    monkeypatch.setattr(kept_texts, "KEEP_BYTES", sizes - 1)
    texts.prune()
    assert [runs(texts, routine, Request(name, "double")) for name in "acb"] == [0, 0, 1]


def test_after_an_edit_of_numbers_nothing_is_printed_and_all_files_are_those_of_a_fresh_one(tmp_path: Path) -> None:
    texts, after = KeptTexts(tmp_path / "texts"), run_front_end(write_edited("excavator", tmp_path)).program
    emit(program("excavator"), texts=texts)
    names = {path.name for path in texts.folder.iterdir()}  # type: ignore[union-attr]
    assert len(names) == len(printed_items("excavator"))
    fresh = emit(after)
    kept = emit(after, texts=texts)
    assert kept.files == fresh.files and kept.digest == fresh.digest
    assert kept.digest != emit(program("excavator"), texts=texts).digest
    assert {path.name for path in texts.folder.iterdir()} == names  # type: ignore[union-attr]


def test_a_place_is_no_number_and_told_from_others() -> None:
    assert Place(3) != Place(3) and Place(3).hex() == "@3" != Place(4).hex()
    assert CReal("double").literal(Place(12)).text == "@12@"
    assert fill("a @1@ b @0@", ["0.1", "(-0.2)"]) == "a (-0.2) b 0.1"


def test_kernels_made_aside_are_those_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_task, "cores", lambda: 2)
    front = run_front_end(MODELS / "stewart.yaml")
    here = with_mechanics(build_kinematics(front.closures, front.reduction)).mechanics
    there = front.program.mechanics
    assert here is not None and there is not None
    assert [Routine.of(k) for k in here.kernels] == [Routine.of(k) for k in there.kernels]
    assert len(front.topology.edges) >= 12  # else nothing was made aside
