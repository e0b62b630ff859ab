"""Why a mesh is not drawn."""

from __future__ import annotations


class MeshRefusedError(Exception):
    """A mesh file that is missing, lies where it may not, is too large, or is not what it should be."""


class PackageMissingError(MeshRefusedError):
    """The package that a mesh is named by is not around the model; all meshes of that package share this fault."""
