"""The names of a simulation: controllers, references, events, loads, logs.

import robocompiler as rc
reference = rc.simulation.through_independents(robot, times, values)
controller = rc.simulation.TrackingController(robot, reference, kp=4e4, kd=800)
motion = robot.simulate(2.0, controller=controller, log="run.parquet")
"""

from __future__ import annotations

from robocompiler.runtime.simulation.builtin_events import joint_limits, port_limits, port_speed_limits
from robocompiler.runtime.simulation.compiled_controller import CompiledController
from robocompiler.runtime.simulation.controllers import Commands, Controller, Direct, Sampled
from robocompiler.runtime.simulation.events import Event, Impact, Jump, Note, Occurrence, Stop
from robocompiler.runtime.simulation.loads import NoFriction, SmoothFriction
from robocompiler.runtime.simulation.log import Log
from robocompiler.runtime.simulation.log_files import read_log
from robocompiler.runtime.simulation.reference import Reference, Wanted, through_independents, through_ports
from robocompiler.runtime.simulation.result import End, Simulation, Statistics
from robocompiler.runtime.simulation.splines import CubicSpline
from robocompiler.runtime.simulation.tracking import (
    GravityFeedforward,
    InverseDynamics,
    NoFeedforward,
    TrackingController,
)

__all__ = [
    "Commands", "CompiledController", "Controller", "CubicSpline", "Direct", "End", "Event", "GravityFeedforward",
    "Impact", "InverseDynamics", "Jump", "Log", "NoFeedforward", "NoFriction", "Note", "Occurrence", "Reference",
    "Sampled", "Simulation", "SmoothFriction", "Statistics", "Stop", "TrackingController", "Wanted", "joint_limits",
    "port_limits", "port_speed_limits", "read_log", "through_independents", "through_ports",
]  # fmt: skip
