"""Reports and models on disk: in the form that the suffix says, whole or not at all, and never over what was read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from treewarden.jobs.inputs import known_as
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.convert import MODELS, SUFFIXES, converted
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document
from treewarden.reports.renderers import names, rendered, renderer
from treewarden.terminal.outputs import check_file, check_no_input, write_files


def save_report(
    document: Document,
    path: str | os.PathLike[str],
    inputs: Iterable[Path] = (),
    *,
    is_redacted: bool = False,
    form: str | None = None,
) -> Path:
    """Write a report in a form, else in the one that the suffix says, and return where.

    Raises:
        OutputError: there is no such form, or the suffix stands for none or several, the file cannot be written or is
            one that was read; or the table holds too few people for a redacted report.
    """
    file, inputs = Path(path), tuple(inputs)
    made = renderer(form_of(file) if form is None else form)
    made.check()
    shown = redacted(document) if is_redacted else document
    models = [each for each in inputs if each.name == document.model.file]
    known = known_as(models[0]) if models else ""
    return save_bytes(rendered(made, shown, known), file, inputs)


def form_of(file: Path) -> str:
    """Return the form that a file's suffix stands for: of several that fit the longest, then the one of that name.

    Raises:
        OutputError: it stands for none, or for several.
    """
    suffixes = {name: renderer(name).suffix for name in names()}
    name = file.name.lower()
    fitting = {form: said for form, said in suffixes.items() if name.endswith(f".{said}")}
    longest = max(map(len, fitting.values()), default=0)
    forms = [form for form, said in fitting.items() if len(said) == longest]
    if not forms:
        known = ", ".join(f".{said}" for said in dict.fromkeys(suffixes.values()))
        raise OutputError(str(file), f"the suffix is not that of a report format; use {known}")
    named = [form for form in forms if form == suffixes[form]] or forms
    if len(named) > 1:
        problem = f"the suffix fits {', '.join(named)}; choose one with form="
        raise OutputError(str(file), problem)
    return named[0]


def save_trees(model: Model, path: str | os.PathLike[str], inputs: Iterable[Path] = ()) -> Path:
    """Write the trees of a model alone, in the format that the suffix says, and return where.

    Raises:
        OutputError: the suffix stands for no format, the format cannot say something that the trees hold, or the file
            cannot be written or is one that was read.
    """
    file = Path(path)
    forms = {suffix: form for suffix, form in SUFFIXES.items() if form in MODELS}
    form = forms.get(file.suffix.lower())
    if form is None:
        problem = f"the suffix is not that of a model format; use {', '.join(forms)}"
        raise OutputError(str(file), problem)
    return save_bytes(converted(model, form), file, inputs)


def save_bytes(data: bytes, path: str | os.PathLike[str], inputs: Iterable[Path] = ()) -> Path:
    """Write a file, and return where.

    Raises:
        OutputError: it cannot be written or is one that was read.
    """
    file = Path(path)
    check_file(file)
    check_no_input([file], inputs)
    write_files({file: data})
    return file
