"""The closing table of a compile, and the summary of a mechanism, for a terminal of any width."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from robocompiler.cli.facts import BuildFacts, ChartFacts, DriveFacts, Facts, RankFacts
from robocompiler.cli.output import printable
from robocompiler.cli.shipped import ModelFile

_SHOWN_FILES = 6  # changed files that are named before their number says the rest
_SHOWN_UNITS = 4


def counted(number: int, word: str, plural: str = "") -> str:
    """'1 chord', '24 chords'."""
    return f"{number} {word if number == 1 else plural or word + 's'}"


def by_type(counts: Mapping[str, int]) -> str:
    """'16 spherical, 8 universal'."""
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


def joint_groups(velocities: Iterable[str]) -> str:
    """Velocity names with those of one joint taken together: 'base (6), hip, knee'."""
    groups = [(joint, len(list(members))) for joint, members in groupby(velocities, lambda v: v.partition(":")[0])]
    return ", ".join(joint if size == 1 else f"{joint} ({size})" for joint, size in groups)


def sizes(chart: ChartFacts) -> str:
    """'22 + 22 + 8 + 8 + 2 + 2', largest first, repeats as a product when there are many."""
    ordered = sorted(chart.sizes, reverse=True)
    return " + ".join(
        f"{count} × {size}" if (count := len(list(same))) > 1 else f"{size}" for size, same in groupby(ordered)
    )


def summary(facts: Facts) -> RenderableType:
    """Mechanism, graph, closure, rank, freedoms and charts, one fact per line."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    for title, text in _summary_rows(facts):
        rows.add_row(title, text)
    return _titled(facts, rows)


def _titled(facts: Facts, rows: Table) -> RenderableType:
    frame = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=False, padding=(0, 0))
    title = Text.assemble((facts.robot, "bold cyan"))
    if facts.model.summary:
        title.append(f"  {printable(facts.model.summary)}", style="dim not bold")
    frame.add_column(title, overflow="fold")
    frame.add_row(rows)
    return frame


def _summary_rows(facts: Facts) -> list[tuple[str, Text]]:
    size = facts.complexity
    rows = [
        ("bodies", _strong(f"{size.bodies}", f" in {_components(facts)}")),
        ("joints", _total(facts.joint_types)),
        ("tree", _strong(counted(size.joints - size.chords, "joint"), f", depth {size.depth}")),
        ("chords", _chords(facts)),
        ("closure", _strong(counted(size.condensed_rows, "row"), f" condensed ({size.full_rows} in full)")),
        ("rank", rank_text(facts.rank)),
        ("freedoms", _named(facts.rank.freedoms, joint_groups(facts.chart("port").independent))),
    ]
    rows += [(f"{chart.name} chart", _chart_text(chart)) for chart in facts.charts]
    for title, names in (("couplings", facts.couplings), ("ports", facts.ports), ("parameters", facts.parameters)):
        if names:
            rows.append((title, _named(len(names), ", ".join(names))))
    if facts.drives:
        rows.append(("drives", _named(len(facts.drives), "; ".join(map(_drive, facts.drives)))))
    if facts.build is None:  # else the table of the build tells them unit by unit
        kernels, total = len(facts.kernel_operations), sum(facts.kernel_operations.values())
        rows.append(("operations", _strong(f"{total:,}", f" in {counted(kernels, 'kernel')}")))
    rows += [("warning", Text(printable(warning), style="yellow")) for warning in facts.warnings]
    return rows


def _drive(drive: DriveFacts) -> str:
    """'servo on knee (states lag; commands target)'."""
    groups = (("states", drive.states), ("commands", drive.commands))
    inner = "; ".join(f"{title} {', '.join(names)}" for title, names in groups if names)
    return f"{drive.name} on {drive.port}" + (f" ({inner})" if inner else "")


def _components(facts: Facts) -> str:
    total, floating = facts.complexity.components, facts.complexity.floating_components
    if total == 1:
        return "1 floating component" if floating else "1 component"
    return f"{total} components" + (f", {floating} of them floating" if floating else "")


def _total(counts: Mapping[str, int]) -> Text:
    """'4 revolute', or '101: 64 revolute, 37 spherical' when there are several types."""
    total = str(sum(counts.values()))
    return _strong(total, f": {by_type(counts)}" if len(counts) > 1 else f" {next(iter(counts), '')}")


def _chords(facts: Facts) -> Text:
    size = facts.complexity
    text = _total(facts.chord_types)
    if not size.chords:
        return text
    if size.kept_chords:
        text.append(f"; {size.chords - size.kept_chords} cut, {size.kept_chords} kept")
    if size.path_min == size.path_max:
        return text.append(f"; paths of {counted(size.path_max, 'moving joint')}")
    return text.append(f"; paths of {size.path_min} to {size.path_max} moving joints, {size.path_mean:.1f} on average")


