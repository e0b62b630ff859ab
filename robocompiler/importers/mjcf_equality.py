"""Equality constraints of an MJCF: connect and weld as closing joints, joint and tendon as couplings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robocompiler.importers.closings import Closing, PointPair, closings
from robocompiler.importers.draft import placement
from robocompiler.importers.log import ASSUMED, RECOGNISED
from robocompiler.importers.mjcf_tendons import Tendon, polynomial_coupling
from robocompiler.importers.mjcf_tree import Tree
from robocompiler.importers.transforms import Transform, moved, product, transposed, unit_quaternion_of
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown
from robocompiler.records.rotations import rotation_of_quaternion

_WRITTEN = ("connect", "weld", "joint", "tendon")


def import_equalities(
    root: Element, tree: Tree, tendons: Mapping[str, Tendon], *, hinges: bool
) -> list[tuple[str, dict[str, Any]]]:
    """All active equalities as records; closing joints with their data."""
    pairs: list[PointPair] = []
    made: list[tuple[str, dict[str, Any]]] = []
    for section in root.all("equality"):
        for element in section.children:
            own = tree.defaults.values(element, "", "equality")
            if element.tag not in _WRITTEN:
                tree.log.leave_out(f"<{element.tag}> equalities", element.line)
            elif not own.flag("active", True):
                tree.log.leave_out(f"inactive <{element.tag}> equalities", element.line)
            elif element.tag == "connect":
                pair = _connect(own, element, tree)
                pairs += [] if pair is None else [pair]
            elif element.tag == "weld":
                made += _weld(own, element, tree, pairs)
            else:
                _coupling(own, element, tree, tendons)
    made += [_closed(closing, tree) for closing in closings(pairs, merge=hinges)]
    if made or tree.draft.groups["couplings"]:
        tree.log.note(ASSUMED, "equalities hold exactly: solref and solimp, which soften them, are left out")
    return made


def _name(element: Element, fallback: str, tree: Tree, group: str) -> str:
    name = element.get("name")
    return tree.draft.declare(group, name, element.line, "equality") if name else tree.draft.fresh(group, fallback)


def _body(own: Values, key: str, tree: Tree) -> str | None:
    """The legal name of the body under `key`; the world when there is none."""
    name = own.items.get(key, "")
    if not name or name == WORLD:
        return WORLD
    if ("bodies", name) in tree.draft.legal:
        return tree.draft.body(name)
    names = [body.source_name for body in tree.bodies]
    own.problem(f"'{key}': no body is called {shown(name)}{tree.log.suggest(name, names)}")
    return None


def _ends(own: Values, tree: Tree) -> tuple[str, str] | None:
    if "body1" not in own:
        own.problem("'body1' is missing (or site1 and site2)")
        return None
    a, b = _body(own, "body1", tree), _body(own, "body2", tree)
    if a is not None and a == b:
        own.problem(f"ties {shown(a)} to itself; name another body2")
        return None
    return None if a is None or b is None else (a, b)


def _sites(own: Values, tree: Tree) -> list[tuple[str, Transform]] | None:
    found: list[tuple[str, Transform]] = []
    for key in ("site1", "site2"):
        name = own.items.get(key, "")
        site = tree.sites.get(name)
        if site is None:
            hint = tree.log.suggest(name, tree.sites)
            own.problem(f"'{key}': no site is called {shown(name)}{hint}" if name else f"'{key}' is missing")
        else:
            found.append((site.body, site.pose))
    if len(found) < 2:
        return None
    if found[0][0] == found[1][0]:
        own.problem(f"both sites are on {shown(found[0][0])}")
        return None
    return found


def _connect(own: Values, element: Element, tree: Tree) -> PointPair | None:
    """The pair of points; with bodies, the second point is where the first one is at qpos0."""
    if "site1" in own or "site2" in own:
        sites = _sites(own, tree)
        if sites is None:
            return None
        (a, pose_a), (b, pose_b) = sites
        name = element.get("name") or f"connect_{a}_{b}"
        return PointPair(name, a, b, pose_a.translation, pose_b.translation, None, element.line)
    ends = _ends(own, tree)
    if "anchor" not in own:
        own.problem("'anchor' is missing")
    if ends is None:
        return None
    a, b = ends
    worlds = tree.worlds
    p = own.vector("anchor")
    relative = worlds[b].inverse() @ worlds[a]
    name = element.get("name") or f"connect_{a}_{b}"
    return PointPair(name, a, b, p, relative.point(p), relative.rotation, element.line)


def _weld(own: Values, element: Element, tree: Tree, pairs: list[PointPair]) -> list[tuple[str, dict[str, Any]]]:
    name = element.get("name")
    if "site1" in own or "site2" in own:
        sites = _sites(own, tree)
        if sites is None:
            return []
        (a, pose_a), (b, pose_b) = sites
    else:
        ends = _ends(own, tree)
        if ends is None:
            return []
        a, b = ends
        worlds = tree.worlds
        values = own.numbers("relpose", (7,), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        quaternion = unit_quaternion_of(values[3:])
        pose_b = moved(own.vector("anchor"))
        if quaternion is None:  # the pose at qpos0
            relative = worlds[a].inverse() @ worlds[b]
        else:
            relative = Transform(rotation_of_quaternion(quaternion), (values[0], values[1], values[2]))
        pose_a = relative @ pose_b
    if own.number("torquescale", 1.0) == 0:
        turn = product(pose_b.rotation, transposed(pose_a.rotation))
        fallback = name or f"weld_{a}_{b}"
        pairs.append(PointPair(fallback, a, b, pose_a.translation, pose_b.translation, turn, element.line))
        tree.log.note(RECOGNISED, "a weld with torquescale 0 is a connect", own.record, element.line)
        return []
    legal = _name(element, f"weld_{a}_{b}", tree, "joints")
    data = {"type": "fixed", "a": placement(a, pose_a), "b": placement(b, pose_b)}
    tree.draft.put("joints", legal, data, element.line)
    tree.log.note(RECOGNISED, "a weld closes a loop as a fixed joint", own.record, element.line)
    return [(legal, data)]


def _closed(closing: Closing, tree: Tree) -> tuple[str, dict[str, Any]]:
    first = closing.parts[0]
    if len(closing.parts) == 1 and closing.name == first.name and not first.name.startswith("connect_"):
        legal = tree.draft.declare("joints", first.name, first.line, "equality")
    else:
        legal = tree.draft.fresh("joints", closing.name)
    data: dict[str, Any] = {
        "type": closing.type,
        "a": placement(closing.a, closing.frame_a),
        "b": placement(closing.b, closing.frame_b),
    }
    if closing.axis is not None:
        data["axis"] = closing.axis
    tree.draft.put("joints", legal, data, first.line)
    if closing.remark:
        kind = RECOGNISED if len(closing.parts) > 1 else ASSUMED
        kept = "" if len(closing.parts) > 1 else ": kept as ball joints"
        tree.log.note(kind, closing.remark + kept, f"joint {shown(legal)}", first.line)
    return legal, data


def _coupling(own: Values, element: Element, tree: Tree, tendons: Mapping[str, Tendon]) -> None:
    """y - y0 = c0 + c1 (x - x0) + ...; without x it is y - y0 = c0."""
    kind = element.tag
    sums: list[dict[str, float]] = []
    names: list[str] = []
    for key in (f"{kind}1", f"{kind}2"):
        name = own.items.get(key, "")
        if not name:
            if key.endswith("1"):
                own.problem(f"'{key}' is missing")
                return
            continue
        if kind == "joint":
            joint = tree.joints.get(name)
            if joint is None:
                own.problem(f"'{key}': no joint is called {shown(name)}{tree.log.suggest(name, tree.joints)}")
                return
            if joint.kind not in ("hinge", "slide"):
                own.problem(f"'{key}': the {joint.kind} joint {shown(name)} has not exactly one coordinate")
                return
            sums.append({joint.name: 1.0})
            names.append(joint.name)
        else:
            tendon = tendons.get(name)
            if tendon is None:
                own.problem(f"'{key}': no tendon is called {shown(name)}{tree.log.suggest(name, tendons)}")
                return
            if tendon.terms is None:
                tree.log.leave_out("equalities of spatial tendons", element.line)
                return
            sums.append(dict(tendon.terms))
            names.append(name)
    coefficients = own.numbers("polycoef", (1, 2, 3, 4, 5), (0.0, 1.0))
    legal = _name(element, "_".join((*names, "coupling")), tree, "couplings")
    data = polynomial_coupling(sums, coefficients, {joint.name: joint.ref for joint in tree.joints.values()})
    tree.draft.put("couplings", legal, data, element.line)
