"""The columns of a simulation's log: what is recorded, under which names, in which units."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from robocompiler.errors import ArgumentError
from robocompiler.runtime.drives import DriveInterface

GROUPS = ("t", "q", "u", "udot", "f", "l", "z", "energy", "residual")


@dataclass(frozen=True)
class Column:
    """One number per row: `GROUP:NAME` with its unit ('' where there is none, or where units mix)."""

    group: str
    name: str
    unit: str

    @property
    def title(self) -> str:
        """GROUP:NAME, or the group alone where the name is empty."""
        return f"{self.group}:{self.name}" if self.name else self.group


def columns_of(robot: DriveInterface) -> tuple[Column, ...]:
    """t; q, u, udot, efforts f and displacements l of the ports, drive states z; energies; the closures' residual."""
    description = robot._description
    speeds = [(robot.velocities[i], description.velocity_units[i]) for i in robot._independent]
    lengths = port_units(robot)
    units = {name: unit for drive in robot.drives for name, unit in drive.units.items()}
    rows = [("t", "", "s")]
    rows += [("q", name, unit) for name, unit in zip(robot.coordinates, description.coordinate_units, strict=True)]
    rows += [("u", name, unit) for name, unit in speeds]
    rows += [("udot", name, f"{unit}^2") for name, unit in speeds]
    effort = {"m": "N", "rad": "N m"}
    rows += [("f", port.name, effort.get(unit, "")) for port, unit in zip(robot.ports, lengths, strict=True)]
    rows += [("l", port.name, unit) for port, unit in zip(robot.ports, lengths, strict=True)]
    rows += [("z", name, units.get(name, "")) for name in robot.drive_states]
    rows += [("energy", "kinetic", "J"), ("energy", "potential", "J"), ("residual", "", "")]
    return tuple(Column(*row) for row in rows)


def port_units(robot: DriveInterface) -> list[str]:
    """Units of port displacements: of the only coordinate with weight 1 or -1, or m between two points; else ''."""
    unit = dict(zip(robot.coordinates, robot._description.coordinate_units, strict=True))
    found = []
    for port in robot.ports:
        if port.bodies:
            found.append("m")
            continue
        kinds = {unit[name] for name in port.terms}
        found.append(kinds.pop() if len(kinds) == 1 and all(abs(w) == 1 for w in port.terms.values()) else "")
    return found


def columns_to_json(columns: tuple[Column, ...]) -> str:
    """The columns as JSON text."""
    return json.dumps([asdict(column) for column in columns])


def columns_from_json(text: str) -> tuple[Column, ...]:
    """The columns that `columns_to_json` wrote; ValueError for other text."""
    try:
        return tuple(Column(str(c["group"]), str(c["name"]), str(c["unit"])) for c in json.loads(text))
    except (TypeError, KeyError) as error:
        raise ArgumentError(f"not the columns of a log: {error}") from None
