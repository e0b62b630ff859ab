"""python -m robocompiler.cli does what robocompile does."""

from robocompiler.cli import main

main()
