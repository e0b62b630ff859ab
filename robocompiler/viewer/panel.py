"""The status panel as HTML: closure, rank, limits, the last move, and the modules with their colours and pivots."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from robocompiler.viewer.scene import ModuleMark
from robocompiler.viewer.status import LimitReached, ModulePivot, Status

GOOD, BAD, WARN, MUTED = "#1a7f4b", "#b42318", "#b45309", "#52606d"
NAMES, FEW, MANY = 6, 3, 3  # names told before the rest is counted; fewer of them with more modules than MANY
TOLD = 20  # notes on visuals
_CELL = "padding:1px 10px 1px 0;vertical-align:top"


def panel_html(status: Status, modules: Sequence[ModuleMark], corrected: Sequence[str], message: str) -> str:
    """The panel of one configuration.

    Args:
        corrected: modules that the last move had to correct.
        message: why the last move was refused, or what a drive came to; empty for none.
    """
    closed = status.residual <= status.tolerance
    lines = [
        _row("closure", _tinted(f"{status.residual:.1e}", GOOD if closed else BAD)
             + _small(f" of {status.tolerance:.0e} allowed")),
        _row("rank", f"{status.rank}" + _small(f" leaves {status.freedoms} freedoms")),
        _row("rank gap", gap_text(status)),
        _row("limits", _limits(status.limits)),
        _row("corrected", escape(", ".join(corrected)) or _small("no module")),
    ]  # fmt: skip
    head = f'<table style="border-collapse:collapse;font-size:12px">{"".join(lines)}</table>'
    return f'<div style="padding:0 0.9em 0.4em">{_message(message)}{head}{_modules(status.pivots, modules)}</div>'


def notes_html(notes: Sequence[str]) -> str:
    """What is not drawn of a file's visuals, the first few of many."""
    told = [escape(note) for note in notes[:TOLD]]
    more = [f"and {len(notes) - TOLD} more"] if len(notes) > TOLD else []
    lines = "".join(f'<div style="padding-bottom:3px">{line}</div>' for line in (*told, *more))
    return f'<div style="padding:0 0.9em 0.4em;font-size:12px;color:{WARN};overflow-wrap:anywhere">{lines}</div>'


def gap_text(status: Status) -> str:
    """The singular values on both sides of the rank decision, here."""
    if status.rank == 0:
        return _small("nothing closes a loop")
    if status.dropped is None:
        return f"{status.kept:.1e}" + _small(" / no redundant rows")
    dropped = "0, exactly" if status.dropped == 0 else f"{status.dropped:.1e}"
    return f"{status.kept:.1e} / {dropped}"


def _message(text: str) -> str:
    if not text:
        return ""
    lines = "<br>".join(escape(line) for line in text.splitlines())
    style = f"border-left:3px solid {WARN};background:#fff7ed;color:#1f2933;padding:4px 8px;margin:2px 0 6px"
    return f'<div class="message" style="{style};font-size:12px">{lines}</div>'


def _row(name: str, content: str) -> str:
    return f'<tr><td style="{_CELL};color:{MUTED}">{name}</td><td style="{_CELL}">{content}</td></tr>'


def _tinted(text: str, colour: str) -> str:
    return f'<b style="color:{colour}">{text}</b>'


def _small(text: str) -> str:
    return f'<span style="color:{MUTED}">{text}</span>'


def _limits(limits: Sequence[LimitReached]) -> str:
    if not limits:
        return _small("none reached")
    told = [
        _tinted(escape(limit.name), BAD if limit.beyond else WARN)
        + _small(f" {'beyond' if limit.beyond else 'at'} {limit.bound:.4g}")
        for limit in limits[:NAMES]
    ]
    more = [_small(f"and {len(limits) - NAMES} more")] if len(limits) > NAMES else []
    return ", ".join(told + more)


def _modules(pivots: Sequence[ModulePivot], modules: Sequence[ModuleMark]) -> str:
    if not modules:
        return f'<div style="font-size:12px;color:{MUTED};padding-top:4px">no loops: no chord, no module</div>'
    here = {pivot.module: pivot for pivot in pivots}
    rows = "".join(_module(mark, here.get(mark.name), FEW if len(modules) > MANY else NAMES) for mark in modules)
    head = (
        f'<tr style="color:{MUTED}"><td style="{_CELL}">module</td><td style="{_CELL}">chords</td><td>pivot</td></tr>'
    )
    return f'<table style="border-collapse:collapse;font-size:12px;margin-top:6px">{head}{rows}</table>'


def _module(mark: ModuleMark, pivot: ModulePivot | None, told: int) -> str:
    swatch = (
        f'<span style="display:inline-block;width:11px;height:11px;background:{mark.colour};border-radius:2px"></span>'
    )
    names = [escape(name) for name in mark.closures[:told]]
    more = [f"and {len(mark.closures) - told} more"] if len(mark.closures) > told else []
    return (
        f'<tr><td style="{_CELL};white-space:nowrap">{swatch} {escape(mark.name)}</td>'
        f'<td style="{_CELL};color:{mark.colour}">{", ".join(names + more)}</td>'
        f'<td style="white-space:nowrap">{_pivot(pivot)}</td></tr>'
    )


def _pivot(pivot: ModulePivot | None) -> str:
    """The pivot relative to its reference; a small one is marked."""
    if pivot is None:
        return _small("-")
    text = f"{100 * pivot.ratio:.3g} %"
    return _tinted(f"{text} small", BAD) if pivot.small else text
