from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from c_support import host_toolchain

from robocompiler.backend import cache
from robocompiler.backend.cache import BuildPlan, Unit, commit, plan, value_digest
from robocompiler.backend.processor import Processor
from robocompiler.backend.toolchain import Toolchain, compile_objects
from robocompiler.backend.writer import write_files
from robocompiler.errors import CompileError

GCC = Toolchain(("gcc",), "gcc 12", "x86_64-linux-gnu", ("-O2",), "print")


def unit(name: str, number: float = 1.0, **provenance: float) -> Unit:
    text = f"double {name}(void);\ndouble {name}(void) {{ return {number!r}; }}\n"
    fields = {key.replace("__", "."): value_digest(value) for key, value in provenance.items()}
    return Unit(name, Path(f"{name}.c"), text, fields)


class Folder:
    """An output folder; `build` pretends to compile by writing the key into the object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.units = [unit("module_0", joints__a__axis=1), unit("module_1", joints__b__axis=1)]
        self.toolchain = GCC
        self.headers = {"rig.h": "header"}
        self.generator = "1.0"

    def plan(self) -> BuildPlan:
        return plan(
            self.units,
            folder=self.path,
            toolchain=self.toolchain,
            headers=self.headers,
            generator=self.generator,
        )

    def build(self) -> list[str]:
        build = self.plan()
        for job in build.jobs():
            job.object.parent.mkdir(parents=True, exist_ok=True)
            job.object.write_text(f"object of {job.name}")
        commit(build)
        return [str(decision) for decision in build.decisions]

    @property
    def record(self) -> Path:
        return self.path / ".cache" / "record.json"

    def objects(self) -> list[Path]:
        return sorted((self.path / ".cache" / "objects").glob("*"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "out")


def test_the_first_build_compiles_all_and_the_second_nothing(folder: Folder) -> None:
    assert folder.build() == ["module_0: first build", "module_1: first build"]
    assert folder.build() == ["module_0: unchanged", "module_1: unchanged"]
    assert folder.plan().jobs() == ()
    assert len(folder.plan().objects) == 2


def test_planning_writes_nothing(folder: Folder) -> None:
    folder.plan()
    assert not folder.path.exists()


def test_the_reason_names_the_records_that_changed(folder: Folder) -> None:
    folder.build()
    folder.units[1] = unit("module_1", 2.0, joints__b__axis=2)
    assert folder.build() == ["module_0: unchanged", "module_1: joints.b.axis changed"]
    folder.units[1] = unit("module_1", 3.0, joints__c__axis=2, bodies__d__mass=1, joints__b__axis=7, x=1, y=2)
    assert folder.build()[1] == "module_1: joints.b.axis changed, bodies.d.mass added, joints.c.axis added, and 2 more"
    folder.units[1] = unit("module_1", 4.0, joints__b__axis=7, joints__c__axis=2, bodies__d__mass=1, x=1)
    assert folder.build()[1] == "module_1: y removed"


def test_a_record_that_changes_no_text_compiles_nothing(folder: Folder) -> None:
    folder.build()
    folder.units[0] = unit("module_0", 1.0, joints__a__axis=99)
    assert folder.build() == ["module_0: unchanged", "module_1: unchanged"]
    folder.units[0] = unit("module_0", 5.0, joints__a__axis=99)
    assert folder.build()[0] == "module_0: generated text changed", "the record now knows the later provenance"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "gcc 13"}, "compiler changed (gcc 12 -> gcc 13)"),
        ({"command": ("zig", "cc")}, "compiler command changed (gcc -> zig cc)"),
        ({"target": "aarch64-linux-gnu"}, "target changed (x86_64-linux-gnu -> aarch64-linux-gnu)"),
        ({"flags": ("-O3", "-g")}, "flags changed (with -O3, with -g, without -O2)"),
        ({"fingerprint": "other"}, "compiler changed (another executable, still gcc 12)"),
        (
            {"processor": Processor((), "other")},
            "another processor (the flags mean other instructions or another tuning here)",
        ),
    ],
)
def test_every_property_of_the_compiler_counts(folder: Folder, changes: dict[str, object], reason: str) -> None:
    folder.build()
    folder.toolchain = dataclasses.replace(GCC, **changes)  # type: ignore[arg-type]
    assert folder.build() == [f"module_0: {reason}", f"module_1: {reason}"]
    folder.toolchain = GCC
    assert folder.build() == ["module_0: unchanged", "module_1: unchanged"], "the old objects are still there"


def test_other_reasons(folder: Folder) -> None:
    folder.build()
    folder.headers["rig.h"] = "other"
    assert folder.build()[0] == "module_0: headers: rig.h changed"
    folder.units[0] = dataclasses.replace(folder.units[0], text="new text")
    folder.generator = "2.0"
    assert folder.build()[0] == "module_0: generated text changed (RoboCompiler 1.0 -> 2.0)"
    folder.units.append(unit("module_2"))
    assert folder.build()[2] == "module_2: new file"
    folder.units[0] = dataclasses.replace(folder.units[0], source=Path("sub/module_0.c"))
    assert folder.build()[0] == "module_0: source path changed"


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_a_damaged_object_is_compiled_again(folder: Folder, damage: str) -> None:
    folder.build()
    target = folder.plan().objects[1]
    content = target.read_bytes()
    if damage == "truncate":
        target.write_bytes(content[:-3])
    elif damage == "flip":
        target.write_bytes(content[:-1] + b"!")
    else:
        target.unlink()
    assert folder.build() == ["module_0: unchanged", "module_1: object missing or damaged"]
    assert folder.build()[1] == "module_1: unchanged"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": 1}', '{"format": 2, "build": "x", "units": {}, "objects": {}}', "\xff" * 9],
)
def test_a_damaged_record_is_an_empty_one_and_says_so(folder: Folder, text: str) -> None:
    folder.build()
    folder.record.write_bytes(text.encode("latin-1"))
    build = folder.plan()
    assert build.warning.startswith("cache record unreadable")
    assert folder.build()[0].startswith("module_0: first build (cache record unreadable")
    assert folder.build()[0] == "module_0: unchanged"


def test_every_value_of_the_record_is_checked(folder: Folder) -> None:
    folder.build()
    good = json.loads(folder.record.read_text())

    def spoil(data: object, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        if isinstance(data, dict):
            return [leaf for key, value in data.items() for leaf in spoil(value, (*path, key))]
        return [path]

    leaves = spoil(good, ())
    assert len(leaves) > 20
    for leaf in leaves:
        bad = json.loads(json.dumps(good))
        inner = bad
        for key in leaf[:-1]:
            inner = inner[key]
        inner[leaf[-1]] = None
        folder.record.write_text(json.dumps(bad))
        assert folder.plan().warning, leaf


def test_a_failed_build_keeps_what_was_finished(folder: Folder) -> None:
    folder.build()
    folder.units = [unit("module_0", 8.0, joints__a__axis=8), unit("module_1", 9.0, joints__b__axis=9)]
    build = folder.plan()
    build.jobs()[0].object.write_text("finished")
    commit(build, finished={"module_0"})
    assert [str(d) for d in folder.plan().decisions] == ["module_0: unchanged", "module_1: joints.b.axis changed"]


def test_a_missing_object_is_not_recorded(folder: Folder) -> None:
    with pytest.raises(CompileError, match=r"module_0: the object .* is missing after the compile"):
        commit(folder.plan())


def test_objects_unused_for_long_are_removed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.build()
    for number in range(2, cache.KEEP_BUILDS + 6):
        folder.units = [unit("module_0", float(number))]
        folder.build()
        assert len(folder.objects()) <= cache.KEEP_BUILDS + 1
    assert len(folder.objects()) == cache.KEEP_BUILDS
    stray = folder.objects()[0].with_name("stray.o.log")
    stray.write_text("")
    monkeypatch.setattr(cache, "KEEP_BYTES", 1)
    assert folder.build() == ["module_0: unchanged"], "objects in use are kept whatever their size"
    assert [path.name for path in folder.objects()] == [folder.plan().objects[0].name]


def test_names_that_leave_the_cache_are_refused(folder: Folder) -> None:
    for name in ("../x", "a/b", "", ".hidden", "a b"):
        folder.units = [Unit(name, Path("x.c"), "")]
        with pytest.raises(CompileError, match="not a plain file name"):
            folder.plan()
    for source in ("/etc/x.c", "../x.c"):
        folder.units = [Unit("x", Path(source), "")]
        with pytest.raises(CompileError, match="leaves the output folder"):
            folder.plan()
    folder.units = [unit("x"), unit("x")]
    with pytest.raises(CompileError, match="two units are named 'x'"):
        folder.plan()


def test_value_digests_tell_values_apart() -> None:
    values = [1, 1.0, "1", [1], [1, 2], [2, 1], {"a": 1}, None, True, -0.0, 0.0]
    assert len({value_digest(value) for value in values}) == len(values)
    assert value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1})


def test_with_the_real_compiler_only_the_changed_unit_is_compiled(folder: Folder) -> None:
    folder.toolchain = host_toolchain()
    compiled: list[str] = []

    def build() -> None:
        write_files(folder.path, {str(u.source): u.text for u in folder.units} | folder.headers)
        compiled.clear()
        work = folder.plan()
        compile_objects(work.jobs(), folder.toolchain, progress=lambda name, _: compiled.append(name))
        commit(work)

    folder.headers["rig.h"] = "/* header */\n"
    build()
    assert sorted(compiled) == ["module_0", "module_1"]
    build()
    assert compiled == []
    folder.units[1] = unit("module_1", 2.5, joints__b__axis=2)
    build()
    assert compiled == ["module_1"]
