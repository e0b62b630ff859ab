"""Draws docs/*.svg from the models: `make pictures`."""

from __future__ import annotations

from pathlib import Path

from robocompiler.compiler import run_front_end
from robocompiler.graph.draw import graph_svg

DOCS = Path(__file__).resolve().parent
MODELS = DOCS.parent / "models"
PICTURES = {"stewart.svg": ("stewart", "inner")}  # file: (model, chart whose modules are coloured)


def draw(model: str, chart: str) -> str:
    """The SVG of a shipped model, the loop modules of one chart coloured."""
    front = run_front_end(MODELS / f"{model}.yaml")
    closures = front.closures.closures
    modules = [
        (f"{module.name}: {len(module.dependents)} dependents", [closures[index].name for index in module.closures])
        for module in front.reduction.chart(chart).modules
    ]
    return graph_svg(front.topology, modules)


if __name__ == "__main__":
    for name, (model, chart) in PICTURES.items():
        (DOCS / name).write_text(draw(model, chart), encoding="utf-8")
        print(f"docs/{name}")
