"""Followers, q = multiplier q_leader + offset, as couplings with seeds that satisfy them; no cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robocompiler.importers.draft import Draft
from robocompiler.records.names import shown


@dataclass(frozen=True)
class Mimic:
    """A follower's law; names are legal coordinates of the records (the joints have one freedom)."""

    follower: str
    leader: str
    multiplier: float
    offset: float
    record: str
    line: int | None


def import_mimics(mimics: Mapping[str, Mimic], draft: Draft) -> None:
    """One coupling each: follower - multiplier leader - offset = 0."""
    for mimic in mimics.values():
        terms = {mimic.follower: 1.0, mimic.leader: -mimic.multiplier}
        name = draft.fresh("couplings", f"{mimic.follower}_mimic")
        data: dict[str, object] = {"terms": terms}
        if mimic.offset:
            data["constant"] = -mimic.offset
        draft.put("couplings", name, data, mimic.line)
    done: set[str] = set()
    for mimic in mimics.values():
        _seed(mimic, mimics, done, draft)


def _seed(mimic: Mimic, mimics: Mapping[str, Mimic], done: set[str], draft: Draft) -> None:
    """Give a follower, and those it follows, the values that their leader's seed makes; a cycle is a fault, once."""
    chain: dict[str, Mimic] = {}
    while mimic.follower not in chain and mimic.follower not in done:
        chain[mimic.follower] = mimic
        if mimic.leader not in mimics:
            break
        mimic = mimics[mimic.leader]
    done.update(chain)
    if mimic.follower in chain and mimic.leader in chain:
        names = list(chain)[list(chain).index(mimic.follower) :]
        path = " -> ".join(shown(name) for name in (*names, names[0]))
        draft.log.problem(f"the mimics form a cycle, {path}; one joint must lead", mimic.record, mimic.line)
        return
    for link in reversed(chain.values()):
        seed = draft.reference.get(link.leader, 0.0)
        assert isinstance(seed, float)
        value = link.multiplier * seed + link.offset
        if value != 0 or link.follower in draft.reference:
            draft.reference[link.follower] = value
