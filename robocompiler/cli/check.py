"""The text of `robocompile check`: a table of discrepancies, or the same as plain data."""

from __future__ import annotations

import math
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from robocompiler.check.ledger import Finding
from robocompiler.check.run import CheckReport
from robocompiler.cli.output import render
from robocompiler.version import VERSION

FORMAT = 1  # of the JSON report
FAILED = 8  # exit code when a quantity is out of tolerance


def check_data(report: CheckReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "format": FORMAT,
        "robocompiler": VERSION,
        "robot": report.robot,
        "states": report.states,
        "seed": report.seed,
        "passed": report.passed,
        "quantities": [
            {
                "quantity": finding.quantity, "reference": finding.reference, "discrepancy": finding.discrepancy,
                "tolerance": finding.tolerance, "passed": finding.passed, "where": finding.where,
                "state": finding.state,
            }
            for finding in report.findings
        ],
        "skipped": list(report.skipped),
    }  # fmt: skip


def check_text(report: CheckReport) -> str:
    """The table, what was skipped, and the verdict."""
    count = "1 random state" if report.states == 1 else f"{report.states} random states"
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title_justify="left",
        title=f"{report.robot}: largest discrepancy at {count} (seed {report.seed})",
    )  # fmt: skip
    table.add_column("quantity", overflow="fold")
    table.add_column("against")
    table.add_column("discrepancy", justify="right", no_wrap=True)
    table.add_column("tolerance", justify="right", no_wrap=True)
    table.add_column("")
    table.add_column("worst at", overflow="fold")
    for finding in report.findings:
        table.add_row(*_row(finding))
    parts: list[Any] = [table, ""]
    parts += [Text(f"skipped  {reason}", overflow="fold") for reason in report.skipped]
    failed = [f"{finding.quantity} ({finding.reference})" for finding in report.findings if not finding.passed]
    if failed:
        verdict = f"FAILED: {', '.join(failed)}"
    else:
        verdict = f"passed: all {len(report.findings)} comparisons are within their tolerances"
    return render(*parts, Text(verdict, style="bold red" if failed else "bold green", overflow="fold"))


def _row(finding: Finding) -> tuple[Text, ...]:
    size = f"{finding.discrepancy:.1e}" if math.isfinite(finding.discrepancy) else "not a number"
    verdict = Text("pass", style="green") if finding.passed else Text("FAIL", style="bold red")
    where = f"state {finding.state}" + (f", {finding.where}" if finding.where else "")
    return (
        Text(finding.quantity), Text(finding.reference), Text(size), Text(f"{finding.tolerance:.0e}"), verdict,
        Text("" if finding.passed and finding.discrepancy == 0 else where),
    )  # fmt: skip
