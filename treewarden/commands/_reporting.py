"""Where the reports of a command go: into files, into a folder, and one of them to stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.words import wrapped
from treewarden.reports.figures.assumed_rows import assumed_words, summary_of
from treewarden.reports.figures.gate_rows import in_words
from treewarden.reports.renderers import GateRenderer, Renderer, names, rendered, renderer
from treewarden.terminal.outputs import check_apart, check_file, check_folder

if TYPE_CHECKING:  # a gate without changes reads no table, and needs none of what comes with these
    from treewarden.commands._plain import Command
    from treewarden.jobs.subject import Request

ON_STDOUT = "text"
IN_FOLDER = "html"
STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A form, and the file that it is to go into: ``-`` is stdout, and None the folder, or stdout without one."""

    form: str
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Reporting:
    """The wanted forms by the path each goes to, and the form that goes to stdout, if any."""

    targets: tuple[tuple[Path, str], ...] = ()
    on_stdout: str | None = None
    is_redacted: bool = False

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
        return not self.targets and self.on_stdout == ON_STDOUT

    def files(self, document: Document, file: str = "") -> dict[Path, bytes]:
        """Return the reports that go into files; ``file`` is the model's path, for forms that point into it."""
        shown = self.shown(document) if self.targets else document
        return {path: rendered(renderer(form), shown, file) for path, form in self.targets}

    def shown(self, document: Document) -> Document:
        """Return the document as it is to be read.

        Raises:
            OutputError: it is to be redacted, and the table holds too few people for that.
        """
        return redacted(document) if self.is_redacted else document

    def show(self, document: Document, file: str = "") -> None:
        """Print the report, or, where it went into files, the verdict and their paths."""
        if self.on_stdout is None:
            self._say(f"{document.verdict}: {document.headline}", summary_of(document))
            return
        report = rendered(renderer(self.on_stdout), self.shown(document), file)
        click.echo(report, nl=False)

    def gate_files(self, gate: Gate) -> dict[Path, bytes]:
        """Return the forms of a gate that go into files."""
        return {path: _gate_renderer(form).render_gate(gate) for path, form in self.targets}

    def show_gate(self, gate: Gate) -> None:
        """Print the gate, or, where it went into files, what came of it and their paths."""
        if self.on_stdout is None:
            told = ((each.name, assumed_words(each)) for each in gate.entries)
            assumed = [f"{name}: {said}" for name, said in told if said]
            self._say(f"{gate.outcome}: {in_words(gate)}", *assumed)
            return
        click.echo(_gate_renderer(self.on_stdout).glance(gate), nl=False)

    def _say(self, headline: str, *more: str) -> None:
        click.echo(headline)
        for line in (line for said in more if said for line in wrapped(said, "  ")):
            click.echo(line)
        for path in self.paths:
            click.echo(f"  {path}")


def report_options(folder_option: str) -> Callable[[Command], Command]:
    """Return what adds ``--format`` and the folder's option to a command."""

    def add(command: Command) -> Command:
        redaction = click.option(
            "--redacted",
            is_flag=True,
            help="Leave out of the report every profile, true value, and count of fewer people than the policy's "
            "smallest group.",
        )
        command = form_options(folder_option)(command)
        return redaction(command)

    return add


def form_options(folder_option: str) -> Callable[[Command], Command]:
    """Return what adds ``--format`` and the folder's option to a command that redacts nothing, as a gate."""

    def add(command: Command) -> Command:
        folder = click.option(
            folder_option,
            "folder",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help="An existing folder for the reports; without it, one report goes to stdout.",
        )
        return form_option(folder(command), f", and {IN_FOLDER} in a folder")

    return add


def form_option(command: Command, more: str = "") -> Command:
    """Add ``--format`` to a command; ``more`` is what holds for it by default besides."""
    option = click.option(
        "--format",
        "formats",
        callback=_each_wanted,
        metavar="KIND[=FILE]",
        multiple=True,
        help=f"The form of the report: {', '.join(names())}; with =FILE the file that it goes into, - for stdout. "
        f"May be repeated.  [default: {ON_STDOUT}{more}]",
    )
    return option(command)


def reporting(
    name: str,
    formats: Iterable[Wanted],
    folder: Path | None,
    *,
    is_redacted: bool = False,
    is_gate: bool = False,
) -> Reporting:
    """Return where the reports called ``name`` go, checked before any work.

    What names no file goes into the folder, else to stdout; a folder for which nothing is left gets the page.

    Raises:
        click.UsageError: several reports, or one that is no text, are to go to stdout, or a form cannot show the many
            models of a gate.
        OutputError: a file or the folder cannot be written, two reports have one path, or a form needs what is not
            installed.
    """
    wanted = tuple(dict.fromkeys(formats))
    if folder is not None and all(each.file is not None for each in wanted):
        wanted = (*wanted, Wanted(IN_FOLDER))
    on_stdout = [
        each.form
        for each in wanted or (Wanted(ON_STDOUT),)
        if each.file == STDOUT or (each.file is None and folder is None)
    ]
    if len(on_stdout) > 1:
        raise click.UsageError(
            f"several reports on stdout ({', '.join(on_stdout)}); give each a file (--format KIND=FILE), or a folder"
        )
    for form in {*(each.form for each in wanted), *on_stdout}:
        renderer(form).check()
    if on_stdout and not renderer(on_stdout[0]).is_text:
        raise click.UsageError(f"{on_stdout[0]} is no text; give it a file, or a folder to go into")
    if is_gate:
        for each in (*wanted, *map(Wanted, on_stdout)):
            _gate_renderer(each.form)
    targets = tuple(_targets(name, wanted, folder))
    if folder is not None:
        check_folder(folder)
    for path, _ in targets:
        check_file(path)
    check_apart(path for path, _ in targets)
    return Reporting(targets, on_stdout[0] if on_stdout else None, is_redacted)


def _each_wanted(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[Wanted, ...]:
    """Return what ``--format`` asks for: ``KIND``, or ``KIND=FILE``."""
    return tuple(_wanted(value, context, option) for value in values)


def _wanted(value: str, context: click.Context, option: click.Parameter) -> Wanted:
    form, has_file, file = value.partition("=")
    problem = ""
    if form not in names():
        problem = f"no form {form!r}; have {', '.join(names())}"
    elif has_file and not file:
        problem = f"{value!r} names no file; say {form}=FILE, or {form}=-"
    if problem:
        raise click.BadParameter(problem, context, option)
    return Wanted(form, file if has_file else None)


def _targets(
    name: str, wanted: Iterable[Wanted], folder: Path | None
) -> Iterable[tuple[Path, str]]:
    for each in wanted:
        if each.file is not None and each.file != STDOUT:
            yield Path(each.file), each.form
        elif each.file is None and folder is not None:
            yield folder / f"{name}.{renderer(each.form).suffix}", each.form


def _has_reports(form: Renderer) -> bool:
    """Return whether a form shows all of a report, and not only what is not met."""
    return not isinstance(form, GateRenderer) or form.has_reports


def _gate_renderer(form: str) -> GateRenderer:
    found = renderer(form)
    if not isinstance(found, GateRenderer):
        raise click.UsageError(
            f"--format {form} shows one model; a gate of several has other forms"
        )
    return found
