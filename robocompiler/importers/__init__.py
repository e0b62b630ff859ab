"""Importers: URDF, MJCF and SDF files to the records of a mechanism, with a report of what was decided on the way."""
