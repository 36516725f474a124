"""Where the reports of a command go: one to stdout, or any number into a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from reports.building.redacted import redacted
from reports.document.document import Document
from reports.renderers import names, renderer
from treewarden.commands._options import Command
from treewarden.jobs.subject import Request
from treewarden.terminal.outputs import check_folder

ON_STDOUT = "text"
IN_FOLDER = "html"


@dataclass(frozen=True, slots=True)
class Reporting:
    """The wanted formats by the path each goes to; with no folder there is one format, for stdout."""

    formats: tuple[str, ...]
    paths: tuple[Path, ...] = ()
    is_redacted: bool = False

    @property
    def draws(self) -> bool:
        """Whether some report shows more than the terminal does, such as what each kind of information adds."""
        return any(form != ON_STDOUT for form in self.formats)

    def asking(self, request: Request) -> Request:
        """Return a request for no more than some report shows: the text says nothing of levels of knowledge."""
        options = request.options
        return replace(request, options=replace(options, levels=options.levels and self.draws))

    @property
    def is_text_on_stdout(self) -> bool:
        """Whether the report is read in the terminal."""
        return not self.paths and self.formats == (ON_STDOUT,)

    def files(self, document: Document) -> dict[Path, bytes]:
        """Return the reports that go into files."""
        pairs = zip(self.paths, self.formats, strict=False)
        return {path: renderer(form).render(self.shown(document)) for path, form in pairs}

    def shown(self, document: Document) -> Document:
        """Return the document as it is to be read.

        Raises:
            OutputError: it is to be redacted, and the table holds too few people for that.
        """
        return redacted(document) if self.is_redacted else document

    def show(self, document: Document) -> None:
        """Print the report, or, where it went into files, the verdict and their paths."""
        if not self.paths:
            click.echo(renderer(self.formats[0]).render(self.shown(document)), nl=False)
            return
        click.echo(f"{document.verdict}: {document.headline}")
        for path in self.paths:
            click.echo(f"  {path}")


def report_options(folder_option: str) -> Callable[[Command], Command]:
    """Return what adds ``--format`` and the folder's option to a command."""

    def add(command: Command) -> Command:
        options: tuple[Callable[[Command], Command], ...] = (
            click.option(
                folder_option,
                "folder",
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="An existing folder for the reports; without it, one report goes to stdout.",
            ),
            click.option(
                "--format",
                "formats",
                type=click.Choice(names()),
                multiple=True,
                help=f"The form of the report; may be repeated with {folder_option}. "
                f"Default: {ON_STDOUT}, and {IN_FOLDER} in a folder.",
            ),
            click.option(
                "--redacted",
                is_flag=True,
                help="Leave out of the report every profile, true value, and count of fewer people than the policy's "
                "smallest group.",
            ),
        )
        for option in options:
            command = option(command)
        return command

    return add


def reporting(
    name: str, formats: tuple[str, ...], folder: Path | None, *, is_redacted: bool = False
) -> Reporting:
    """Return where the reports called ``name`` go, checked before any work.

    Raises:
        click.UsageError: several formats are to go to stdout.
        OutputError: the folder cannot take files, or a form needs what is not installed.
    """
    wanted = tuple(dict.fromkeys(formats)) or ((ON_STDOUT,) if folder is None else (IN_FOLDER,))
    for form in wanted:
        renderer(form).check()
    if folder is None:
        if len(wanted) > 1:
            raise click.UsageError("several formats need a folder to go into")
        if not renderer(wanted[0]).is_text:
            raise click.UsageError(f"{wanted[0]} is no text; give it a folder to go into")
        return Reporting(wanted, is_redacted=is_redacted)
    check_folder(folder)
    paths = tuple(folder / f"{name}.{renderer(form).suffix}" for form in wanted)
    return Reporting(wanted, paths, is_redacted)
