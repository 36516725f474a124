"""Whether a configuration covers every model file of its folder: a gate that passes has looked at all of them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treewarden.jobs.gate.changed import ChangedFiles
from treewarden.jobs.gate.config import Configuration, resolved
from treewarden.jobs.gate.model_files import (
    MOST_FILES,
    CandidateFile,
    Identity,
    TooManyFilesError,
    identity,
    matches_pattern,
    model_files,
)
from treewarden.jobs.gate.models import GateModel
from treewarden.reports.document.gate import Entry

PLACE = "treewarden.jobs.gate.extra_entries"
"""Loaded where there is something to ask the formats about."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a folder no entry covers: files that may be models, and whether all files were looked at."""

    files: tuple[CandidateFile, ...] = ()
    is_complete: bool = True

    def entries(self, configuration: str) -> tuple[Entry, ...]:
        """Return an entry for each file that is a model, and one where not all files were looked at."""
        if not self.files and self.is_complete:
            return ()
        uncovered = importlib.import_module(PLACE)
        entries: tuple[Entry, ...] = uncovered.entries_of(
            uncovered.uncovered_models(self.files), configuration
        )
        if self.is_complete:
            return entries
        return (*entries, uncovered.not_all_looked_at(configuration, MOST_FILES))


def coverage_of(
    configuration: Configuration,
    models: Sequence[GateModel],
    paths: Sequence[Path] = (),
    changes: ChangedFiles | None = None,
) -> Coverage:
    """Return what no entry covers; only below ``paths``, and only what changed, where these are given."""
    wanted = [resolved(path) for path in paths]
    if wanted and not any(path.is_dir() for path in wanted):
        return Coverage()
    files: list[CandidateFile] = []
    is_complete = True
    try:
        files.extend(
            model_files(
                configuration.root,
                covered_files(configuration, models),
                lambda file: is_ignored(configuration, file),
            )
        )
    except TooManyFilesError:
        is_complete = False
    return Coverage(
        tuple(
            candidate
            for candidate in files
            if (not wanted or _is_below(candidate.path, wanted))
            and (changes is None or changes.has_changed(candidate.path))
        ),
        is_complete,
    )


def is_ignored(configuration: Configuration, file: str) -> bool:
    """Return whether the configuration says that a file, or a folder that it is in, is no model to audit."""
    return any(matches_pattern(file, pattern) for pattern in configuration.said.ignore)


def covered_files(configuration: Configuration, models: Sequence[GateModel]) -> set[Identity]:
    """Return the identities of all files that a configuration names, and of itself."""
    named = (path for model in models for path in model.inputs)
    return {identity(path) for path in (configuration.path, *named)}


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    here = resolved(path)
    return any(folder in (here, *here.parents) for folder in folders)
