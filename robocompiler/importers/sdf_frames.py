"""The frame graph of SDF: every pose is relative to something, every frame is attached to some link.

A scope is a model, or the world, which behaves like a model whose links are fixed.  Names reach into inner models by
`inner::name`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from robocompiler.importers.log import ImportLog
from robocompiler.importers.sdf_values import pose_of, relative_to
from robocompiler.importers.transforms import UNMOVED, Transform
from robocompiler.importers.xml_reader import Element
from robocompiler.records.model import WORLD
from robocompiler.records.names import shown

T = TypeVar("T")
MODEL_FRAME = "__model__"
_DEEPEST = 100  # frames that are relative to one another
_NAMED = ("link", "joint", "frame", "model")


@dataclass
class Scope:
    """One model (or the world).

    active: frames that are being resolved, as (path, name); all scopes share one list.
    path: names of the models down to here, joined by '/', '' for the world; links of the records are `path`/name.
    """

    element: Element
    path: str
    log: ImportLog
    static: bool = False
    items: dict[str, Element] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    _poses: dict[str, Transform] = field(default_factory=dict)
    active: list[tuple[str, str]] = field(default_factory=list)

    def full(self, name: str) -> str:
        """The name of one of this scope's links, joints or frames among all."""
        return f"{self.path}/{name}" if self.path else name

    def record(self, element: Element) -> str:
        """How messages call an element of this scope."""
        return f"{self.path}: {element.label}" if self.path else element.label

    @property
    def is_world(self) -> bool:
        """Whether this is the world."""
        return self.element.tag != "model"

    def all(self, tag: str) -> Iterator[tuple[str, Element]]:
        """Names and elements of one kind."""
        return ((name, element) for name, element in self.items.items() if element.tag == tag)

    def scopes(self) -> Iterator[Scope]:
        """This scope and all below it."""
        yield self
        for inner in self.inner.values():
            yield from inner.scopes()

    def pose(self, name: str, owner: Element) -> Transform:
        """Pose of a frame of this scope in the scope's own frame; identity with a fault noted at `owner`."""
        if name == MODEL_FRAME or (name == WORLD and self.is_world):
            return UNMOVED
        head, _, rest = name.partition("::")
        if rest:
            inner = self._inside(head, owner)
            return UNMOVED if inner is None else self.pose(head, owner) @ inner.pose(rest, owner)
        if name not in self._poses:
            found = self._guarded(name, owner, lambda: self._pose_of_item(name, owner))
            self._poses[name] = UNMOVED if found is None else found
        return self._poses[name]

    def _pose_of_item(self, name: str, owner: Element) -> Transform | None:
        element = self.items.get(name)
        if element is None:
            self.unknown(name, owner)
            return None
        base = relative_to(element) or self._default_base(element)
        pose = self.pose(base, element) @ pose_of(element, self.record(element), self.log)
        if element.tag == "model" and element.get("placement_frame"):
            pose = pose @ self.inner[name].pose(element.get("placement_frame"), element).inverse()
        return pose

    def _default_base(self, element: Element) -> str:
        if element.tag == "frame":
            return element.get("attached_to") or MODEL_FRAME
        if element.tag == "joint":
            child = element.first("child")
            return child.text if child is not None and child.text else MODEL_FRAME
        return MODEL_FRAME

    def link(self, name: str, owner: Element) -> str:
        """Full name of the link that a frame is attached to, the world's name, or '' with a fault noted at `owner`."""
        if name == WORLD:
            return WORLD
        if name == MODEL_FRAME:
            return WORLD if self.is_world else self.canonical(owner)
        head, _, rest = name.partition("::")
        if rest:
            inner = self._inside(head, owner)
            return "" if inner is None else inner.link(rest, owner)
        element = self.items.get(name)
        if element is None:
            self.unknown(name, owner)
            return ""
        if element.tag == "link":
            return self.full(name)
        if element.tag == "model":
            return self.inner[name].canonical(owner)
        target = element.get("attached_to") if element.tag == "frame" else self._default_base(element)
        found = self._guarded(f"{name} (attached)", owner, lambda: self.link(target or MODEL_FRAME, element))
        return found or ""

    def canonical(self, owner: Element) -> str:
        """Full name of the link that the model frame is attached to: the one it names, else the first."""
        name = self.element.get("canonical_link")
        if name:
            return self.link(name, self.element)
        first = next((name for name, _ in self.all("link")), None)
        if first is not None:
            return self.full(first)
        for inner in self.inner.values():
            return inner.canonical(owner)
        self.log.problem(f"the model {shown(self.element.get('name'))} has no link", self.record(owner), owner.line)
        return ""

    def unknown(self, name: str, owner: Element) -> None:
        """Note that no frame has this name."""
        hint = self.log.suggest(name, self.items)
        self.log.problem(f"no link, joint or frame is called {shown(name)}{hint}", self.record(owner), owner.line)

    def _inside(self, head: str, owner: Element) -> Scope | None:
        if head not in self.inner:
            hint = self.log.suggest(head, self.inner)
            self.log.problem(f"no model is called {shown(head)}{hint}", self.record(owner), owner.line)
        return self.inner.get(head)

    def _guarded(self, name: str, owner: Element, run: Callable[[], T]) -> T | None:
        """What `run` finds about a frame, or None with a fault noted when that leads back to the frame itself."""
        if len(self.active) >= _DEEPEST:
            self.log.problem(f"more than {_DEEPEST} frames in a row", self.record(owner), owner.line)
            return None
        key = (self.path, name)
        if key in self.active:
            names = [shown(n) for _, n in self.active[self.active.index(key) :]]
            self.log.problem(
                f"the frames form a cycle: {' -> '.join((*names, names[0]))}", self.record(owner), owner.line
            )
            return None
        self.active.append(key)
        try:
            return run()
        finally:
            self.active.pop()


def build_scope(
    element: Element,
    path: str,
    log: ImportLog,
    *,
    static: bool = False,
    active: list[tuple[str, str]] | None = None,
) -> Scope:
    """The scope of a model or world with everything below it; names that stand twice are faults."""
    scope = Scope(element, path, log, static, active=[] if active is None else active)
    for child in element.children:
        if child.tag not in _NAMED:
            continue
        name = child.get("name")
        if not name:
            log.problem("'name' is missing", scope.record(child), child.line)
        elif name in scope.items:
            first = log.place(scope.items[name].line)[1]
            log.problem(
                f"another {scope.items[name].tag} of this model has this name already (line {first}); rename one",
                scope.record(child),
                child.line,
            )
        elif name in (WORLD, MODEL_FRAME) or name.startswith("__"):
            log.problem("this name is reserved; rename it", scope.record(child), child.line)
        else:
            scope.items[name] = child
            if child.tag == "model":
                fixed = static or _is_static(child)
                scope.inner[name] = build_scope(
                    child, f"{path}/{name}" if path else name, log, static=fixed, active=scope.active
                )
    return scope


def _is_static(model: Element) -> bool:
    element = model.first("static")
    return element is not None and element.text.strip().lower() in ("true", "1")
