"""XML text to elements with lines, safely: no document type, no entity but the five of XML, bounded size and nesting.

Expat is used directly, since its events carry lines.  A document type is refused where it begins, so that no entity
is ever declared: neither expansion bombs nor external entities can exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from xml.parsers import expat

from robocompiler.importers.log import ImportLog
from robocompiler.records.names import shown
from robocompiler.records.yaml_source import MAXIMUM_BYTES

MAXIMUM_ELEMENTS = 200_000
MAXIMUM_NESTING = 200


@dataclass(frozen=True)
class Element:
    """An element: its attributes, children in order, the text directly inside it, and the line of its start tag."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Element, ...] = ()
    text: str = ""
    line: int | None = None

    def all(self, *tags: str) -> Iterator[Element]:
        """Children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next(self.all(tag), None)

    def get(self, key: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(key, default)

    @property
    def label(self) -> str:
        """How messages call the element: link 'arm'."""
        name = self.attributes.get("name")
        return f"{self.tag} {shown(name)}" if name else self.tag


def read_xml(text: str, file: str, log: ImportLog) -> Element:
    """The root element of XML text from `file`.  ModelError when it is not well formed or unsafe."""
    offset = log.add_file(file, text)
    if len(text) > MAXIMUM_BYTES:
        _stop(log, f"is larger than {MAXIMUM_BYTES // 1_000_000} MB, the most that is read", offset + 1)
    if not text.strip():
        _stop(log, "the file is empty", offset + 1)
    builder = _Builder(log, offset)
    try:
        builder.parser.Parse(text.lstrip("\ufeff"), True)
    except expat.ExpatError as error:
        _stop(log, f"not well-formed XML: {builder.explain(error)}", offset + error.lineno)
    assert builder.root is not None  # expat refuses a document without an element
    return builder.root


def _stop(log: ImportLog, message: str, line: int) -> None:
    log.problem(message, "", line)
    log.finish()


@dataclass
class _Open:
    """An element whose end has not been seen."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class _Builder:
    """Turns expat's events into elements."""

    def __init__(self, log: ImportLog, offset: int) -> None:
        self.root: Element | None = None
        self._log, self._offset = log, offset
        self._stack: list[_Open] = []
        self._count = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._external
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    @property
    def _line(self) -> int:
        return self._offset + self.parser.CurrentLineNumber

    def explain(self, error: expat.ExpatError) -> str:
        """Expat's message with the element that was open."""
        text = expat.errors.messages[error.code] if error.code in expat.errors.messages else str(error)
        if not self._stack:
            return text
        last = self._stack[-1]
        return f"{text}; <{last.tag}> of line {self._log.place(last.line)[1]} is still open"

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAXIMUM_ELEMENTS:
            _stop(self._log, f"holds more than {MAXIMUM_ELEMENTS} elements, the most that are read", self._line)
        if len(self._stack) >= MAXIMUM_NESTING:
            _stop(self._log, f"nested deeper than {MAXIMUM_NESTING} elements", self._line)
        self._stack.append(_Open(tag, MappingProxyType(attributes), self._line))

    def _end(self, _: str) -> None:
        done = self._stack.pop()
        element = Element(done.tag, done.attributes, tuple(done.children), "".join(done.text).strip(), done.line)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self.root = element

    def _characters(self, text: str) -> None:
        if self._stack:
            self._stack[-1].text.append(text)

    def _doctype(self, *_: object) -> None:
        _stop(
            self._log,
            "a document type (<!DOCTYPE ...>) is not read, since it can declare entities that grow without bound or "
            "fetch other files; remove it and write entities out",
            self._line,
        )

    def _entity(self, *_: object) -> None:
        _stop(self._log, "entity declarations are not read; write the text out", self._line)

    def _external(self, *_: object) -> int:
        _stop(self._log, "external entities are not read; write the text out", self._line)
        return 0
