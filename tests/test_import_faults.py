"""Malformed and hostile files of every format: one clear error with file and line, never a crash, never a fetch."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from import_support import DATA, problems, written

from robocompiler.errors import ModelError
from robocompiler.importers import xml_reader
from robocompiler.importers.import_model import import_model
from robocompiler.importers.read_model import is_foreign, read_model

INERTIA = '<inertia ixx=".02" iyy=".03" izz=".04" ixy="0" ixz="0" iyz="0"/>'
GOOD = {
    "urdf": f"""<?xml version="1.0"?>
<robot name="r">
  <link name="w"/>
  <link name="a"><inertial><mass value="1"/>{INERTIA}</inertial></link>
  <joint name="j" type="continuous"><parent link="w"/><child link="a"/><origin xyz="0 0 1"/></joint>
</robot>
""",
    "xml": """<?xml version="1.0"?>
<mujoco model="m">
  <worldbody>
    <body name="a" pos="0 0 1"><inertial pos="0 0 0" mass="1" diaginertia=".02 .03 .04"/>
      <joint name="j"/></body>
  </worldbody>
</mujoco>
""",
    "sdf": """<?xml version="1.0"?>
<sdf version="1.9">
  <model name="m">
    <link name="a"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
  </model>
</sdf>
""",
}
FORMATS = sorted(GOOD)
BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>\n'


def only(folder: Path, text: str, suffix: str) -> tuple[int | None, str, str]:
    (problem,) = problems(folder, text, f"robot.{suffix}")
    assert Path(problem.file).name == f"robot.{suffix}"
    return problem.line, problem.record, problem.message


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_unbroken_files_are_read(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD[suffix], f"robot.{suffix}")
    assert is_foreign(path)
    assert read_model(path).joint("j").a.body in ("w", "world")


@pytest.mark.parametrize("suffix", FORMATS)
def test_truncated_files(suffix: str, tmp_path: Path) -> None:
    text = GOOD[suffix]
    line, _, message = only(tmp_path, text[: text.index('name="a"') + 8], suffix)
    assert line == 4
    assert message.startswith("not well-formed XML: ")
    line, _, message = only(tmp_path, "\n".join(text.splitlines()[:4]), suffix)
    assert "is still open" in message
    assert only(tmp_path, "", suffix)[2] == "the file is empty"


@pytest.mark.parametrize("suffix", FORMATS)
def test_wrong_nesting(suffix: str, tmp_path: Path) -> None:
    swapped = re.sub(r"</inertial></link>|</body>", "</oops>", GOOD[suffix], count=1)
    line, _, message = only(tmp_path, swapped, suffix)
    assert line in (4, 5)
    assert "mismatched tag" in message


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "prolog",
    [
        BOMB,
        '<!DOCTYPE x SYSTEM "file:///etc/passwd">\n',
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]>\n',
        "<!DOCTYPE robot>\n",
    ],
    ids=["bomb", "external subset", "external entity", "parameter entity", "plain"],
)
def test_document_types_are_refused_before_they_do_anything(suffix: str, prolog: str, tmp_path: Path) -> None:
    head, rest = GOOD[suffix].split("\n", maxsplit=1)
    begin = time.monotonic()
    used = rest.replace('name="a"', 'name="&c;"')
    line, _, message = only(tmp_path, f"{head}\n{prolog}{used}", suffix)
    assert time.monotonic() - begin < 1
    assert line == 2
    assert "document type" in message
    assert "root:" not in message


@pytest.mark.parametrize("suffix", FORMATS)
def test_undeclared_entities(suffix: str, tmp_path: Path) -> None:
    line, _, message = only(tmp_path, GOOD[suffix].replace('name="a"', 'name="&a;"'), suffix)
    assert (line, message.split(";")[0]) == (4, "not well-formed XML: undefined entity")


def test_depth_and_size_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffix = "urdf"  # one reader serves all formats
    monkeypatch.setattr(xml_reader, "MAXIMUM_ELEMENTS", 2000)
    assert "nested deeper than 200" in only(tmp_path, "<a>" * 300 + "</a>" * 300, suffix)[2]
    assert "more than 2000 elements" in only(tmp_path, "<a>" + "<b/>" * 2001 + "</a>", suffix)[2]
    path = written(tmp_path, "<a>" + " " * 10_000_001 + "</a>", f"large.{suffix}")
    with pytest.raises(ModelError, match="larger than 10 MB"):
        import_model(path)


def test_a_foreign_root_and_missing_files_are_told(tmp_path: Path) -> None:
    line, _, message = only(tmp_path, "<html>\n</html>", "xml")
    assert line == 1
    assert "the root element is <html>; expected <robot> (URDF), <mujoco> (MJCF) or <sdf>" in message
    with pytest.raises(ModelError, match="cannot be read"):
        import_model(tmp_path / "none.urdf")
    assert only(tmp_path, "robocompiler: 1\n", "yaml")[2] == "is not XML; expected a URDF, MJCF or SDF file"
    latin = tmp_path / "latin.urdf"
    latin.write_bytes(GOOD["urdf"].replace('name="r"', 'name="\xe9"').encode("latin-1"))
    with pytest.raises(ModelError, match=r"latin\.urdf:2: byte 0xe9 is not UTF-8"):
        import_model(latin)


@pytest.mark.parametrize(
    ("suffix", "old", "new", "record", "fragment"),
    [
        ("urdf", 'xyz="0 0 1"', 'xyz="0 0 100mm"', "joint 'j': origin", "'100mm' looks like a value with a unit"),
        ("urdf", 'xyz="0 0 1"', 'rpy="0 0 90"', "joint 'j': origin", "if degrees were meant, write 0 0 1.570796327"),
        ("urdf", 'xyz="0 0 1"', 'xyz="0,0,1"', "joint 'j': origin", "needs 3 numbers, found 1"),
        ("urdf", 'value="1"', 'value="1,5"', "link 'a': inertial: mass", "write the decimal point"),
        ("urdf", 'value="1"', 'value="nan"', "link 'a': inertial: mass", "not a finite number"),
        ("urdf", 'value="1"', 'value="${m}"', "link 'a': inertial: mass", "xacro"),
        ("urdf", 'value="1"', 'value="-1"', "bodies.a.mass", "must not be negative"),
        ("xml", 'mass="1"', 'mass="1kg"', "body 'a': inertial", "write 1"),
        ("xml", 'pos="0 0 1"', 'pos="0 0 1deg"', "body 'a'", "looks like a value with a unit"),
        ("xml", 'pos="0 0 1"', 'quat="0 0 0 0"', "body 'a'", "has no direction"),
        ("sdf", "<mass>1<", "<mass>1 kg<", "link 'a': inertial", "needs 1 numbers, found 2"),
        ("sdf", "0 0 1 0 0 0", "0 0 1 0 0 45deg", "link 'a': pose", "write 0.785398163397"),
        ("sdf", "0 0 1 0 0 0", "0 0 1 0 0 45", "link 'a': pose", "more than a turn and a half"),
    ],
)
def test_unit_slips_and_other_numbers(
    suffix: str, old: str, new: str, record: str, fragment: str, tmp_path: Path
) -> None:
    text = GOOD[suffix].replace(old, new, 1)
    line, found, message = only(tmp_path, text, suffix)
    where = next(k for k, content in enumerate(text.splitlines(), start=1) if new in content)
    assert (line, found.removeprefix("m: ")) == (where, record)
    assert fragment in message


@pytest.mark.parametrize(
    ("suffix", "old", "new", "fragment"),
    [
        ("urdf", 'xyz="0 0 1"', 'xzy="0 0 1"', "unknown attribute 'xzy'; did you mean 'xyz'"),
        ("xml", "diaginertia=", "diaginertai=", "unknown attribute 'diaginertai'; did you mean 'diaginertia'"),
        ("xml", '<joint name="j"', '<joint name="j" dampng="1"', "unknown attribute 'dampng'; did you mean 'damping'"),
        ("sdf", "<xyz>0 0 1</xyz>", "<xyz>0 0 1</xyz><limits/>", "unknown element 'limits'; did you mean 'limit'"),
    ],
)
def test_near_misses_of_names_are_faults_not_silence(
    suffix: str, old: str, new: str, fragment: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, GOOD[suffix].replace(old, new), f"robot.{suffix}")
    assert fragment in "\n".join(problem.message for problem in found)


def test_inertia_in_square_millimetres_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD["urdf"].replace('ixx=".02" iyy=".03" izz=".04"', 'ixx="2e4" iyy="3e4" izz="4e4"'))
    assert any("radius of gyration is 200 m" in text for text in import_model(path).mechanism.warnings)


@pytest.mark.parametrize(
    ("suffix", "twin", "fragment"),
    [
        ("urdf", '<link name="a"/>', "another link has this name already (line 4)"),
        (
            "urdf",
            '<joint name="j" type="fixed"><parent link="w"/><child link="a"/></joint>',
            "another joint has this name already (line 5)",
        ),
        ("xml", '<worldbody><body name="a"><joint/></body></worldbody>', "another body has this name already (line 4)"),
        (
            "xml",
            '<worldbody><body><joint name="j"/></body></worldbody>',
            "another joint has this name already (line 5)",
        ),
        ("sdf", '<link name="a"/>', "another link of this model has this name already (line 4)"),
        ("sdf", '<frame name="j"/>', "another joint of this model has this name already (line 5)"),
    ],
)
def test_duplicate_names(suffix: str, twin: str, fragment: str, tmp_path: Path) -> None:
    end = {"urdf": "</robot>", "xml": "</mujoco>", "sdf": "</model>"}[suffix]
    line, _, message = only(tmp_path, GOOD[suffix].replace(end, f"{twin}\n{end}"), suffix)
    assert line in (6, 7)
    assert fragment in message


def test_several_faults_of_a_file_come_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = GOOD["urdf"].replace('value="1"', 'value="x"').replace("continuous", "revolut").replace(".04", "4e")
    found = problems(tmp_path, text)
    assert [problem.line for problem in found] == [4, 4, 5]


# --- includes ---


def test_cyclic_missing_and_repeated_includes_of_mjcf(tmp_path: Path) -> None:
    def found(name: str) -> tuple[str, int | None, str]:
        text = GOOD["xml"].replace("<worldbody>", f'<include file="{name}"/>\n  <worldbody>', 1)
        (problem,) = problems(tmp_path, text, "robot.xml")
        return Path(problem.file).name, problem.line, problem.message

    written(tmp_path, '<mujoco>\n<include file="b.xml"/></mujoco>', "a.xml")
    written(tmp_path, '<mujoco>\n\n<include file="a.xml"/></mujoco>', "b.xml")
    assert found("a.xml") == ("b.xml", 3, "the includes form a cycle: a.xml -> b.xml -> a.xml; remove one")
    assert "the includes form a cycle: robot.xml -> robot.xml" in found("robot.xml")[2]
    file, line, message = found("none.xml")
    assert (file, line) == ("robot.xml", 3)
    assert "there is no file 'none.xml'" in message
    assert "only relative names" in found("/etc/passwd")[2]
    assert "only relative names" in found("C:\\\\x.xml")[2]
    written(tmp_path, "<mujoco>\n<default>\n</mujoco>", "broken.xml")
    assert found("broken.xml")[:2] == ("broken.xml", 3)
    written(tmp_path, "<mujoco/>", "empty.xml")
    text = GOOD["xml"].replace("<worldbody>", '<include file="empty.xml"/><include file="empty.xml"/><worldbody>', 1)
    (problem,) = problems(tmp_path, text, "robot.xml")
    assert "included twice" in problem.message


def test_cyclic_missing_and_remote_includes_of_sdf(tmp_path: Path) -> None:
    def found(uri: str) -> tuple[str, int | None, str]:
        text = GOOD["sdf"].replace("</model>", f"<include><name>x</name><uri>{uri}</uri></include></model>")
        found = problems(tmp_path, text, "robot.sdf")
        return Path(found[0].file).name, found[0].line, found[0].message

    inner = GOOD["sdf"].replace("</model>", "<include><uri>b.sdf</uri></include></model>")
    written(tmp_path, inner, "a.sdf")
    written(tmp_path, inner.replace("b.sdf", "a.sdf"), "b.sdf")
    assert found("a.sdf") == ("b.sdf", 6, "the includes form a cycle: a.sdf -> b.sdf -> a.sdf; remove one")
    assert "there is no file" in found("model://nothing")[2]
    assert "is not fetched" in found("https://fuel.example.org/x")[2]
    for k in range(1, 9):  # each file includes the next twice: 2^8 files if nobody counts
        next_one = f"<include><uri>c{k + 1}.sdf</uri></include>" * 2
        written(tmp_path, f'<sdf version="1.9"><model name="m{k}">{next_one}</model></sdf>', f"c{k}.sdf")
    written(tmp_path, GOOD["sdf"], "c9.sdf")
    assert "includes more than 200 files" in found("c1.sdf")[2]


def test_cyclic_mimics(tmp_path: Path) -> None:
    mimics = ""
    for k, parent in enumerate(("w", "a0", "a1")):
        mimics += f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="a{k}"/>'
        mimics += f'<mimic joint="j{(k + 1) % 3}"/></joint>\n'
    links = "".join(f'<link name="a{k}"/>' for k in range(3))
    line, record, message = only(tmp_path, f'<robot name="r"><link name="w"/>{links}\n{mimics}</robot>', "urdf")
    assert line == 2
    assert record == "joint 'j0': mimic"
    assert message == "the mimics form a cycle, 'j0' -> 'j1' -> 'j2' -> 'j0'; one joint must lead"


def test_long_chains_of_frames_and_mimics_are_no_stack_overflow(tmp_path: Path) -> None:
    bases = [f"f{k + 1}" for k in range(300)] + ["a"]
    frames = "".join(f'<frame name="f{k}"><pose relative_to="{base}"/></frame>' for k, base in enumerate(bases))
    found = problems(tmp_path, GOOD["sdf"].replace("</model>", f"{frames}</model>"), "robot.sdf")
    assert "more than 100 frames in a row" in found[0].message


# --- mutations ---


@pytest.mark.parametrize("name", ["fourbar_leg.urdf", "gripper.urdf", "go2.xml", "panda.xml"])
def test_mutated_files_are_read_or_refused_but_never_crash(name: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text()
    random = np.random.default_rng(11)
    tokens = re.findall(r'"[^"]*"|<[^<>]*>', text)
    outcomes = {True: 0, False: 0}
    for _ in range(25):
        mutated = text
        for _ in range(int(random.integers(1, 4))):
            old = str(random.choice(tokens))
            new = str(random.choice(["", '""', '"0 0 0"', '"x"', '"1e999"', str(random.choice(tokens))]))
            start = mutated.find(old, int(random.integers(0, len(mutated))))
            mutated = mutated if start < 0 else mutated[:start] + new + mutated[start + len(old) :]
        path = written(tmp_path, mutated, f"mutated{Path(name).suffix}")
        try:
            import_model(path)
            outcomes[True] += 1
        except ModelError as error:
            assert all(problem.file for problem in error.problems)
            outcomes[False] += 1
    assert outcomes[False] > 5


def test_includes_do_not_nest_beyond_the_depth_of_one_file(tmp_path: Path) -> None:
    for k in range(8):
        inner = f'<include file="d{k + 1}.xml"/>' if k < 7 else ""
        written(tmp_path, "<mujoco>" + "<body>" * 60 + inner + "</body>" * 60 + "</mujoco>", f"d{k}.xml")
    text = GOOD["xml"].replace("<worldbody>", '<worldbody><include file="d0.xml"/>', 1)
    found = problems(tmp_path, text, "robot.xml")
    assert "nested deeper than 200 elements, with what is included" in found[0].message
    assert Path(found[0].file).name == "d3.xml"


def test_deep_but_legal_nesting_is_read(tmp_path: Path) -> None:
    solid = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    bodies = f"<body><joint/>{solid}" * 190 + "</body>" * 190
    found = import_model(written(tmp_path, f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", "deep.xml"))
    assert len(found.mechanism.joints) == 190
    mount = '<joint name="j" type="fixed"><parent>world</parent><child>l0</child></joint>'
    models = "".join(f'<model name="m{k}"><link name="l{k}"/>' for k in range(90)) + "</model>" * 89
    models += f"{mount}</model>"
    found = import_model(written(tmp_path, f'<sdf version="1.9">{models}</sdf>', "deep.sdf"))
    assert len({body.name for body in found.mechanism.bodies}) == 90  # whose paths had to be cut
