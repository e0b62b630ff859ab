"""The JSON Schema accepts every valid model and catches the faults of shape."""

import copy
from pathlib import Path

import jsonschema
import pytest
import yaml

from robocompiler.records import keys
from robocompiler.records.joint_types import JointType
from robocompiler.records.reader import mechanism_from_dict
from robocompiler.records.schema import json_schema

EVERYTHING = yaml.safe_load((Path(__file__).parent / "data" / "reader" / "everything.yaml").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def test_the_schema_is_valid_and_covers_every_key_and_type():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == set(keys.TOP_KEYS)
    assert set(schema["$defs"]["joint"]["properties"]["type"]["enum"]) == {kind.value for kind in JointType}
    offered = {key for branch in schema["$defs"]["joint"]["oneOf"] for key in branch["properties"]}
    assert offered == set(keys.JOINT_KEYS)
    assert set(schema["$defs"]["frame"]["properties"]) == set(keys.PLACEMENT_KEYS)
    assert set(schema["$defs"]["pose"]["properties"]) == set(keys.BASE_KEYS)


def test_it_accepts_the_model_that_uses_everything():
    assert list(VALIDATOR.iter_errors(EVERYTHING)) == []
    assert set(EVERYTHING["joints"]) == {joint.name for joint in mechanism_from_dict(EVERYTHING).joints}


MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.yaml"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_it_accepts_the_models_of_the_project(path):
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    assert list(VALIDATOR.iter_errors(data)) == []


CHANGES = [
    (["robocompiler"], 2),
    (["tree"], {}),
    (["gravity"], [0, 0]),
    (["bodies", "crank", "inertia"], [1, 2]),
    (["bodies", "crank", "mass"], True),
    (["bodies", "a:b"], {}),
    (["bodies"], {}),
    (["joints", "j_ga", "type"], "hinge"),
    (["joints", "j_ga", "pitch"], 1),
    (["joints", "ball", "axis"], [0, 0, 1]),
    (["joints", "cyl", "damping"], 1),
    (["joints", "cyl", "limits"], {"velocity": 1}),
    (["joints", "j_ga", "b"], {"body": "crank", "rpy": [0, 0, 0], "quat": [1, 0, 0, 0]}),
    (["couplings", "cam"], {"expression": "rail", "terms": {"rail": 1}}),
    (["ports", "motor"], {"joint": "j_ga", "terms": {"j_ga": 1}}),
    (["drives", "servo"], {"effort": 1}),
    (["drives", "servo", "gain"], 1),
    (["drives", "servo", "states"], ["lag"]),
    (["drives", "servo", "states", "lag"], {"unit": "rad"}),
    (["drives", "servo", "commands"], ["target", "target"]),
    (["drives", "servo", "constants", "a-b"], 1),
    (["ports", "cylinder", "distance"], [{"body": "crank"}]),
    (["supports", "stand", "tool"], "glue"),
    (["parameters", "a-b"], 1),
    (["reference", "base"], {"crank": {"pos": 1}}),
    (["scales", "mass"], 1),
]


@pytest.mark.parametrize(("path", "value"), CHANGES, ids=[".".join(path) for path, _ in CHANGES])
def test_it_refuses_faults_of_shape(path, value):
    data = copy.deepcopy(EVERYTHING)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(data)
