"""Runs the command line: ``python -m treewarden``."""

from __future__ import annotations

from treewarden.cli import main

if __name__ == "__main__":
    main()
