"""Python's cyclic garbage collector, paused while text is printed.

Printing makes hundreds of thousands of small tuples and hardly a cycle; the collector would walk all of them again and
again, which costs a quarter of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """No cyclic collection inside the `with` block; objects without cycles are freed as ever."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
