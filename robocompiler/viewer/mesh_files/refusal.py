"""Why a mesh is not drawn."""

from __future__ import annotations


class MeshRefusedError(Exception):
    """A mesh file that is missing, lies where it may not, is too large, or is not what it should be."""
