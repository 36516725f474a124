"""``treewarden demo``: the whole way on real data."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, QUIET
from treewarden.jobs.demo import DemoFiles, story
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import check_folder
from treewarden.terminal.progress import ProgressPrinter


@click.command("demo")
@click.option(
    "--out",
    "folder",
    type=FILE,
    default=Path("demo-report"),
    show_default=True,
    metavar="FOLDER",
    help="The folder for all files and reports; it is created if needed.",
)
@QUIET
@click.pass_context
def demo_command(context: click.Context, /, folder: Path, quiet: bool) -> None:
    """See the whole workflow on real data: train a tree, audit it, watch it fail, repair it, and audit it again.

    For new users. The demo needs packages of its own. In a copy of the repository, 'make demo' installs them and runs
    the demo. Where treewarden is installed: pip install 'treewarden[demo]'.
    """
    if not folder.exists():
        check_folder(folder.parent)
        folder.mkdir()
    check_folder(folder)
    for line in story(DemoFiles(folder), ProgressPrinter(quiet)):
        click.echo(line)
    context.exit(PASS)


COMMAND = demo_command