def rank_text(rank: RankFacts) -> Text:
    """The rank with the gap that decided it."""
    text = _strong(f"{rank.rank}", f" of {counted(rank.rows, 'row')} and {counted(rank.columns, 'column')}")
    if rank.gap is not None:
        text.append("; ").append(f"gap {rank.gap:.1e}", style="bold")
        text.append(f" (smallest kept {rank.smallest_kept:.1e}, largest dropped {rank.largest_dropped:.1e})")
    elif rank.rank:
        text.append(f"; nothing dropped, smallest kept {rank.smallest_kept:.1e}")
    lower = sum(found < rank.rank for found in rank.probe_ranks)
    return text.append(f"; lower at {lower} of {len(rank.probe_ranks)} probed poses" if lower else "")


def _chart_text(chart: ChartFacts) -> Text:
    if not chart.modules:
        return Text("no loop module")
    unit = "dependent" if sum(chart.sizes) == 1 else "dependents"
    text = _strong(counted(len(chart.modules), "loop module"), f" of {sizes(chart)} {unit}")
    pivot = "" if chart.smallest_pivot is None else f", smallest pivot {chart.smallest_pivot:.1e}"
    return text.append(f"; largest {chart.largest_module}{pivot}")


def modules_table(facts: Facts) -> Table:
    """The loop modules of the port chart: sizes, conditioning and cost."""
    table = _table("module", *["closures", "dependents", "independents", "smallest pivot", "operations"])
    for module in facts.chart("port").modules:
        table.add_row(
            module.name,
            str(len(module.closures)),
            str(len(module.dependents)),
            str(len(module.independents)),
            f"{module.smallest_pivot:.1e}",
            f"{facts.unit_operations[module.name]:,}",
        )
    return table


def supports_table(facts: Facts) -> Table:
    """The support modes that were compiled: contacts, rank, freedoms and independents."""
    table = _table("support mode", "rank", "freedoms", left=("contacts", "independents"))
    for support in facts.supports:
        table.add_row(
            support.name,
            str(support.rank.rank),
            str(support.rank.freedoms),
            ", ".join(f"{kind} {frame}" for frame, kind in support.contacts.items()),
            joint_groups(support.independent),
        )
    return table


def build_table(facts: Facts, build: BuildFacts) -> RenderableType:
    """Units with the reason why each was compiled, files, operations and seconds."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    for title, text in (
        ("operations", _unit_operations(facts)),
        ("units", _units(build)),
        ("files", _files(build)),
        ("seconds", _seconds(facts.seconds)),
    ):
        rows.add_row(title, text)
    return rows


def _unit_operations(facts: Facts) -> Text:
    """The modules of each chart, then the kernels that belong to no module."""
    operations = facts.unit_operations
    charts = [
        f"{chart.name} chart's modules {sum(operations[module.name] for module in chart.modules):,}"
        for chart in facts.charts
        if chart.modules
    ]
    parts = [*charts, f"whole robot {operations['robot']:,}"]
    return _strong(f"{sum(operations.values()):,}", f": {', '.join(parts)}")


def _units(build: BuildFacts) -> Text:
    if not build.compiler:
        return Text("none compiled: only text was asked for")
    compiled = [unit for unit in build.units if unit.compiled]
    text = _strong(f"{len(compiled)} of {len(build.units)}", " compiled")
    reasons: dict[str, list[str]] = {}
    for unit in compiled:
        reasons.setdefault(unit.reason, []).append(unit.name)
    for reason, names in reasons.items():
        named = ", ".join(names) if len(names) <= _SHOWN_UNITS else counted(len(names), "unit")
        text.append(f"\n{named}: {printable(reason)}")
    return text


def _files(build: BuildFacts) -> Text:
    text = _strong(f"{len(build.files)}", f" in {printable(build.folder)}, {len(build.changed)} changed")
    changed = build.changed
    if 0 < len(changed) < len(build.files):
        more = len(changed) - _SHOWN_FILES
        named = ", ".join(changed[:_SHOWN_FILES]) + (f" and {more} more" if more > 0 else "")
        text.append(f": {named}")
    return text


def _seconds(seconds: Mapping[str, float]) -> Text:
    steps = ", ".join(f"{step} {value:.2f}" for step, value in seconds.items())
    return _strong(f"{sum(seconds.values()):.2f}", f": {steps}")


def _named(number: int, names: str) -> Text:
    """'2: left, right'."""
    return _strong(f"{number}", f": {names}" if names else "")


def _strong(head: str, tail: str) -> Text:
    return Text.assemble((head, "bold"), tail)


def _table(first: str, *numbers: str, left: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", overflow="fold")
    for title in left:
        table.add_column(title, overflow="fold")
    return table


def models_table(models: Sequence[ModelFile]) -> Table:
    """The models that ship, each with its first comment line and its path."""
    table = _table("model", left=("what it is, and where",))
    for model in models:
        where = Text(f"{model.summary}\n" if model.summary else "").append(printable(str(model.path)), style="dim")
        table.add_row(Text(model.name, style="bold"), where)
    return table
