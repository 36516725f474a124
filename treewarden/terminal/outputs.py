"""Results on disk, and what to do next: numbered steps, with commands to paste.

The place of a result is checked before any work, and its file is written whole or not at all.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import click

from treewarden.ppdm_models.errors import OutputError, os_reason
from treewarden.reports.document.words import WIDTH, printable, wrapped

WRITTEN = "treewarden.written"
"""Where the context of a command line remembers that a file was put in place."""


def has_written(context: click.Context) -> bool:
    """Return whether the command of a context has put a file in place, as far as ``write_files`` did it."""
    return bool(context.meta.get(WRITTEN))


def real(path: Path) -> str:
    """Return a path as it is without links; links in a circle stay as they are, and are refused when they are read."""
    return os.path.realpath(path)


def check_folder(folder: Path, option: str = "") -> None:
    """Check that files can be written into a folder, which is the value of ``option`` if one is named.

    Raises:
        OutputError: it is not there, is not a folder, or cannot be written into.
    """
    takes = f" ({option} takes a folder)" if option else ""
    if not folder.exists():
        raise OutputError(str(folder), f"there is no such folder{takes}; create it: mkdir {folder}")
    if not folder.is_dir():
        raise OutputError(str(folder), f"not a folder{takes}; name an existing folder")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(
            str(folder), f"cannot be written into ({os_reason(error)}); choose another folder"
        ) from error


def check_into(folder: Path, names: Iterable[str], force: bool) -> None:
    """Check that files can be written into a folder, which is made later where it is not there.

    Raises:
        OutputError: they cannot, or one is there already.
    """
    if not folder.exists():
        check_folder(folder.parent)
        return
    check_folder(folder)
    for name in names:
        check_file(folder / name)
        check_new(folder / name, force)


def write_into(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, each whole or not at all; make the folder where it is not there.

    Raises:
        OutputError: one cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(
            str(folder), f"cannot be created ({os_reason(error)}); name another folder"
        ) from error
    write_files({folder / name: data for name, data in files.items()})


def check_file(path: Path) -> None:
    """Check that a file can be written: its folder takes files, and no folder has its name.

    Raises:
        OutputError: it cannot.
    """
    if path.is_dir():
        raise OutputError(str(path), "is a folder; name a file")
    if path.exists() and not path.is_file():
        raise OutputError(str(path), "exists and is not a regular file; name another file")
    check_folder(path.parent)


PMML_ENDINGS = (".pmml", ".xml")
JSON_ENDINGS = (".json",)
TOML_ENDINGS = (".toml",)
KINDS_OF_FILES: Mapping[str, tuple[str, ...]] = {
    "a PMML model": PMML_ENDINGS,
    "JSON": JSON_ENDINGS,
    "a drawing of a tree": (".dot", ".gv", ".mmd", ".mermaid"),
    "a TOML file": TOML_ENDINGS,
    "a text document": (".doc", ".docx", ".odt", ".rtf", ".pages"),
    "a presentation": (".ppt", ".pptx", ".odp"),
    "a spreadsheet": (".xls", ".xlsx", ".xlsm", ".xlsb", ".ods"),
    "a table": (".csv", ".tsv", ".parquet", ".arrow", ".feather"),
    "a table of a statistics program": (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
    "a web page": (".html", ".htm"),
    "a PDF": (".pdf",),
    "Markdown": (".md",),
    "a picture": (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"),
    "a program": (".py", ".ipynb", ".r", ".js", ".sh", ".exe"),
    "a pickle": (".pkl", ".pickle", ".joblib"),
}
"""Endings of file names that belong to one kind of file; any other ending may be that of a model."""


def check_ending(path: Path, what: str, fitting: Sequence[str] = ()) -> None:
    """Check that a file's name does not end as another kind of file does; ``fitting`` endings are those of this kind.

    Without fitting ones, a file of no known kind is meant: a model in one of many formats.

    Raises:
        OutputError: it does; the message names the endings that fit.
    """
    ending = path.suffix.lower()
    kind = next((kind for kind, endings in KINDS_OF_FILES.items() if ending in endings), None)
    if kind is None or ending in fitting:
        return
    name = f"name it {path.with_suffix(fitting[0]).name}" if fitting else "name it as the model is"
    fits = f" ({' or '.join(fitting)})" if fitting else ""
    raise OutputError(
        str(path), f"{ending} is the ending of {kind}, but this output is {what}{fits}; {name}"
    )


def check_model_ending(path: Path, model: Path, form: str = "") -> None:
    """Check that a model's new file does not end as another kind of file does, nor as another format of models.

    ``form`` is the format that is written; "" where it is not known yet.

    Raises:
        OutputError: it does; the message names the endings that fit.
    """
    own = {"pmml": PMML_ENDINGS, "treewarden_json": JSON_ENDINGS}
    usual = (model.suffix.lower(),) if model.suffix else ()
    what = "a model" if form in ("", *own) else f"a model in the format {form}"
    known = (*PMML_ENDINGS, *JSON_ENDINGS) if not form else ()
    fitting = dict.fromkeys((*usual, *known))
    check_ending(path, what, own.get(form, tuple(fitting)))


def check_new(path: Path, force: bool) -> None:
    """Check that a file is not there yet, unless it may be replaced.

    Raises:
        OutputError: it is there.
    """
    if path.exists() and not force:
        raise OutputError(
            str(path), "already exists; choose another name, or add --force to replace it"
        )


def check_no_input(outputs: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Check that nothing that is read would be overwritten.

    Raises:
        OutputError: an output is one of the inputs.
    """
    read = {real(path) for path in inputs if path is not None}
    for output in outputs:
        if real(output) in read:
            raise OutputError(
                str(output),
                "is an input, and inputs are never overwritten; name another output file",
            )


