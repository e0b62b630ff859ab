"""Mesh files of untrusted models: where they may lie, how large they may be, and what is read of them: triangles."""
