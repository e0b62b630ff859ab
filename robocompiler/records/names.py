"""Which names the input language allows.

Names end up in C identifiers, manifests and messages, so the alphabet is small.  ':' is kept out of it on purpose: it
joins a joint's name with the suffix of one of its coordinates.
"""

from __future__ import annotations

import re

MAXIMUM_NAME_LENGTH = 64
NAME_PATTERN = r"^[A-Za-z0-9_.\-/]([A-Za-z0-9_.\-/ ]{0,62}[A-Za-z0-9_.\-/])?$"
UNIT_PATTERN = r"^[A-Za-z0-9/^.%\-]([A-Za-z0-9/^.%\- ]{0,22}[A-Za-z0-9/^.%\-])?$"
IDENTIFIER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"

_NAME = re.compile(NAME_PATTERN.rstrip("$"))
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN.rstrip("$"))
_FOREIGN = re.compile(r"[^A-Za-z0-9_.\-/ ]")


def check_name(name: str) -> str | None:
    """Say what is wrong with `name` as the name of a record, or None when it is fine.

    A name has 1 to 64 ASCII letters, digits, '_', '-', '.', '/' and inner spaces.
    """
    if not name:
        return "a name must not be empty"
    if len(name) > MAXIMUM_NAME_LENGTH:
        return f"a name has at most {MAXIMUM_NAME_LENGTH} characters, this one has {len(name)}"
    foreign = _FOREIGN.search(name)
    if foreign:
        return (
            f"the character {foreign.group()!a} is not allowed in a name; "
            "use ASCII letters, digits, '_', '-', '.', '/' and inner spaces"
        )
    if _NAME.fullmatch(name) is None:
        return "a name must not start or end with a space"
    return None


def check_identifier(name: str, what: str = "a parameter's name") -> str | None:
    """Say what is wrong with `name`, which is `what`, or None when it is an identifier that is legal."""
    if _IDENTIFIER.fullmatch(name) is None:
        return (
            f"{what} is an identifier: a letter or '_', then letters, digits and '_', "
            f"at most {MAXIMUM_NAME_LENGTH} characters"
        )
    return None


def shown(text: str, limit: int = 48) -> str:
    """`text` quoted for a message: printable ASCII, shortened to `limit` characters."""
    return ascii(text) if len(text) <= limit else ascii(text[:limit]) + "..."
