"""Entries for model files that no ``[[model]]`` of a configuration covers: nobody audited them, and each says so.

Loaded where there is a file that may be a model: the formats say whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treewarden.jobs.gate.model_files import CandidateFile, bytes_of
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import read_bytes, sniffed
from treewarden.ppdm_models.unsupported_files import model_advice, unpacked_start
from treewarden.reports.building.entry import unaudited
from treewarden.reports.document.gate import Entry
from treewarden.reports.document.words import counted

MOST_ENTRIES = 200
"""So many files have an entry of their own; one more entry counts the rest."""


@dataclass(frozen=True, slots=True)
class UncoveredModel:
    """A model file that no entry covers; ``problem`` says why treewarden cannot read it, "" where it can."""

    file: str
    problem: str = ""


def uncovered_models(files: Iterable[CandidateFile]) -> Iterator[UncoveredModel]:
    """Yield those of some files that are models."""
    for candidate in files:
        uncovered_model = _uncovered_model(candidate)
        if uncovered_model is not None:
            yield uncovered_model


def entries_of(models: Iterable[UncoveredModel], configuration: str) -> tuple[Entry, ...]:
    """Return an entry with NO AUDIT for each of them; ``configuration`` is the name of its file."""
    listed = list(models)
    entries = [
        unaudited(model.file, model.file, _problem(model, configuration))
        for model in listed[:MOST_ENTRIES]
    ]
    if listed[MOST_ENTRIES:]:
        number = counted(len(listed) - MOST_ENTRIES, "more model file", "more model files")
        problem = f"no entry covers {number}; configure them, or ignore their folders"
        entries.append(unaudited(f"{configuration} ({number})", configuration, problem))
    return tuple(entries)


def not_all_looked_at(configuration: str, most: int) -> Entry:
    """Return the entry which says that a folder holds too many files to look at all of them."""
    problem = (
        f"its folder has more than {most:,} files, so not all were searched for models; list folders without models: "
        'ignore = ["FOLDER"]'
    )
    return unaudited(f"{configuration} (files)", configuration, problem)


def _uncovered_model(candidate: CandidateFile) -> UncoveredModel | None:
    path = candidate.path
    if path.is_dir():
        try:
            read_bytes(path)
        except TreewardenError as error:
            return UncoveredModel(candidate.file, error.problem)
        return UncoveredModel(candidate.file)
    data = bytes_of(path)
    advice = model_advice(data, path.name)
    if candidate.is_certain and advice:
        return UncoveredModel(candidate.file, advice)
    if sniffed(data) or sniffed(unpacked_start(data)):
        return UncoveredModel(candidate.file)
    if candidate.is_certain:
        return UncoveredModel(candidate.file, "not a format that treewarden can read")
    return None


def _problem(model: UncoveredModel, configuration: str) -> str:
    start = f"not audited: no [[model]] of {configuration} covers it"
    if not model.problem:
        return f"{start}; add it (treewarden gate --init --update), or list it under ignore"
    return f"{start}, and it cannot be read: {model.problem.rstrip('.')}; or list it under ignore"
