"""Drives: the constitutive law of the actuator behind a port, with states z and commands c.

    f = f_f(z, c, l, ldot, q, v)        zdot = f_z(z, c, l, ldot, q, v)

Laws are expressions.  `displacement` and `velocity` are l and ldot of the drive's own port, a coordinate's name is the
coordinate, `speed(name)` a joint velocity by its name, and `effort` (in rates only) the drive's own f.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from robocompiler.records.catalogue import Catalogue
from robocompiler.records.cursor import Cursor
from robocompiler.records.expressions import FUNCTIONS, SHORTHANDS, Constant, Expression, Scalar, names
from robocompiler.records.fields import expression, scalar
from robocompiler.records.joint_types import velocity_names
from robocompiler.records.keys import DRIVE_COMMAND_KEYS, DRIVE_KEYS, DRIVE_STATE_KEYS
from robocompiler.records.model import Drive, DriveCommand, DriveState
from robocompiler.records.names import UNIT_PATTERN, check_identifier, shown
from robocompiler.records.nodes import BrokenNode, ListNode, MappingNode, ScalarNode

DISPLACEMENT, VELOCITY, EFFORT = "displacement", "velocity", "effort"
SPEED = "speed"  # speed(name) is the joint velocity `name`: the symbol "speed(name)"
MAXIMUM_COMMANDS = 1000
_OWN = (DISPLACEMENT, VELOCITY, EFFORT)
_UNIT = re.compile(UNIT_PATTERN.rstrip("$"))


def parse_drives(cursor: Cursor | None, ports: frozenset[str], catalogue: Catalogue) -> tuple[Drive, ...]:
    """All drives in file order; `ports` are the names that the file declares, sound records or not."""
    children = {} if cursor is None else cursor.named("drives")
    owners: dict[str, str] = {}
    drives = []
    for name, child in children.items():
        fields = child.fields(DRIVE_KEYS, ("port", "effort"))
        port = _port(name, fields["port"], ports, owners) if "port" in fields else None
        drive = _Laws(name, fields, catalogue).drive(port or "", child)
        if drive is not None:
            drives.append(drive)
    return tuple(drives)


def speed_symbol(velocity: str) -> str:
    """The symbol that a joint velocity has in a law."""
    return f"{SPEED}({velocity})"


def _port(drive: str, field: Cursor, ports: frozenset[str], owners: dict[str, str]) -> str | None:
    port = field.text("the name of a port")
    if port is None:
        return None
    if port not in ports:
        offered = field.log.suggest(port, ports) if ports else "; the file declares no ports"
        field.problem(f"no port is called {shown(port)}{offered}")
        return None
    if port in owners:
        field.problem(
            f"port {shown(port)} has the drive {shown(owners[port])} already; a port has one drive, so merge the two "
            "laws or give this one a port of its own"
        )
        return None
    owners[port] = drive
    return port


@dataclass(frozen=True)
class _Declared:
    """A local name of a drive: what it is and where it stands."""

    what: str
    cursor: Cursor


class _Laws:
    """Reads one drive; every fault is noted, whatever else is wrong."""

    def __init__(self, name: str, fields: Mapping[str, Cursor], catalogue: Catalogue) -> None:
        self.name, self.fields, self.catalogue = name, fields, catalogue
        self.local: dict[str, _Declared] = {}
        self.used: set[str] = set()
        self.velocities = {
            velocity
            for joint, kind in catalogue.joints.items()
            if kind is not None
            for velocity in velocity_names(joint, kind)
        }

    def drive(self, port: str, cursor: Cursor) -> Drive | None:
        """The record, or None when something that it stands on could not be read."""
        before = cursor.log.count
        commands, states, constants = self._commands(), self._states(), self._constants()
        effort = self._law(self.fields["effort"], _OWN[:2]) if "effort" in self.fields else None
        rates = self._rates(states)
        for name, declared in self.local.items():
            if declared.what != "state" and name not in self.used and cursor.log.count == before:
                cursor.log.warn(f"no law of this drive uses this {declared.what}", *_place(declared.cursor))
        if effort is None or not port or cursor.log.count > before:
            return None
        moving = tuple(DriveState(name, start, rates[name], unit) for name, (start, unit) in states.items())
        return Drive(self.name, port, effort, moving, commands, constants, cursor.source)

    # --- local names ---

    def _declare(self, name: str, what: str, cursor: Cursor) -> None:
        fault = check_identifier(name, f"a {what}'s name")
        if fault is None and (name == "pi" or name in FUNCTIONS or name in SHORTHANDS or name in (*_OWN, SPEED)):
            fault = f"{shown(name)} has a meaning in drive laws already; choose another name"
        elif fault is None and name in self.local:
            other = self.local[name]
            fault = f"this drive has a {other.what} {shown(name)} already (line {other.cursor.source.line}); rename one"
        elif fault is None and name in self.catalogue.parameters:
            fault = f"a run-time parameter is called {shown(name)} too; rename one"
        elif fault is None and name in self.catalogue.scalars:
            fault = f"a joint coordinate is called {shown(name)} too; rename the {what}"
        if fault:
            cursor.problem(fault)
        self.local.setdefault(name, _Declared(what, cursor))

    def _commands(self) -> tuple[DriveCommand, ...]:
        """A list of names, or a mapping from names to {unit}."""
        field = self.fields.get("commands")
        if field is None:
            return ()
        if isinstance(field.node, ListNode):
            items = field.items(range(MAXIMUM_COMMANDS + 1), f"a list of at most {MAXIMUM_COMMANDS} names") or ()
            found = [(item.text("the name of a command"), item, "") for item in items]
        else:
            found = [
                (name, child, _unit(child.fields(DRIVE_COMMAND_KEYS, may_be_empty=True).get("unit")))
                for name, child in field.children("a list of names, or a mapping from names to {unit}").items()
            ]
        for name, cursor, _ in found:
            if name is not None:
                self._declare(name, "command", cursor)
        return tuple(DriveCommand(name, unit) for name, _, unit in found if name is not None)

    def _states(self) -> dict[str, tuple[float, str]]:
        """{name: (initial value, unit)}, given as `name: 0` or `name: {initial: 0, unit: A}`."""
        field = self.fields.get("states")
        states: dict[str, tuple[float, str]] = {}
        for name, child in (field.children("a mapping from names to initial values") if field else {}).items():
            self._declare(name, "state", child)
            value: Cursor | None = child
            unit = ""
            if isinstance(child.node, MappingNode):
                parts = child.fields(DRIVE_STATE_KEYS, ("initial",))
                value, unit = parts.get("initial"), _unit(parts.get("unit"))
            states[name] = (0.0 if value is None else self._initial(value), unit)
        return states

    def _initial(self, cursor: Cursor) -> float:
        tree = expression(cursor, self.catalogue)
        if isinstance(tree, Constant):
            return tree.value
        if tree is not None:
            cursor.problem("an initial value is a number; no name can stand here (another z is an input of every call)")
        return 0.0

    def _constants(self) -> tuple[tuple[str, Scalar], ...]:
        """Numbers, or expressions over run-time parameters."""
        field = self.fields.get("constants")
        children = field.children("a mapping from names to numbers") if field else {}
        for name, child in children.items():
            self._declare(name, "constant", child)
        return tuple((name, scalar(child, self.catalogue)) for name, child in children.items())

    # --- laws ---

    def _rates(self, states: Mapping[str, tuple[float, str]]) -> dict[str, Expression]:
        """zdot by state; a state without a rate and a rate without a state are faults."""
        field = self.fields.get("rates")
        children = field.children("a mapping from states to rates") if field else {}
        broken = field is not None and isinstance(field.node, BrokenNode)
        for name in states:
            if name not in children and not broken:
                self.local[name].cursor.problem(f"has no rate; say how it changes, rates: {{{name}: ...}}")
        rates = {}
        for name, child in children.items():
            if name not in states:
                hint = child.log.suggest(name, states)
                child.problem(f"no state of this drive is called {shown(name)}{hint}; declare it under states")
            tree = self._law(child, _OWN)
            if tree is not None:
                rates[name] = tree
        return rates

    def _law(self, field: Cursor, own: tuple[str, ...]) -> Expression | None:
        """An expression whose names are all known; `own` are those of the drive's port that may stand here."""
        text = field.node.text if isinstance(field.node, ScalarNode) else ""
        if text.count("(") > text.count(")"):
            field.problem(
                f"{shown(text)} ends inside parentheses; between braces YAML takes a comma for the end of a value: put "
                "the expression in quotes"
            )
            return None
        tree = expression(field, self.catalogue, (SPEED,))
        if tree is None:
            return None
        wanted = names(tree)
        self.used |= wanted
        for name in sorted(wanted):
            fault = self._fault(name, field, own)
            if fault:
                field.problem(fault)
        return tree

    def _fault(self, name: str, field: Cursor, own: tuple[str, ...]) -> str | None:
        catalogue = self.catalogue
        if name in _OWN:
            if name not in own:
                return "the effort cannot stand in its own law; only rates may name it"
            if name in catalogue.scalars or name in catalogue.parameters:
                what = "a joint coordinate" if name in catalogue.scalars else "a run-time parameter"
                return f"{name} is that of the drive's port here, but {what} is called so too; rename that one"
            return None
        if name.startswith(f"{SPEED}("):
            return self._speed_fault(name[len(SPEED) + 1 : -1], field)
        if name in self.local or name in catalogue.parameters:
            return None
        joint = name.partition(":")[0]
        if name in catalogue.scalars or joint in catalogue.joints:
            catalogue.coordinate(name, field)  # notes the fault of a joint that is no single number
            return None
        hint = field.log.suggest(name, self.local, _OWN, catalogue.parameters, catalogue.scalars)
        return (
            f"no state, command, constant, parameter or joint coordinate is called {shown(name)}{hint}; "
            "declare it in this drive, or correct it"
        )

    def _speed_fault(self, velocity: str, field: Cursor) -> str | None:
        joint = velocity.partition(":")[0]
        kind = self.catalogue.joints.get(joint)
        if velocity in self.velocities or (kind is None and joint in self.catalogue.joints):
            return None
        if kind is not None:
            offered = ", ".join(shown(other) for other in velocity_names(joint, kind)) or "none"
            return f"{SPEED}: {shown(velocity)} is no velocity; those of this {kind.value} joint are {offered}"
        hint = field.log.suggest(velocity, self.velocities)
        return f"{SPEED}: no joint velocity is called {shown(velocity)}{hint}"


def _unit(field: Cursor | None) -> str:
    """A unit as it is written: it is only ever shown."""
    if field is None:
        return ""
    unit = field.text("a unit, such as A or rad/s")
    if unit is None:
        return ""
    if not isinstance(field.node, ScalarNode) or _UNIT.fullmatch(unit) is None:
        field.problem(f"{shown(unit)} is no unit: use at most 24 letters, digits and / ^ . - % and inner spaces")
        return ""
    return unit


def _place(cursor: Cursor) -> tuple[str, int | None]:
    return cursor.record, cursor.line
