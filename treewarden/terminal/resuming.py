"""Lets a long command keep what is solved, so that after an interrupt the same command goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from treewarden.terminal.exits import RESUMED
from treewarden.terminal.progress import ProgressPrinter


@contextmanager
def resuming(
    context: click.Context, folder: Path | None, progress: ProgressPrinter
) -> Iterator[None]:
    """Keep what is solved in a folder meanwhile, if there is to be one; say in the end what was taken from there.

    Raises:
        OutputError: the folder cannot be made, or others can write into it.
    """
    context.meta[RESUMED] = "" if folder is None else str(folder)
    if folder is None:
        yield
        return
    from treewarden.audit.solver.checkpoint import keeping  # heavy: for a folder only

    with keeping(folder) as checkpoint:
        yield
    if checkpoint is None:
        return
    if checkpoint.taken:
        progress.say(f"{checkpoint.taken} solved before, and taken from {folder} after a check")
    for note in checkpoint.notes:
        progress.say(f"note: {note}")
