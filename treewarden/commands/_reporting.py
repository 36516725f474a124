"""Where the reports of a command go: into files, into a folder, and one of them to stdout."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treewarden.ppdm_models.errors import near_text
from treewarden.reports.document.document import Document
from treewarden.reports.renderers import GateRenderer, Renderer, names, rendered, renderer
from treewarden.terminal.exits import with_coloured_verdict
from treewarden.terminal.outputs import check_apart, check_ending, check_file, check_folder

if TYPE_CHECKING:
    from treewarden.commands._common_options import Command
    from treewarden.jobs.audit_request import Request
    from treewarden.jobs.gate.gating import Gated
    from treewarden.reports.document.gate import Gate


ON_STDOUT = "text"
IN_FOLDER = "html"
STDOUT = "-"
VERBOSE = click.option(
    "--verbose", is_flag=True, help="Print the full text of the report, not its summary."
)


@dataclass(frozen=True, slots=True)
class OutputRequest:
    """A form, and the file that it is to go into: ``-`` is stdout, and None the folder, or stdout without one."""

    form: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Reporting:
    """The wanted forms by the path each goes to, and the form that goes to stdout; None where a summary does.

    Where it ``is_verbose``, the full text takes the place of the summary.
    """

    targets: tuple[tuple[Path, str], ...] = ()
    on_stdout: str | None = None
    is_redacted: bool = False
    is_verbose: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are written."""
        return tuple(path for path, _ in self.targets)

    @property
    def forms(self) -> tuple[str, ...]:
        """All forms that are made."""
        on_stdout = () if self.on_stdout is None else (self.on_stdout,)
        return (*(form for _, form in self.targets), *on_stdout)

    @property
    def draws(self) -> bool:
        """Whether some report shows more than the terminal does, such as what each kind of information adds."""
        return any(form != ON_STDOUT and _has_reports(renderer(form)) for form in self.forms)

    def asking(self, request: Request) -> Request:
        """Return a request for no more than some report shows: the text says nothing of levels of knowledge."""
        options = request.options
        return replace(request, options=replace(options, levels=options.levels and self.draws))

    @property
    def is_text_on_stdout(self) -> bool:
        """Whether the report is read in the terminal, and nothing else is made of it."""
        return not self.targets and self.on_stdout in (None, ON_STDOUT)

    def files(self, document: Document, file: str = "") -> dict[Path, bytes]:
        """Return the reports that go into files; ``file`` is the model's path, for forms that point into it."""
        shown = self.reader_document(document) if self.targets else document
        return {path: rendered(renderer(form), shown, file) for path, form in self.targets}

    def reader_document(self, document: Document) -> Document:
        """Return the document as it is to be read.

        Raises:
            OutputError: it is to be redacted, and the table holds too few people for that.
        """
        if not self.is_redacted:
            return document
        from treewarden.reports.building.redacted import redacted  # for who asks for it

        return redacted(document)

    def show(self, document: Document, summary: Sequence[str], file: str = "") -> None:
        """Print the report in the form that was asked for; without one its summary, or all of its text.

        ``document`` and ``summary`` are as they are to be read, redacted where that was asked.
        """
        form = ON_STDOUT if self.is_verbose else self.on_stdout
        if form is not None:
            click.echo(rendered(renderer(form), document, file), nl=False)
            return
        first, *others = summary
        click.echo("\n".join([with_coloured_verdict(first), *others]))

    def gate_files(self, gate: Gate) -> dict[Path, bytes]:
        """Return the forms of a gate that go into files."""
        return {path: _gate_renderer(form).render_gate(gate) for path, form in self.targets}

    def show_gate(self, gate: Gate, commands: Mapping[str, str]) -> None:
        """Print the gate in the form that was asked for; without one a block a model, or all of its text."""
        form = ON_STDOUT if self.is_verbose else self.on_stdout
        if form is not None:
            click.echo(_gate_renderer(form).render_gate(gate), nl=False)
            return
        from treewarden.terminal.gate_summary import gate_lines  # for a gate only

        first, *others = gate_lines(gate, commands, [str(path) for path in self.paths])
        click.echo("\n".join([with_coloured_verdict(first), *others]))


