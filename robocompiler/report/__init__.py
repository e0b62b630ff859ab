"""The page of `robocompile inspect --html`: what the compiler found about a mechanism, in one self-contained file."""
