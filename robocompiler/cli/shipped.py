"""The models that ship with RoboCompiler, and how a bare name finds one."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from robocompiler.errors import ModelError, Problem
from robocompiler.resources import models_folder


@dataclass(frozen=True)
class ModelFile:
    """A model to work on: its path, whether it is one that ships, and its first comment line."""

    path: Path
    shipped: bool
    summary: str = ""

    @property
    def name(self) -> str:
        """The name that finds a shipped model."""
        return self.path.stem


def shipped_models() -> tuple[ModelFile, ...]:
    """All models that ship, by name."""
    paths = sorted(models_folder().glob("*.yaml"))
    return tuple(ModelFile(path, True, _first_comment(path)) for path in paths)


def find_model(text: str) -> ModelFile:
    """The model that the user means: a file, or else the name of a model that ships (with or without .yaml).

    Raises ModelError when there is neither; the message tells which names would have been near.
    """
    path = Path(text)
    if path.exists() or path.is_symlink():
        return ModelFile(path, False)
    if path.name != text:  # it names a folder, so it can only be a file
        raise ModelError([Problem("there is no such file", file=text)])
    models = {model.name: model for model in shipped_models()}
    name = text.removesuffix(".yaml")
    if name in models:
        return models[name]
    near = difflib.get_close_matches(name.lower(), models, n=1)
    mend = f"did you mean '{near[0]}'?" if near else "`robocompile models` lists those that ship"
    raise ModelError(
        [Problem(f"there is no such file, and no model of this name ships with RoboCompiler; {mend}", file=text)]
    )


def _first_comment(path: Path) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") and line.strip("# "):
            return line.strip("# ")
        if line.strip() and not line.startswith("#"):
            return ""
    return ""
