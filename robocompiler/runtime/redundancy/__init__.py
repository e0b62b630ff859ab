"""Redundancy resolution: tasks, bounds, metrics, preferences and relaxation policies for `robot.resolve`."""

from robocompiler.runtime.redundancy.bounds import (
    Bound,
    JointPositions,
    JointSpeeds,
    PortDisplacements,
    PortSpeeds,
    UserBound,
    declared,
)
from robocompiler.runtime.redundancy.metrics import Joints, Kinetic, Metric, Ports, UserMetric
from robocompiler.runtime.redundancy.preferences import JointInterior, Preference, StrokeInterior, UserPreference
from robocompiler.runtime.redundancy.problem import KktResiduals
from robocompiler.runtime.redundancy.relaxation import Relaxation, ScaleTask, Slack
from robocompiler.runtime.redundancy.resolve import Resolution, TaskRank
from robocompiler.runtime.redundancy.tasks import (
    FrameOrientation,
    FramePose,
    FramePosition,
    JointCoordinate,
    PortDisplacement,
    Task,
    UserTask,
)

__all__ = [
    "Bound",
    "FrameOrientation",
    "FramePose",
    "FramePosition",
    "JointCoordinate",
    "JointInterior",
    "JointPositions",
    "JointSpeeds",
    "Joints",
    "Kinetic",
    "KktResiduals",
    "Metric",
    "PortDisplacement",
    "PortDisplacements",
    "PortSpeeds",
    "Ports",
    "Preference",
    "Relaxation",
    "Resolution",
    "ScaleTask",
    "Slack",
    "StrokeInterior",
    "Task",
    "TaskRank",
    "UserBound",
    "UserMetric",
    "UserPreference",
    "UserTask",
    "declared",
]
