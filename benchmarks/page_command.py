"""The command of a page that is measured robot by robot: its options, its progress, and the page written at the end."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.robots import CLOSED_CHAINS, ROBOTS, ROOT
from benchmarks.spread import table
from robocompiler.backend.atomic import write_atomically


@dataclass(frozen=True)
class Asked:
    """What a command is asked for: robots by name, samples of everything, random states, and the page's file."""

    robots: tuple[str, ...]
    rounds: int
    states: int
    output: Path


def asked(
    purpose: str, page: str, arguments: Sequence[str] | None, *, states: int, robots: Sequence[str] = CLOSED_CHAINS
) -> Asked:
    """The options of a command; page: the name of its file in docs/; states, robots: the defaults."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--robots", default=",".join(robots), help="comma-separated names")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--states", type=int, default=states)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / page)
    options = parser.parse_args(arguments)
    names = tuple(options.robots.split(","))
    unknown = sorted(set(names) - set(ROBOTS))
    if unknown:
        parser.error(f"no such robot: {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    for option in ("rounds", "states"):
        if getattr(options, option) < 1:
            parser.error(f"--{option} must be at least 1")
    return Asked(names, options.rounds, options.states, options.output)


def write_page(wanted: Asked, head: str, facts: Mapping[str, str], section: Callable[[str], str]) -> None:
    """Measure every robot's section, telling progress on standard error, and write head, machine and sections."""
    machine = table(["machine", ""], list(map(list, facts.items()))).replace("---:", "---")
    sections = []
    for name in wanted.robots:
        begin = time.monotonic()
        sections.append(section(name))
        print(f"{sections[-1]}\n{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    text = head + machine + "".join(f"\n{part}" for part in sections)
    wanted.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(wanted.output, text.encode())
