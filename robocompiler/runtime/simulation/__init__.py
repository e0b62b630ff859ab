"""Simulation of a compiled robot in its reduced coordinates: q on the closure manifold, u in the port chart."""
