"""Robots compiled once for the whole suite, whichever worker needs them first."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: its threads and xdist's workers share two cores

import robocompiler as rc
from robocompiler.backend import side_task

if "PYTEST_XDIST_WORKER" in os.environ:  # the workers keep all cores busy: forked copies would only cost
    side_task.cores = lambda: 1
os.fsync = lambda _: None  # it guards against power cuts, which no test makes, and waits for the disk at every file
gc.set_threshold(20_000, 20, 50)  # expression graphs are many objects and few cycles

OPTIMISED = ("stewart", "rssr", "fourbar")  # compiled as users get them
DERIVED = ("five_bar",)  # with the derivatives of its dynamics
LONG_FILES = (  # begun first, or a worker is still busy with one of them when the others have nothing left to do
    "test_dynamics_identities", "test_build_faults", "test_dynamics_cases", "test_casadi_calls", "test_closures",
    "test_covariance", "test_derivatives", "test_c_output", "test_cli_process", "test_updater",
    "test_contact_switching", "test_random_mechanisms", "test_repair", "test_pairs", "test_stewart_variants",
    "test_float", "test_view_browser", "test_packaging", "test_derivatives_compiled", "test_documents",
    "test_build", "test_batch_derivatives",
)  # fmt: skip
MODELS = Path(__file__).resolve().parent.parent / "models"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first; xdist hands files out in this order."""
    places = {name: k for k, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of compiled robots, shared by all workers of a run."""
    root = tmp_path_factory.getbasetemp()
    if root.name.startswith("popen-"):  # a worker of pytest-xdist: its parent's folder is common to all
        root = root.parent
    folder = root / "compiled"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def compiled(build_folder: Path) -> Callable[[str], rc.Robot]:
    """compiled('stewart') is the loaded robot of models/stewart.yaml, built at most once in a run."""
    loaded: dict[str, rc.Robot] = {}

    def get(name: str) -> rc.Robot:
        if name not in loaded:
            with (build_folder / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                folder = build_folder / name
                done = build_folder / f"{name}.done"
                if not done.exists():
                    flags = (
                        () if name in OPTIMISED else ("-O0",)
                    )  # the same numbers to rounding, in a third of the time
                    model, derived = MODELS / f"{name}.yaml", name in DERIVED
                    rc.compile(model, output=build_folder, extra_flags=flags, derivatives=derived)
                    done.touch()
                loaded[name] = rc.load(folder)
        return loaded[name]

    return get
