"""Measures compiled dynamics and their peers in the same rounds: what `robocompile bench` runs."""
