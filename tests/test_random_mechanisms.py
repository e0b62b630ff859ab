"""Random mechanisms of the package: what the generator draws, and hundreds of them against the oracle."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from dynamics_agreement import agrees
from hypothesis import given, settings
from hypothesis import strategies as st
from random_mechanisms import Sample

from robocompiler.check.random_mechanism import LARGEST, random_mechanism, regular_inertia
from robocompiler.check.random_refusals import justified
from robocompiler.check.random_structure import Size, random_structure
from robocompiler.errors import RankError
from robocompiler.oracle.maximal import MaximalModel
from robocompiler.records.expressions import Apply, evaluate
from robocompiler.records.joint_types import JointType
from robocompiler.records.model import WORLD, Body, CoordinateSum, Distance, Joint, Mechanism, Placement
from robocompiler.records.physics import judge_inertia
from robocompiler.records.reader import read_mechanism_text
from robocompiler.records.yaml_writer import mechanism_yaml

CHECK = Path(__file__).resolve().parent.parent / "robocompiler" / "check"
DRAWN = 80
SMALL = Size(5, 3)
CHUNK = 10


@cache
def drawn() -> tuple[Sample, ...]:
    return tuple(random_mechanism(seed) for seed in range(DRAWN))


def test_the_generator_stands_on_records_and_oracle_alone() -> None:
    for name in ("random_parts", "random_structure", "random_mechanism", "random_refusals"):
        tree = ast.parse((CHECK / f"{name}.py").read_text())
        ours = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("robocompiler")
        }
        allowed = ("robocompiler.records", "robocompiler.oracle", "robocompiler.errors", "robocompiler.check.random_")
        assert [module for module in ours if not module.startswith(allowed)] == []
        assert ours


def test_a_seed_draws_the_same_mechanism_and_another_seed_another() -> None:
    assert random_mechanism(7) == drawn()[7]
    assert len({mechanism_yaml(sample.mechanism) for sample in drawn()}) == DRAWN


def test_a_mechanism_is_exactly_what_its_file_says() -> None:
    for sample in drawn():
        assert read_mechanism_text(mechanism_yaml(sample.mechanism)) == sample.mechanism


def test_every_feature_is_drawn() -> None:
    """Chords and tree joints of all types in both directions, and each kind of everything else."""
    seen: Counter[str] = Counter()
    for sample in drawn():
        records = sample.mechanism
        for joint in records.joints:
            place = "chord" if joint.name.startswith("c") else "tree"
            seen[f"{place} {joint.type.value}"] += 1
            earlier = joint.a.body == WORLD or (joint.b.body != WORLD and joint.a.body < joint.b.body)
            seen[f"{place} {'forward' if earlier else 'reversed'}"] += 1
            seen["offset"] += any(isinstance(x, Apply) for x in joint.a.translation)
            for word in ("armature", "damping", "friction"):
                seen[word] += any(getattr(joint, word))
            seen["limits"] += any(limits.position for limits in joint.limits)
        for port in records.ports:
            single = isinstance(port.measure, CoordinateSum) and len(port.measure.terms) == 1
            seen["distance" if isinstance(port.measure, Distance) else "joint port" if single else "shared port"] += 1
        seen["linear"] += any("*" in str(c.expression) and "sin" not in str(c.expression) for c in records.couplings)
        seen["cam"] += any(c.name == "cam" for c in records.couplings)
        seen["free root"] += len(records.reference.bases)
        seen["massless"] += any(body.mass == 0.0 for body in records.bodies)
        seen["payload"] += any(not isinstance(body.mass, float) for body in records.bodies)
        seen["frames"] += len(records.frames)
        seen[f"{len(records.bodies)} bodies"] += 1
    missing = {f"chord {kind.value}" for kind in JointType} | {
        f"tree {kind.value}" for kind in JointType if kind is not JointType.FREE
    }
    missing |= {f"{place} {way}" for place in ("chord", "tree") for way in ("forward", "reversed")}
    missing |= {
        "offset", "armature", "damping", "friction", "limits", "distance", "joint port", "shared port", "linear", "cam",
        "free root", "massless", "payload", "frames", "1 bodies", f"{LARGEST.bodies - 2} bodies",
    }  # fmt: skip
    assert missing - {word for word, count in seen.items() if count} == set()


def test_loops_are_closed_and_inertias_physical() -> None:
    for sample in drawn():
        records = sample.mechanism
        model = MaximalModel(records)
        assert max((abs(float(gap)) for gap in model.gaps(model.pose())), default=0.0) < 1e-12
        for body in records.bodies:
            xx, yy, zz, xy, xz, yz = (evaluate(value, records.defaults) for value in body.inertia)
            verdict = judge_inertia((xx, yy, zz, xy, xz, yz))
            assert not verdict.indefinite
            assert verdict.triangle_deficit == 0
            assert body.mass == 0.0 or (verdict.eigenvalues[0] > 0 and abs(xy) > 0)


def test_a_body_goes_massless_only_where_all_motions_keep_inertia() -> None:
    """A slide on a slide: the carriage in between may be massless, the load on it not."""
    carriage, load = (Body(name, 1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)) for name in ("carriage", "load"))
    first = Joint("first", JointType.PRISMATIC, Placement(WORLD), Placement("carriage"), (1.0, 0.0, 0.0))
    second = Joint("second", JointType.PRISMATIC, Placement("carriage"), Placement("load"), (0.0, 1.0, 0.0))
    records = Mechanism("slides", bodies=(carriage, load), joints=(first, second))
    assert regular_inertia(records)
    assert regular_inertia(replace(records, bodies=(Body("carriage"), load)))
    assert not regular_inertia(replace(records, bodies=(carriage, Body("load"))))
    assert not regular_inertia(replace(records, bodies=(Body("carriage"), Body("load"))))


@pytest.mark.parametrize("first", range(0, 200, CHUNK))
def test_agreement_with_the_oracle(first: int) -> None:
    """Every quantity of each mechanism; refusals are rare and the oracle confirms them."""
    refused = [seed for seed in range(first, first + CHUNK) if not agrees_or_is_rightly_refused(seed)]
    assert len(refused) <= CHUNK // 3


def agrees_or_is_rightly_refused(seed: int) -> bool:
    sample = random_mechanism(seed, SMALL)
    try:
        agrees(sample, np.random.default_rng(seed))
    except RankError as error:
        right, evidence = justified(error, sample.mechanism)
        assert right, f"seed {seed}: {error}: {evidence}"
        return False
    return True


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    seed=st.integers(0, 2**20), bodies=st.integers(1, 5), chords=st.integers(0, 3), couplings=st.booleans()
)  # fmt: skip
def test_agreement_of_plain_structures(seed: int, bodies: int, chords: int, couplings: bool) -> None:
    """The same with sizes that a failure shrinks to the smallest."""
    sample = random_structure(seed, Size(bodies, chords, couplings))
    try:
        agrees(sample, np.random.default_rng(seed))
    except RankError as error:
        right, evidence = justified(error, sample.mechanism)
        assert right, f"{error}: {evidence}"
