"""The language page: its example is a valid model, and it names every key, joint type and function."""

import re
from pathlib import Path

import pytest

from robocompiler.records import keys
from robocompiler.records.expressions import FUNCTIONS, SHORTHANDS
from robocompiler.records.joint_types import JointType
from robocompiler.records.reader import read_mechanism_text

PAGE = (Path(__file__).parents[1] / "docs" / "input-language.md").read_text(encoding="utf-8")


def test_the_first_example_is_a_valid_model():
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
    mechanism = read_mechanism_text(example)
    assert (mechanism.name, len(mechanism.bodies), len(mechanism.joints)) == ("fourbar", 3, 4)
    assert mechanism.warnings == ()


WORDS = {
    *keys.TOP_KEYS, *keys.BODY_KEYS, *keys.PLACEMENT_KEYS, *keys.JOINT_KEYS, *keys.JOINT_LIMIT_KEYS,
    *keys.COUPLING_KEYS,
    *keys.PORT_KEYS, *keys.PORT_LIMIT_KEYS, *keys.CONTACTS, *keys.PARAMETER_KEYS, *keys.REFERENCE_KEYS,
    *keys.SCALE_KEYS, *keys.DRIVE_KEYS, *keys.DRIVE_STATE_KEYS, *SHORTHANDS, "displacement", "velocity", "speed",
    *FUNCTIONS, *(kind.value for kind in JointType),
}  # fmt: skip


@pytest.mark.parametrize("word", sorted(WORDS))
def test_the_page_names(word):
    code = " ".join(re.findall(r"```.*?```|`[^`]*`", PAGE, re.DOTALL))
    assert re.search(rf"\b{re.escape(word)}\b", code)


def test_the_drives_of_the_page_are_valid():
    block = next(text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if text.startswith("drives:"))
    head = (
        "robocompiler: 1\nname: t\nbodies: {a: {mass: 1}, b: {mass: 1}, c: {mass: 1}}\n"
        "joints: {elbow: {type: revolute, a: world, b: a, axis: [0, 0, 1]}, "
        "mast: {type: revolute, a: world, b: b, axis: [0, 0, 1]}, "
        "finger: {type: prismatic, a: world, b: c, axis: [1, 0, 0]}}\n"
        "ports: {motor: {joint: elbow}, slew: {joint: mast}, gripper: {joint: finger}, "
        "cylinder: {distance: [{body: a, xyz: [1, 0, 0]}, {body: world}]}}\n"
    )
    mechanism = read_mechanism_text(head + block)
    assert [drive.name for drive in mechanism.drives] == ["servo", "slew_motor", "elastic", "spring"]
    assert mechanism.warnings == ()
