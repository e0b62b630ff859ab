"""Matter that a joint cannot tell from its parent's, moved to the parent: the minimal inertial parameters.

A turn about z changes nothing of matter that is symmetric about z: mass m, first moment h_z and second moment J_zz have
no moment of inertia about z, and the same effect on the parent at every angle.  A slide leaves second moments J where
they are.  A joint that keeps the link's origin in place cannot tell the link's mass from a point mass of the parent.
Inertial forces, kinetic energy and weight stay the same for every motion; the links' inertias get up to four zeros
each (the world takes the rest), which the recursions never touch.  [Gautier and Khalil 1990; Khalil and Kleinfinger]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as cs

from robocompiler.symbolic.inertia import Inertia, symmetric
from robocompiler.symbolic.links import Link, LinkTree, Seat
from robocompiler.symbolic.spatial import Pose

SX = Any


def regrouped(tree: LinkTree) -> LinkTree:
    """The tree with as much of every link's inertia as can be in its parent: the same joint forces at every motion.

    Not the same potential energy (matter that went to the world is gone), nor the same wrenches inside the joints.
    """
    tree = _centred(tree)
    inertias = [link.inertia for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        empty = link.parent >= 0 and inertias[link.parent].is_zero
        kept, given = _split(link, inertias[i], empty)
        inertias[i] = kept
        if link.parent >= 0:
            inertias[link.parent] = inertias[link.parent] + given.moved(link.seat)  # at any angle alike
    links = tuple(replace(link, inertia=inertia) for link, inertia in zip(tree.links, inertias, strict=True))
    return LinkTree(links, tree.seats)


def _centred(tree: LinkTree) -> LinkTree:
    """Outermost sliding links with their origin at the centre of mass, so that nothing but a mass slides."""
    carriers = {link.parent for link in tree.links}
    links, seats = list(tree.links), dict(tree.seats)
    for i, link in enumerate(tree.links):
        m, h = link.inertia.m, link.inertia.h
        if i in carriers or not link.slides or m.is_zero() or not (m.is_constant() and h.is_constant()):
            continue
        back = Pose(Pose.identity().R, -h / m)
        centred = Inertia(m, Inertia.zero().h, link.inertia.moved(back).J)
        links[i] = replace(link, seat=link.seat @ back.inverse(), inertia=centred)
        seats |= {name: Seat(i, back @ seat.pose) for name, seat in tree.seats.items() if seat.link == i}
    return LinkTree(tuple(links), seats)


def _split(link: Link, matter: Inertia, empty_parent: bool) -> tuple[Inertia, Inertia]:
    """(what stays, what the parent takes).  A parent without matter gets mass alone, and stays cheap."""
    none = Inertia.zero()
    if link.slides:
        return Inertia(matter.m, matter.h, none.J), Inertia(none.m, none.h, matter.J)
    if link.turns_about_z and not empty_parent:
        x, y, z = (matter.h[k] for k in range(3))
        J, zero = matter.J, cs.SX(0)
        stays = symmetric((J[0, 0], J[1, 1], zero, J[0, 1], J[0, 2], J[1, 2]))
        along = symmetric((zero, zero, J[2, 2], zero, zero, zero))
        return Inertia(none.m, cs.vertcat(x, y, zero), stays), Inertia(matter.m, cs.vertcat(zero, zero, z), along)
    if link.keeps_origin:
        return Inertia(none.m, matter.h, matter.J), Inertia(matter.m, none.h, none.J)
    return matter, none
