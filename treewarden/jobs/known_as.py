"""What a pipeline knows a model by: its path, seen from where the pipeline runs."""

from __future__ import annotations

from pathlib import Path

from treewarden.jobs.inputs import ModelInput


def known_as(model: ModelInput) -> str:
    """Return a model's path: from the folder of the command where it is inside, else as it was given; "" in memory."""
    if not isinstance(model, Path):
        return ""
    here = Path.cwd()
    if model.is_absolute() and model.is_relative_to(here):
        model = model.relative_to(here)
    return model.as_posix()
