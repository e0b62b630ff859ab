"""Measurements of the compiler and of the generated code; `python -m benchmarks.run` runs them all."""
