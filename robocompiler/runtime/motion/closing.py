"""The assembled configuration nearest to one that is open, where its independents may have to give way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robocompiler.errors import AssemblyError
from robocompiler.runtime.motion.inputs import Inputs
from robocompiler.runtime.motion.reports import Cause

if TYPE_CHECKING:
    from robocompiler.runtime.robot import Robot

Array = NDArray[np.float64]

RETREAT = 0.02  # of the way to a dead centre by which a walk stays before it, so that its chart is regular
_ENDS = Cause.DEAD_CENTRE | Cause.SMALL_PIVOT | Cause.BRANCH | Cause.NOT_CONVERGED | Cause.FAR


def close(robot: Robot, start: Array) -> tuple[Array, str]:
    """The assembled configuration near `start` (nq,), and what was held for it.

    'all': start is closed and comes back bit for bit.  'independents': the others closed the loops.  'nothing': the
    loops do not close with the independents held; then the smallest change of all coordinates, or, where that leads to
    another assembly branch, as far from the reference towards the independents as their modules can go.

    Raises:
        AssemblyError: none of these, or joint limits forbid it; that of assembly with the independents held.
    """
    acceptance = robot._assembler.acceptance
    if acceptance.closed(start):
        return robot.assemble(start), "all"
    try:
        return robot.assemble(start), "independents"
    except AssemblyError as error:
        if error.limits:
            raise
        return _giving_way(robot, start, error), "nothing"


def _giving_way(robot: Robot, start: Array, error: AssemblyError) -> Array:
    try:
        found = robot.assemble(start, hold=())
        if not robot._assembler.acceptance.off_branch(found):
            return found
    except AssemblyError:
        pass  # the walk is left to try; `error` tells what was wrong
    walked = _walk(robot.chart("port"), start)
    if walked is None:
        raise error
    return robot.assemble(walked)


def _walk(robot: Robot, start: Array) -> Array | None:
    """From the reference towards the inputs of `start`; a module that can go no further keeps its inputs there."""
    updater, places = robot.updater(robot.reference), _places(robot)
    inputs = {module.name: set(module.independents) & set(places) for module in robot.modules}
    targets = {name: start[place] for name, place in places.items()}
    while targets:
        here = updater.snapshot()
        updater.set_many(targets)
        path = updater.follow()
        if path.stop is None:
            return path.q
        stuck = inputs.get(path.stop.module or "", set()) & set(targets)
        if not (path.stop.cause & _ENDS and stuck):
            return None  # a joint limit, or motion that belongs to no module
        updater.restore(here)
        share, q = path.fraction * (1 - RETREAT), updater.q
        updater.set_many({name: q[places[name]] + share * (targets[name] - q[places[name]]) for name in stuck})
        if updater.follow().stop is not None:
            return None
        targets = {name: value for name, value in targets.items() if name not in stuck}
    return updater.q


def _places(robot: Robot) -> dict[str, slice]:
    """Where the inputs lie in q: scalars by the names of their speeds, balls and free roots as whole poses."""
    inputs = Inputs(robot._description)
    scalars = {inputs.names[u]: slice(s.coordinate, s.coordinate + 1) for u, s in inputs.scalars.items()}
    return scalars | {name: slice(pose.start, pose.start + pose.size) for name, pose in inputs.poses.items()}
