"""The motion layer around the generated C: dependency-aware updates, continuation and acquisition."""
