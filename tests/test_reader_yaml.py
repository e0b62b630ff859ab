"""Hostile and broken files: refused with ModelError, with a line where there is one, and quickly."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robocompiler.errors import ModelError
from robocompiler.records import yaml_source
from robocompiler.records.diagnostics import MAXIMUM_PROBLEMS
from robocompiler.records.keys import TOP_KEYS
from robocompiler.records.reader import mechanism_from_dict, read_mechanism, read_mechanism_text

VALID = """robocompiler: 1
name: t
bodies: {p: {mass: load}, q: {mass: 2, inertia: [1, 1, 1]}}
joints:
  r: {type: revolute, a: world, b: p, axis: [0, 0, 1], limits: {position: [-1, 1]}}
  s: {type: spherical, a: {body: p, rpy: [0, 0, pi]}, b: q}
couplings: {k: {expression: r**2}}
ports: {m: {joint: r}}
parameters: {load: 2}
reference: {joints: {s: [1, 0, 0, 0]}, base: {xyz: [0, 0, 1]}}
"""


def problems(text):
    with pytest.raises(ModelError) as caught:
        read_mechanism_text(text)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("[]", 1, "mapping with keys robocompiler"),
        ("a\n", 1, "mapping with keys robocompiler"),
        (VALID + "---\na: 1\n", 11, "one document"),
        ("a: 1\n\tb: 2\n", 2, "tab"),
        ("a: 1\nb: [1, 2\n", 3, "not valid YAML"),
        ("a: 1\nb: 'x\n", 3, "not valid YAML"),
        ("a: 1\nb: \x00\n", 2, "'\\x00' is not allowed"),
        ("a: 1\nb: \x07\n", 2, "'\\x07' is not allowed"),
        ("a: \ud800\n", 1, "'\\ud800' is not allowed"),
        ("a: *b\n", 1, "anchor|alias|undefined"),
        ("x: " + "[" * 40 + "]" * 40, 1, "deeper than 32"),
        ("\n".join(" " * k + "a:" for k in range(40)), 33, "deeper than 32"),
        ("%YAML 3.0\n---\na: 1\n", 1, "not valid YAML|unknown key"),
    ],
)
def test_broken_text(text, line, fragment):
    found = problems(text)
    assert any(p.line == line and any(f in p.message for f in fragment.split("|")) for p in found), found


def test_alias_bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 20)]
    start = time.perf_counter()
    found = problems("\n".join(lines))
    assert time.perf_counter() - start < 2
    assert any("aliases are not part of the language" in p.message for p in found)
    assert any("anchors are not part of the language" in p.message for p in found)


def test_aliases_are_reported_without_consequential_noise():
    text = VALID.replace("{mass: 2, inertia: [1, 1, 1]}", "*shape").replace("{mass: load}", "&shape {mass: load}")
    assert [p.message.split(";")[0] for p in problems(text)] == [
        "YAML anchors are not part of the language",
        "YAML aliases are not part of the language",
    ]


def test_file_over_the_size_bound_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "big.yaml"
    with path.open("wb") as stream:
        stream.truncate(yaml_source.MAXIMUM_BYTES + 1)
    monkeypatch.setattr(type(path), "open", lambda *_: pytest.fail("the file was opened"))
    with pytest.raises(ModelError, match="larger than 10 MB"):
        read_mechanism(path)
    with pytest.raises(ModelError, match="larger than 10 MB"):
        read_mechanism_text("#" * (yaml_source.MAXIMUM_BYTES + 1))


@pytest.mark.parametrize(
    "text",
    [
        "- a\n" * 2_250_000,
        "[" * 9_000_000,
        "a: [" + "1," * 4_000_000 + "]",
        "a" * 9_000_000,
        "{" + ",".join(f"k{k}: " for k in range(900_000)) + "}",
        "? " * 4_000_000,
        "&a " * 3_000_000,
        "x: |\n" + " y\n" * 2_000_000,
        "robocompiler: 1\nname: n\nbodies: {" + ",".join(f"b{k}: " for k in range(40_000)) + "}\njoints: {"
        + ",".join(f"j{k}: {{b: bob}}" for k in range(20_000)) + "}",
    ],
    ids=range(9),
)  # fmt: skip
def test_nine_megabytes_of_junk_take_seconds(text):
    start = time.perf_counter()
    found = problems(text)
    assert time.perf_counter() - start < 15
    assert len(found) <= MAXIMUM_PROBLEMS + 1
    assert all(len(str(problem)) < 2000 for problem in found)


def test_the_number_of_problems_is_bounded():
    joints = "joints: {" + ",".join(f"j{k}: {{}}" for k in range(2000)) + "}"
    found = problems(f"robocompiler: 1\nname: n\nbodies: {{p: }}\n{joints}")
    assert len(found) == MAXIMUM_PROBLEMS + 1
    assert any(f"stopped after {MAXIMUM_PROBLEMS}" in problem.message for problem in found)


def test_unusable_paths(tmp_path):
    for path, fragment in (
        (tmp_path, "regular file"),
        (tmp_path / "none.yaml", "cannot be read"),
        ("a\0b", "usable path"),
    ):
        with pytest.raises(ModelError, match=fragment):
            read_mechanism(path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(ModelError, match="UTF-8") as caught:
        read_mechanism(latin)
    assert caught.value.problems[0].line == 2


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode())
    assert read_mechanism(path) == read_mechanism_text(VALID)


def test_the_python_parser_gives_the_same_records(monkeypatch):
    """Where PyYAML was built without libyaml, its slower parser must read the same."""
    expected = read_mechanism_text(VALID)
    monkeypatch.setattr(yaml_source, "_LOADER", yaml_source.yaml.SafeLoader)
    assert read_mechanism_text(VALID) == expected
    assert read_mechanism_text(VALID.replace("{mass: load}", "")) == read_mechanism_text(
        VALID.replace("{mass: load}", "{}")
    )


def problems_of(call):
    """The problems a call is refused for; None when it is not refused.  Anything but a ModelError passes through."""
    try:
        call()
    except ModelError as error:
        return error.problems
    return None


_FUZZ = settings(max_examples=150, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_FUZZ
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path, data):
    path = tmp_path / "fuzz.yaml"
    path.write_bytes(data)
    assert problems_of(lambda: read_mechanism(path)) != ()


@_FUZZ
@given(st.text(alphabet="ab01.:-[]{},'\"&*!|>%#?\n \t~=<@`", max_size=120))
def test_random_yaml_text(text):
    assert problems_of(lambda: read_mechanism_text(text)) != ()


@_FUZZ
@given(st.integers(0, len(VALID)), st.integers(0, 30), st.text(alphabet="ab01.:-[]{},'\"&*!\n \t~pi()*/`", max_size=12))
def test_damaged_model(at, cut, patch):
    assert problems_of(lambda: read_mechanism_text(VALID[:at] + patch + VALID[at + cut :])) != ()


_WORDS = """robocompiler bodies joints p r type a b axis revolute world terms limits distance reference base ports
parameters quat s:qw"""
_words = st.sampled_from(_WORDS.split())
_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | _words | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=5),
    max_leaves=25,
)
_groups = st.sampled_from([key for key in TOP_KEYS if key not in ("robocompiler", "name")])


@_FUZZ
@given(st.dictionaries(_groups, st.dictionaries(_words, _values, max_size=3) | _values, max_size=6))
def test_random_structure(data):
    assert problems_of(lambda: mechanism_from_dict({"robocompiler": 1, "name": "n", **data})) != ()
