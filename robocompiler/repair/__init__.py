"""Repair of near-redundant loops: planar and spherical loops whose axes, frames or points are rounded."""
