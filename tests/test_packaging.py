"""The wheel: complete, and at work in an environment that knows nothing of the checkout."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import robocompiler

ROOT = Path(__file__).resolve().parent.parent

USE = """
import sys
from pathlib import Path
import robocompiler as rc
from robocompiler.resources import models_folder, templates_folder

environment = Path(sys.prefix).resolve()
for place in (Path(rc.__file__), models_folder(), templates_folder()):
    assert environment in place.resolve().parents, place
robot = rc.compile(models_folder() / "slider_crank.yaml", output="out")
q = robot.assemble(robot.reference)
assert abs(robot.residual(q)).max() < 1e-12
print(len(robot.independent), robot.rank_report.rank)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed; a checkout on PYTHONPATH would make the test worthless."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(build_folder: Path) -> Path:
    """The wheel of this checkout, built without isolation: nothing is downloaded."""
    folder = build_folder / "wheel"
    with (build_folder / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=build_folder)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_every_module_template_and_model(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "robocompiler").rglob("*.py")}
    expected |= {f"robocompiler/_templates/{path.name}" for path in (ROOT / "codegen_templates").iterdir()}
    expected |= {f"robocompiler/_models/{path.name}" for path in (ROOT / "models").iterdir()}
    expected |= {"robocompiler/py.typed"}
    assert expected - names == set()


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    allowed = ("robocompiler/", f"robocompiler-{robocompiler.__version__}.dist-info/")
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if not name.startswith(allowed)] == []
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".so", ".o"))] == []


def test_the_metadata_names_licence_dependencies_and_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    info = f"robocompiler-{robocompiler.__version__}.dist-info"
    metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    assert metadata["License-Expression"] == "BSD-2-Clause"
    required = {text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {text.split(">=")[0].lower() for text in required} == {
        text.split(">=")[0].lower() for text in project["dependencies"]
    }
    assert "robocompile = robocompiler.cli:main" in archive.read(f"{info}/entry_points.txt").decode()


def test_the_version_is_one_number() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == robocompiler.__version__


def test_the_installed_wheel_compiles_and_loads_a_shipped_model_from_another_folder(
    wheel: Path, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # The dependencies come from the running environment.  A folder added by a .pth file has its own .pth files ignored,
    # so an editable installation in it stays unseen.
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site,) = (environment / "lib").glob("python3*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(sorted(libraries)) + "\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run(python, "-c", USE, cwd=elsewhere).split() == ["1", "2"]
    assert (elsewhere / "out" / "slider_crank" / "slider_crank.h").is_file()

    (elsewhere / "mine.yaml").write_bytes((ROOT / "models" / "fourbar.yaml").read_bytes())
    run(environment / "bin" / "robocompile", "mine.yaml", "-o", "built", cwd=elsewhere)
    assert (elsewhere / "built" / "fourbar" / "libfourbar.so").is_file()
