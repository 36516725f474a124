"""Tries in a process of its own whether a library of another language gets over a file, as some broken ones end it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from treewarden.ppdm_models.records.readers import Whole

TRIAL = """
import io, sys, pyreadstat
function, path = sys.argv[1:]
file = path or io.BytesIO(sys.stdin.buffer.read())
getattr(pyreadstat, function)(file, metadataonly=True, output_format="dict")
"""
OUTCOMES = frozenset({0, 1})
"""How Python ends by itself, well or with an error that can be told; a library that fails at a bad place ends it."""


def survives(function: str, whole: Whole) -> bool:
    """Return whether what a file says of itself is read, or refused, without the end of the process that reads it."""
    if not sys.executable:  # within another program
        return True
    path, data = (str(whole), b"") if isinstance(whole, Path) else ("", whole)
    done = subprocess.run(
        [sys.executable, "-P", "-c", TRIAL, function, path],
        input=data,
        capture_output=True,  # where no file may be written, not even the one that is no file
        check=False,
    )
    return done.returncode in OUTCOMES