def report_options(folder_option: str) -> Callable[[Command], Command]:
    """Return what adds ``--format`` and the folder's option to a command."""

    def add(command: Command) -> Command:
        redaction = click.option(
            "--redacted",
            is_flag=True,
            help="Omit all groups of people, true values and small counts from the report, so that people without "
            "access to the table can read it.",
        )
        command = form_options(folder_option)(command)
        return VERBOSE(redaction(command))

    return add


def form_options(folder_option: str) -> Callable[[Command], Command]:
    """Return what adds ``--format`` and the folder's option to a command that redacts nothing, as a gate."""

    def add(command: Command) -> Command:
        folder = click.option(
            folder_option,
            "folder",
            type=click.Path(path_type=Path, readable=False),
            metavar="FOLDER",
            help="An existing folder for the report files.",
        )
        return form_option(folder(command), f"; with {folder_option}, {IN_FOLDER}")

    return add


def form_option(command: Command, default_note: str = "") -> Command:
    """Add ``--format`` to a command; ``default_note`` is what holds for it by default besides."""
    option = click.option(
        "--format",
        "formats",
        callback=_each_wanted,
        metavar="KIND[=FILE]",
        multiple=True,
        help=f"Also write a report: {', '.join(names())}. FILE is the output file, or - to print on the terminal. "
        f"May be repeated.  [default: a summary on the terminal{default_note}]",
    )
    return option(command)


def reporting(
    name: str,
    formats: Iterable[OutputRequest],
    folder: Path | None,
    *,
    is_redacted: bool = False,
    is_gate: bool = False,
    is_verbose: bool = False,
) -> Reporting:
    """Return where the reports called ``name`` go, checked before any work.

    What names no file goes into the folder, else to stdout; a folder for which nothing is left gets the page.

    Raises:
        click.UsageError: several reports, or one that is no text, are to go to stdout, or a form cannot show the many
            models of a gate.
        OutputError: a file or the folder cannot be written, two reports have one path, or a form needs what is not
            installed.
    """
    output_requests = tuple(dict.fromkeys(formats))
    if folder is not None and all(
        output_request.file is not None for output_request in output_requests
    ):
        output_requests = (*output_requests, OutputRequest(IN_FOLDER))
    on_stdout = [
        output_request.form
        for output_request in output_requests
        if output_request.file == STDOUT or (output_request.file is None and folder is None)
    ]
    if len(on_stdout) > 1:
        raise click.UsageError(
            f"several reports on stdout ({', '.join(on_stdout)}); give each a file: --format KIND=FILE"
        )
    if on_stdout and is_verbose:
        raise click.UsageError(
            f"--verbose prints the full text, and --format {on_stdout[0]} goes to stdout too; leave one out"
        )
    for form in {*(output_request.form for output_request in output_requests), *on_stdout}:
        renderer(form).check()
    if on_stdout and not renderer(on_stdout[0]).is_text:
        raise click.UsageError(
            f"{on_stdout[0]} is not text; give it a file: --format {on_stdout[0]}=FILE"
        )
    if (
        on_stdout
        and renderer(on_stdout[0]).suffix.endswith("html")
        and _is_on_terminal(output_requests)
    ):
        form = on_stdout[0]
        raise click.UsageError(
            f"{form} is a page for a browser; give it a file: --format {form}={name}.html, or print it: "
            f"--format {form}=-"
        )
    if is_gate:
        for each in (*output_requests, *map(OutputRequest, on_stdout)):
            _gate_renderer(each.form)
    targets = tuple(_targets(name, output_requests, folder))
    if folder is not None:
        check_folder(folder)
    for path, _ in targets:
        check_file(path)
    check_apart(path for path, _ in targets)
    for path, form in targets:
        check_ending(path, f"a report in the form {form}", _endings(form))
    return Reporting(targets, on_stdout[0] if on_stdout else None, is_redacted, is_verbose)


