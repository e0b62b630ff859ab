"""The tables of `inspect`: every module with its speeds, every chord with its path, the singular values at the gap."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from robocompiler.cli.facts import ChartFacts
from robocompiler.cli.loops import ChordFacts, Inspection
from robocompiler.cli.tables import joint_groups


def module_members(chart: ChartFacts) -> Table:
    """Each module of a chart: what it solves for, and from what."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title_justify="left")
    table.add_column(f"{chart.name} chart", no_wrap=True, overflow="fold")
    table.add_column("")
    table.add_column("")
    for module in chart.modules:
        rows = (
            ("closes", str(len(module.closures)), ", ".join(module.closures)),
            ("dependents", str(len(module.dependents)), joint_groups(module.dependents)),
            ("independents", str(len(module.independents)), joint_groups(module.independents)),
        )
        table.add_row(Text(module.name, style="bold"), "", Text(f"smallest pivot {module.smallest_pivot:.1e}"))
        for title, number, names in rows:
            table.add_row(f"  {title}", Text(number, justify="right"), Text(names, overflow="fold"))
    return table


def chords_table(chords: Sequence[ChordFacts]) -> Table:
    """Each chord and the tree path that it closes, from body a over the ancestor (in bold) to body b."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("chords, each with the tree path from its body a to its body b", overflow="fold")
    for chord in chords:
        rows = "1 row" if chord.rows == 1 else f"{chord.rows} rows"
        what = f"  {chord.type}, {'cut' if chord.cut else 'kept'}, {rows}, {chord.module or 'no module'}"
        what += f", path of {chord.length}"
        table.add_row(Text.assemble((chord.joint, "bold"), what))
        table.add_row(Padding(path_text(chord), (0, 0, 0, 4)))
    return table


def path_text(chord: ChordFacts) -> Text:
    """`foot -(ankle)- shin -(knee)- thigh`: bodies with the joints between them, the ancestor in bold."""
    bodies = [chord.path[0].source if chord.path else chord.ancestor, *(step.target for step in chord.path)]
    text = Text(overflow="fold")
    for index, body in enumerate(bodies):
        text.append(body, style="bold" if body == chord.ancestor else "")
        if index < len(chord.path):
            text.append(f" -({chord.path[index].joint})- ", style="dim")
    return text


def gap_text(inspection: Inspection) -> Text:
    """The singular values on the two sides of the gap: `0.038 0.032 | 7.4e-17 5.1e-17`."""
    kept, dropped = inspection.around_gap
    more = "... " if inspection.facts.rank.rank > len(kept) else ""
    rest = len(inspection.singular_values) - inspection.facts.rank.rank - len(dropped)
    tail = " ".join(f"{value:.2e}" for value in dropped) or "none dropped"
    return Text.assemble(
        ("singular values at the gap  ", "bold"),
        more + " ".join(f"{value:.2e}" for value in kept),
        (" | ", "bold red"),
        tail + (" ..." if rest > 0 else ""),
    )
