"""The architecture, checked: imports point downwards, files stay small, loading stays light, no machine leaks in."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "robocompiler"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# What the modules of a part may import of ours, besides their own part (docs/architecture.md).
LEAVES = {"arguments", "errors", "version", "resources"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "arguments": {"errors"},
    "resources": set(),
    "numerics": set(),
    "records": {"errors"},
    "importers": {"arguments", "errors", "records"},
    "oracle": {"errors", "records"},
    "graph": {"errors", "records"},
    "exporters": {"errors", "records", "graph", "importers"},  # what an importer reads back, in its geometry
    "symbolic": {"errors", "records", "graph", "numerics"},
    "repair": {"errors", "records", "graph", "symbolic", "numerics"},
    "analysis": {"errors", "records", "graph", "symbolic", "numerics", "repair"},
    "backend": LEAVES | {"records", "graph", "symbolic", "numerics"},
    "runtime": {"arguments", "errors", "version", "numerics"},
    "simulation": {"runtime"},
    "viewer": {"errors", "records", "importers", "graph", "numerics", "runtime"},  # shows and moves a compiled robot
    "check": {"errors", "records", "oracle", "runtime"},  # a compiled robot against what shares no code with it
    "report": LEAVES | {"records", "graph", "symbolic", "numerics", "analysis", "runtime"},  # the page of `inspect`
    "bench": LEAVES | {"records", "symbolic", "backend", "runtime", "oracle", "check"},  # times and errors
}
# The manifest is the contract between a compile and a load, so its format number and checksum are said once, there.
CONTRACT = {"backend": {"robocompiler.runtime.manifest"}}
# The rest joins the parts: the line of passes, the public names, the command line.
JOINS = {"__init__", "compiler", "casadi", "export", "cli", "reloading"}

THIRD_PARTY_AT_LOAD = {"cffi", "pycparser", "numpy"}  # pycparser reads declarations for cffi
REFUSED_AT_LOAD = ("casadi", "yaml", "ruamel", "scipy", "networkx", "jinja2", "click", "rich")

LONGEST_FILE = 420
LONGEST_FUNCTION = 70


def part(path: Path) -> str:
    """The folder, or the file, directly below robocompiler/ that a module belongs to."""
    inner = path.relative_to(PACKAGE)
    return inner.parts[0] if len(inner.parts) > 1 else inner.stem


def dotted(path: Path) -> str:
    names = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


MODULES = {dotted(path): path for path in SOURCES}


def imported(tree: ast.AST, package: str = "robocompiler") -> Iterator[str]:
    """Dotted names of our modules that a syntax tree imports anywhere, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == package)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            if node.module and node.module.split(".")[0] == package:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in MODULES else node.module


def type_checking_only(tree: ast.Module) -> ast.Module:
    """The tree without what stands under `if TYPE_CHECKING`, which imports nothing when the program runs."""

    class Drop(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            guarded = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return node.orelse if guarded else self.generic_visit(node)

    return Drop().visit(tree)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("name", sorted(MAY_IMPORT))
def test_imports_point_downwards(name: str) -> None:
    allowed = {name} | MAY_IMPORT[name]
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in SOURCES
        if part(path) == name
        for module in imported(parse(path))
        if part(MODULES[module]) not in allowed and module not in CONTRACT.get(name, ())
    ]
    assert wrong == []


def test_every_part_has_its_rule() -> None:
    assert {part(path) for path in SOURCES} - set(MAY_IMPORT) - JOINS == set()


def test_the_rules_themselves_have_no_cycle() -> None:
    order: list[str] = []
    waiting = dict(MAY_IMPORT)
    while waiting:
        ready = sorted(name for name, needs in waiting.items() if needs <= set(order))
        assert ready, f"a cycle among {sorted(waiting)}"
        order += ready
        for name in ready:
            del waiting[name]
    assert set(order) == set(MAY_IMPORT)


def test_no_module_imports_itself_through_others() -> None:
    needs = {name: set(imported(type_checking_only(parse(path)))) - {name} for name, path in MODULES.items()}
    # the public names import the compiler inside `compile`, so that loading stays light: no cycle when modules load
    needs["robocompiler"] = {module for module in needs["robocompiler"] if module.startswith("robocompiler.runtime")}
    while leaves := {name for name, below in needs.items() if not below & needs.keys()}:
        needs = {name: below for name, below in needs.items() if name not in leaves}
    assert sorted(needs) == []