def _is_on_terminal(output_requests: Iterable[OutputRequest]) -> bool:
    """Return whether what names no file would be printed where somebody reads."""
    return sys.stdout.isatty() and all(each.file != STDOUT for each in output_requests)


MORE_ENDINGS = {"html": (".htm",), "sarif": (".json",), "text": (".md",)}
"""What files of some forms end in besides, by the form."""


def _endings(form: str) -> tuple[str, ...]:
    """Return what the name of a report in a form may end in."""
    return (f".{renderer(form).suffix.rpartition('.')[2]}", *MORE_ENDINGS.get(form, ()))


def _each_wanted(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[OutputRequest, ...]:
    """Return what ``--format`` asks for: ``KIND``, or ``KIND=FILE``."""
    return tuple(_output_request(value, context, option) for value in values)


def _output_request(value: str, context: click.Context, option: click.Parameter) -> OutputRequest:
    form, has_file, file = value.partition("=")
    problem = ""
    if form not in names():
        problem = f"unknown format {form!r}{near_text(form, names())}; choose {', '.join(names())}"
    elif has_file and not file:
        problem = f"{value!r} names no file; use {form}=FILE, or {form}=- for stdout"
    if problem:
        raise click.BadParameter(problem, context, option)
    return OutputRequest(form, file if has_file else None)


def _targets(
    name: str, output_requests: Iterable[OutputRequest], folder: Path | None
) -> Iterable[tuple[Path, str]]:
    for output_request in output_requests:
        if output_request.file is not None and output_request.file != STDOUT:
            yield Path(output_request.file), output_request.form
        elif output_request.file is None and folder is not None:
            yield folder / f"{name}.{renderer(output_request.form).suffix}", output_request.form


def _has_reports(form: Renderer) -> bool:
    """Return whether a form shows all of a report, and not only what is not met."""
    return not isinstance(form, GateRenderer) or form.has_reports


def _gate_renderer(form: str) -> GateRenderer:
    found = renderer(form)
    if not isinstance(found, GateRenderer):
        raise click.UsageError(
            f"--format {form} shows one model only; for a gate, choose another format"
        )
    return found


# The plan: what an audit would take, in place of the audit.


# Where the forms of a gate go: one file for all models, or a folder with a report of each.

MOST_LETTERS = 120
ODD = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of the whole gate, and those that each model has of its own, with the folder that these go into."""

    of_all: Reporting
    of_each: tuple[tuple[Path, str], ...] = ()

    @property
    def model_forms(self) -> tuple[str, ...]:
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


def forms_of(requests: Sequence[OutputRequest], *, is_verbose: bool = False) -> Forms:
    """Return where forms go, checked before any work: a folder is named by a slash at its end, or is there.

    Raises:
        click.UsageError: several are to go to stdout, or a form is not one of a whole gate, or not one of each model.
        OutputError: a file or folder cannot be written, or two reports have one path.
    """
    of_each = [output_request for output_request in requests if _is_folder(output_request.file)]
    output_requests = [
        output_request for output_request in requests if not _is_folder(output_request.file)
    ]
    for each in output_requests:
        if not isinstance(renderer(each.form), GateRenderer):
            raise click.UsageError(
                f"--format {each.form} shows one model only; for one file per model: --format {each.form}=FOLDER/"
            )
    for each in of_each:
        form = renderer(each.form)
        if isinstance(form, GateRenderer) and not form.has_reports:
            raise click.UsageError(
                f"--format {each.form} shows all models in one file; name a file instead of the folder {each.file}"
            )
    folders = tuple(
        (Path(str(output_request.file)), output_request.form) for output_request in of_each
    )
    of_all = reporting("gate", output_requests, None, is_gate=True, is_verbose=is_verbose)
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
