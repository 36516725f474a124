"""Reports and models on disk: in the form that the suffix says, whole or not at all, and never over what was read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ppdm_models.errors import OutputError
from ppdm_models.files.convert import MODELS, SUFFIXES, converted
from ppdm_models.tree.ensemble import Model
from reports.building.redacted import redacted
from reports.document.document import Document
from reports.renderers import names, renderer
from treewarden.terminal.outputs import check_file, check_no_input, write_files


def save_report(
    document: Document,
    path: str | os.PathLike[str],
    inputs: Iterable[Path] = (),
    *,
    is_redacted: bool = False,
) -> Path:
    """Write a report in the form that the suffix says, and return where.

    Raises:
        OutputError: the suffix stands for no form, the file cannot be written or is one that was read; or the table
            holds too few people for a redacted report.
    """
    file = Path(path)
    forms = {renderer(name).suffix: name for name in names()}
    form = forms.get(file.suffix.lower().removeprefix("."))
    if form is None:
        known = ", ".join(f".{suffix}" for suffix in forms)
        raise OutputError(str(file), f"its suffix stands for no kind of report; have {known}")
    shown = redacted(document) if is_redacted else document
    return save_bytes(renderer(form).render(shown), file, inputs)


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
        problem = f"its suffix stands for no format of models; have {', '.join(forms)}"
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