LOAD = """
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {refused!r}:
            raise AssertionError("loading a robot imports " + name)
        return None

sys.meta_path.insert(0, Refuse())
before = set(sys.modules)
import robocompiler as rc
robot = rc.load({folder!r})
q = robot.assemble(robot.reference)
robot.lift(q), robot.residual(q), robot.pose(robot.frames[0], q)
print("\\n".join(sorted({{name.split(".")[0] for name in set(sys.modules) - before}})))
"""


def test_loading_a_robot_imports_only_numpy_and_cffi(compiled, build_folder: Path) -> None:  # type: ignore[no-untyped-def]
    compiled("slider_crank")
    script = LOAD.format(refused=REFUSED_AT_LOAD, folder=str(build_folder / "slider_crank"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    ours_and_others = set(done.stdout.split()) - set(sys.stdlib_module_names)
    # names with a leading underscore are the compiled halves of the standard library and of cffi
    third_party = {name for name in ours_and_others if not name.startswith("_")} - {"robocompiler"}
    assert third_party - THIRD_PARTY_AT_LOAD == set()


def test_the_import_guard_of_the_previous_test_bites() -> None:
    script = LOAD.format(refused=("numpy",), folder="nowhere")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "loading a robot imports numpy" in done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=dotted)
def test_files_and_functions_are_small_and_described(path: Path) -> None:
    tree = parse(path)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE
    wrong = [] if ast.get_docstring(tree) else ["the module has no docstring"]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno >= LONGEST_FUNCTION:
                wrong.append(f"{node.name} has {node.end_lineno - node.lineno + 1} lines")
    wrong += [f"{name} has no docstring" for name in undescribed(tree)]
    assert wrong == []


def undescribed(body: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Public classes, functions and methods without a docstring (overloads and setters repeat another's)."""
    for node in body.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            if not ast.get_docstring(node) and not _repeats(node):
                yield node.name
            if isinstance(node, ast.ClassDef):
                yield from (f"{node.name}.{name}" for name in undescribed(node))


def _repeats(node: ast.ClassDef | ast.FunctionDef) -> bool:
    names = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    return bool(names & {"overload", "override", "setter"})


def tracked() -> list[Path]:
    """The project's text files: what git knows or would add; without git (an unpacked archive), the known folders."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        folders = ("robocompiler", "codegen_templates", "models", "tests", "generated", "docs", "benchmarks")
        folders += ("examples",)
        names = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in names if path.is_file() and path.suffix not in {".png", ".pyc"})


# A checkout's place or a home belongs into no project file.  A letter in brackets
# keeps each expression from matching itself here.
_MACHINE = re.compile(r"/w[o]rk/|/h[o]me/[a-z]|/r[o]ot/|/U[s]ers/[A-Za-z]")
_UNFINISHED = re.compile(r"\bT[O]DO\b|\bF[I]XME\b|\bX[X]X\b|\bH[A]CK\b|\bfor n[o]w\b")
# (a method that CasADi asks for has the same name as the builtin)
_UNSAFE = re.compile(r"(?<!def )\be[v]al\(|shell=T[r]ue|\be[x]ec\(|\bos\.s[y]stem\(|yaml\.l[o]ad\((?!.*Safe)")


@pytest.mark.parametrize(
    ("pattern", "where"),
    [(_MACHINE, "**"), (_UNFINISHED, "**"), (_UNSAFE, "*.py")],
    ids=["machine paths", "unfinished work", "unsafe calls"],
)
def test_project_files_hold_no(pattern: re.Pattern[str], where: str) -> None:
    files = [path for path in tracked() if where == "**" or path.match(where)]
    assert len(files) > 50
    hits = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
    assert hits == []


def test_the_checks_themselves_bite() -> None:
    upward = ast.parse("def f():\n    from robocompiler.runtime.robot import Robot\n")
    assert list(imported(upward)) == ["robocompiler.runtime.robot"]
    assert list(undescribed(ast.parse("class A:\n    '''A.'''\n    def b(self):\n        pass\n"))) == ["A.b"]
    assert _MACHINE.search("/".join(("see ", "home", "ada", "robot.yaml")))
    assert _UNFINISHED.search("# TO" + "DO later")
    assert _UNSAFE.search("x = ev" + "al(text)")
