"""Default classes of an MJCF: what an element has when it does not say."""

from __future__ import annotations

from dataclasses import dataclass, field

from robocompiler.importers.log import ImportLog
from robocompiler.importers.values import Values
from robocompiler.importers.xml_reader import Element
from robocompiler.records.names import shown

MAIN = "main"
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "dcmotor",
    "plugin",
)  # fmt: skip
_FAMILY = {
    **dict.fromkeys(ACTUATORS, "actuator"),  # the shortcuts share one set of defaults
    **dict.fromkeys(("connect", "weld", "flex", "flexvert", "flexstrain"), "equality"),
    **dict.fromkeys(("fixed", "spatial"), "tendon"),
}
_WITHOUT = ("freejoint", "inertial", "body", "frame")  # elements that take nothing from classes


@dataclass
class Defaults:
    """Attributes by class and kind of element; a class has what its parent has and its own on top."""

    log: ImportLog
    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {MAIN: {}})

    def values(self, element: Element, active: str, kind: str = "") -> Values:
        """The element's values with those of its class, else of the active class.  `kind` replaces its tag."""
        own = dict(element.attributes)
        if element.tag in _WITHOUT:
            return Values(own, element.label, element.line, self.log)
        name = own.get("class", active or MAIN)
        if name not in self.classes:
            hint = self.log.suggest(name, self.classes)
            self.log.problem(f"no default class is called {shown(name)}{hint}", element.label, element.line)
            name = MAIN
        family = kind or _FAMILY.get(element.tag, element.tag)
        return Values({**self.classes[name].get(family, {}), **own}, element.label, element.line, self.log)

    def check(self, name: str, element: Element) -> str:
        """The class called `name`, or the main one with a fault noted."""
        if not name or name in self.classes:
            return name
        hint = self.log.suggest(name, self.classes)
        self.log.problem(f"no default class is called {shown(name)}{hint}", element.label, element.line)
        return MAIN


def read_defaults(root: Element, log: ImportLog) -> Defaults:
    """All classes of the file.  The outermost class may have any name, and may be written in several elements."""
    defaults = Defaults(log)
    for element in root.all("default"):
        defaults.classes[element.get("class", MAIN)] = defaults.classes[MAIN]
        _read(element, defaults.classes[MAIN], defaults)
    return defaults


def _read(element: Element, own: dict[str, dict[str, str]], defaults: Defaults) -> None:
    """Add what a class says to `own`, then its inner classes, which start from all of that."""
    for child in element.children:
        if child.tag != "default":
            family = _FAMILY.get(child.tag, child.tag)
            own[family] = {**own.get(family, {}), **child.attributes}
    for child in element.all("default"):
        name = child.get("class")
        record = f"default {shown(name)}"
        if not name:
            defaults.log.problem("a nested default needs a class", "default", child.line)
        elif name in defaults.classes:
            defaults.log.problem(f"another default class is called {shown(name)}; rename one", record, child.line)
        else:
            defaults.classes[name] = {family: dict(attributes) for family, attributes in own.items()}
            _read(child, defaults.classes[name], defaults)
