"""Samples to medians with their spread, and text for tables: those of the package."""

from robocompiler.bench.spread import Spread, microseconds, significant, table

__all__ = ["Spread", "microseconds", "significant", "table"]
