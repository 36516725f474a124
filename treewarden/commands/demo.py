"""``treewarden demo``: the whole way on real data."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import QUIET
from treewarden.jobs.demo import DemoFiles, story
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import check_folder
from treewarden.terminal.progress import ProgressPrinter


@click.command("demo")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("demo-report"),
    show_default=True,
    metavar="FOLDER",
    help="Where the files and reports go; created where it is not there.",
)
@QUIET
@click.pass_context
def demo_command(context: click.Context, /, folder: Path, quiet: bool) -> None:
    """Publish a tree on real data, audit it, see it fail, repair it, audit it again.

    Needs the packages of treewarden[demo]. Exit code 0 when the story ran to its end.
    """
    if not folder.exists():
        check_folder(folder.parent)
        folder.mkdir()
    check_folder(folder)
    for line in story(DemoFiles(folder), ProgressPrinter(quiet)):
        click.echo(line)
    context.exit(PASS)


COMMAND = demo_command
