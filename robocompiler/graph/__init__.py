"""The mechanism graph: spanning forest, chords, paths, dependency modules."""
