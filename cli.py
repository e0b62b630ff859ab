"""The `robocompile` command from a checkout: python cli.py MODEL -o build/."""

from robocompiler.cli import main

if __name__ == "__main__":
    main()
