"""Where the C templates and the models lie: inside the installed package, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _folder(packaged: str, checkout: str) -> Path:
    inside = _PACKAGE / packaged
    return inside if inside.is_dir() else _PACKAGE.parent / checkout


def templates_folder() -> Path:
    """Folder of the jinja2 templates of every emitted file."""
    return _folder("_templates", "codegen_templates")


def models_folder() -> Path:
    """Folder of the models that come with RoboCompiler."""
    return _folder("_models", "models")
