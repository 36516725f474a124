"""What several releases are called: their file's name, with as much of its path as tells it from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from treewarden.jobs.inputs import ModelInput, model_name
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.tree.ensemble import Ensemble, with_trees


def release_names(models: Sequence[ModelInput]) -> tuple[str, ...]:
    """Return the shortest end of each model's path that no other ends in.

    What has no path of its own (a model in memory, the same file twice) keeps its name, whatever others are called.
    """
    parts = [_parts(model) for model in models]
    return tuple(
        _shortest(own, [other for place, other in enumerate(parts) if place != number])
        for number, own in enumerate(parts)
    )


def called(file: OpenedFile, name: str) -> OpenedFile:
    """Return a file whose model, trees and notes bear another name than the file's own."""
    model = file.model
    if model.source == name:
        return file
    notes = tuple(map(partial(_renamed, old=f"{model.source}: ", new=f"{name}: "), model.notes))
    if isinstance(model, Ensemble):
        named = with_trees(model, (replace(tree, source=name) for tree in model.trees))
        model = replace(named, growth=model.growth, seeds=model.seeds)
    return replace(file, model=replace(model, source=name, notes=notes))


def _renamed(said: str, old: str, new: str) -> str:
    return f"{new}{said.removeprefix(old)}" if said.startswith(old) else said


def _parts(model: ModelInput) -> tuple[str, ...]:
    if not isinstance(model, Path):
        return (model_name(model),)
    return model.absolute().parts[1:]


def _shortest(own: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> str:
    for size in range(1, len(own) + 1):
        if all(other[-size:] != own[-size:] for other in others):
            return "/".join(own[-size:])
    return own[-1]
