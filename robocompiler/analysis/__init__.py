"""Numeric decisions at compile time: reference assembly, rank, row and dependent selection, charts."""