def check_apart(outputs: Iterable[Path]) -> None:
    """Check that no two results have one path, however it is spelled.

    Raises:
        OutputError: two have.
    """
    taken: dict[str, Path] = {}
    for output in outputs:
        other = taken.setdefault(real(output), output)
        if other is not output:
            as_well = "" if str(other) == str(output) else f" (also named as {other})"
            raise OutputError(
                str(output), f"two results would go into this file{as_well}; name two files"
            )


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield where to write a file that is too large for memory: beside the wanted one, and gone in the end.

    Unless ``write_files`` has put it in place until then.
    """
    temporary = _beside(path)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file a piece at a time: whole, or not at all.

    Raises:
        OutputError: it cannot be written; then it is not there.
    """
    with beside(path) as temporary:
        try:
            with temporary.open("xb") as file:
                file.writelines(pieces)
        except OSError as error:
            raise OutputError(str(path), f"cannot be written ({os_reason(error)})") from error
        write_files({}, {path: temporary})


def write_files(
    files: Mapping[Path, bytes], large: Mapping[Path, Path] = MappingProxyType({})
) -> None:
    """Write several files, each whole or not at all; none is put in place before all are written.

    ``large`` ones are on disk already, each beside the path that it is to have.

    Raises:
        OutputError: a file cannot be written; then none of them was put in place, unless the very last step failed.
    """
    staged: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            staged[path] = _stage(path, data)
        for path, temporary in {**large, **staged}.items():
            _remember()
            temporary.replace(path)
    except OSError as error:
        raise OutputError(str(error.filename), f"cannot be written ({os_reason(error)})") from error
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


def _remember() -> None:
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[WRITTEN] = True


def _stage(path: Path, data: bytes) -> Path:
    """Write the bytes into a new file beside the wanted one, with the rights that a new file has here."""
    temporary = _beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(data)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        error.filename = str(path)
        raise
    return temporary


def _beside(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.tmp")


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next: in words, and as a command to paste, "" where no command does it."""

    text: str
    command: str = ""


def without_repeats(steps: Sequence[NextStep]) -> tuple[NextStep, ...]:
    """Return the steps but for those whose command an earlier one has too."""
    first = {step.command: step for step in reversed(steps) if step.command}
    return tuple(step for step in steps if not step.command or first[step.command] is step)


def step_lines(steps: Sequence[NextStep]) -> Iterator[str]:
    """Yield what to do next, numbered; a command is never broken, and has a line of its own where it is long."""
    if not steps:
        return
    yield ""
    yield "Next"
    for number, step in enumerate(steps, 1):
        command = printable(step.command)
        line = f"  {number}. {printable(step.text)} {command}".rstrip()
        if command and len(line) <= WIDTH:
            yield line
            continue
        yield from wrapped(f"{number}. {step.text}", "  ", "     ")
        if command:
            yield f"     {command}"
