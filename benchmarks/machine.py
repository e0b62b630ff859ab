"""What the numbers were measured on: as the package tells it."""

from robocompiler.bench.machine import describe, load, processor

__all__ = ["describe", "load", "processor"]
