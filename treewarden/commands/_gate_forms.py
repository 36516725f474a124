"""Where the forms of a gate go: one file for all models, or a folder with a report of each."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from treewarden.commands._reporting import ON_STDOUT, STDOUT, Reporting, Wanted, reporting
from treewarden.jobs.gate.gating import Gated
from treewarden.reports.renderers import GateRenderer, renderer
from treewarden.terminal.outputs import check_folder

MOST_LETTERS = 120
ODD = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of the whole gate, and those that each model has of its own, with the folder that these go into."""

    of_all: Reporting
    of_each: tuple[tuple[Path, str], ...] = ()

    @property
    def each(self) -> tuple[str, ...]:
        """The forms that each model has of its own."""
        return tuple(dict.fromkeys(form for _, form in self.of_each))

    def paths(self, names: Sequence[str]) -> tuple[Path, ...]:
        """Return all that may be written, for models of these names."""
        files = file_names(names).values()
        each = (self._path(folder, form, file) for folder, form in self.of_each for file in files)
        return (*self.of_all.paths, *each)

    def files(self, done: Gated, names: Sequence[str]) -> dict[Path, bytes]:
        """Return all that goes into files; a model without audit has no report of its own."""
        files = self.of_all.gate_files(done.gate)
        called = file_names(names)
        for folder, form in self.of_each:
            for (name, made), data in done.reports.items():
                if made == form:
                    files[self._path(folder, form, called[name])] = data
        return files

    @staticmethod
    def _path(folder: Path, form: str, file: str) -> Path:
        return folder / f"{file}.{renderer(form).suffix}"


def forms_of(wanted: Sequence[Wanted]) -> Forms:
    """Return where forms go, checked before any work: a folder is named by a slash at its end, or is there.

    Raises:
        click.UsageError: several are to go to stdout, or a form is not one of a whole gate, or not one of each model.
        OutputError: a file or folder cannot be written, or two reports have one path.
    """
    of_each = [each for each in wanted if _is_folder(each.file)]
    rest = [each for each in wanted if not _is_folder(each.file)]
    for each in rest:
        if not isinstance(renderer(each.form), GateRenderer):
            raise click.UsageError(
                f"--format {each.form} shows one model; name a folder for a file each (--format {each.form}=FOLDER/)"
            )
    if not any(each.file in (None, STDOUT) for each in rest):
        rest.append(Wanted(ON_STDOUT, STDOUT))
    for each in of_each:
        form = renderer(each.form)
        if isinstance(form, GateRenderer) and not form.has_reports:
            raise click.UsageError(
                f"--format {each.form} shows all models in one file; name a file, not the folder {each.file}"
            )
    folders = tuple((Path(str(each.file)), each.form) for each in of_each)
    of_all = reporting("gate", rest, None, is_gate=True)
    for folder, _ in folders:
        check_folder(folder)
    return Forms(of_all, folders)


def file_names(names: Sequence[str]) -> dict[str, str]:
    """Return what the file of each model is called: its name without signs that mean something to a file system."""
    plain = {name: ODD.sub("-", name).strip("-.")[-MOST_LETTERS:] or "model" for name in names}
    times = Counter(each.lower() for each in plain.values())
    return {
        name: each if times[each.lower()] == 1 else f"{each}-{_short(name)}"
        for name, each in plain.items()
    }


def _is_folder(file: str | None) -> bool:
    return file is not None and file != STDOUT and (file.endswith("/") or Path(file).is_dir())


def _short(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
