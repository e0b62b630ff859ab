"""Tendons of an MJCF as far as couplings and ports need them: weighted sums, and straight lines between two sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robocompiler.importers.mjcf_tree import Site, Tree
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import check_identifier, shown

_FORCES = {
    "stiffness": "springs of tendons (stiffness): write a port with a drive",
    "damping": "damping of tendons: write a port with a drive",
    "frictionloss": "friction of tendons",
    "armature": "armature of tendons",
}


@dataclass(frozen=True)
class Tendon:
    """terms: legal coordinate -> coefficient of a fixed tendon; ends: the sites of a straight spatial one."""

    name: str
    terms: Mapping[str, float] | None
    ends: tuple[Site, Site] | None
    line: int | None


def read_tendons(root: Element, tree: Tree) -> dict[str, Tendon]:
    """All tendons by name."""
    tendons: dict[str, Tendon] = {}
    for section in root.all("tendon"):
        for element in section.children:
            own = tree.defaults.values(element, "")
            name = element.get("name") or f"tendon_{len(tendons) + 1}"
            if name in tendons:
                own.problem(f"another tendon has this name already (line {tree.log.place(tendons[name].line)[1]})")
                continue
            if element.tag == "fixed":
                tendons[name] = Tendon(name, _terms(element, tree), None, element.line)
            else:
                tendons[name] = Tendon(name, None, _ends(element, tree), element.line)
            for key, words in _FORCES.items():
                if any(own.numbers(key, (1, 2, 3), (0.0,))):
                    tree.log.leave_out(words, element.line)
            if "range" in own:
                tree.log.leave_out("limits of tendon lengths", element.line)
    return tendons


def _terms(element: Element, tree: Tree) -> dict[str, float]:
    terms: dict[str, float] = {}
    for child in element.all("joint"):
        own = Values(child.attributes, f"{element.label}: joint", child.line, tree.log)
        name, weight = own.text("joint"), own.required("coef")
        if name is None:
            continue
        joint = tree.joints.get(name)
        if joint is None:
            own.problem(f"no joint is called {shown(name)}{tree.log.suggest(name, tree.joints)}")
        elif joint.kind not in ("hinge", "slide"):
            own.problem(f"the {joint.kind} joint {shown(name)} has not exactly one coordinate")
        else:
            terms[joint.name] = terms.get(joint.name, 0.0) + weight
    return terms


def _ends(element: Element, tree: Tree) -> tuple[Site, Site] | None:
    """The two sites of a tendon that is one straight line, or None."""
    sites: list[Site] = []
    for child in element.children:
        own = Values(child.attributes, f"{element.label}: {child.tag}", child.line, tree.log)
        if child.tag != "site":
            return None
        name = own.text("site")
        if name is not None and name not in tree.sites:
            own.problem(f"no site is called {shown(name)}{tree.log.suggest(name, tree.sites)}")
        elif name is not None:
            sites.append(tree.sites[name])
    return (sites[0], sites[1]) if len(sites) == 2 and sites[0].body != sites[1].body else None


def polynomial_coupling(
    sums: Sequence[Mapping[str, float]], coefficients: Sequence[float], refs: Mapping[str, float]
) -> dict[str, Any]:
    """Record data of y - y0 = c0 + c1 (x - x0) + ...; y, x are sums of coordinates, y0, x0 their values at refs."""
    y, x = sums[0], sums[1] if len(sums) > 1 else {}
    c = [*coefficients, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(coefficients) :]]  # what is not written keeps its default
    if not x:
        c = [c[0], 0.0, 0.0, 0.0, 0.0]
    y0 = sum(weight * refs.get(name, 0.0) for name, weight in y.items())
    x0 = sum(weight * refs.get(name, 0.0) for name, weight in x.items())
    if not any(c[2:]):
        terms = dict(y)
        for name, weight in x.items():
            terms[name] = terms.get(name, 0.0) - c[1] * weight
        constant = -y0 - c[0] + c[1] * x0
        return {"terms": terms, **({"constant": constant} if constant else {})}
    deviation = f"({_sum(x)} - {_number(x0)})" if x0 else f"({_sum(x)})"
    parts = [f"{_number(value)}*{deviation}**{power}" for power, value in enumerate(c) if power > 0 and value]
    right = " + ".join([_number(y0 + c[0]), *parts])
    return {"expression": f"{_sum(y)} - ({right})"}


def _sum(terms: Mapping[str, float]) -> str:
    return " + ".join(
        _symbol(name) if weight == 1 else f"{_number(weight)}*{_symbol(name)}" for name, weight in terms.items()
    )


def _symbol(name: str) -> str:
    return name if check_identifier(name) is None else f"`{name}`"


def _number(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(value)
