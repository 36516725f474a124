"""``treewarden redact``: the same model without what it gives away beside its trees."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE, output_option
from treewarden.jobs.redacting import redact_file
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import check_file, check_new, check_no_input, write_files


@click.command("redact")
@click.argument("model", type=FILE)
@output_option("The file for the redacted model.")
@click.option(
    "--kinds",
    type=click.Choice([kind.value for kind in LeakKind]),
    multiple=True,
    help="What to remove. May be repeated.  [default: everything]",
)
@FORCE
@click.pass_context
def redact_command(
    context: click.Context, /, model: Path, output: Path, kinds: tuple[str, ...], force: bool
) -> None:
    """Remove what is not part of the trees, such as names, file paths, extreme values and sample records.

    For owners of the file. The trees stay as they are: audit the redacted file before you publish it. If there is
    nothing to remove, OUTPUT is a copy of MODEL.
    """
    check_file(output)
    check_no_input((output,), (model,))
    check_new(output, force)
    leak_kinds = frozenset(map(LeakKind, kinds or LeakKind))
    redacted = redact_file(model, leak_kinds)
    write_files({output: redacted.data})
    _list("removed", redacted.removed)
    _list("not removed", redacted.left)
    how = "" if redacted.removed else ", as it came: nothing to remove"
    click.echo(f"written: {output}{how}")
    leaks = [leak for leak in redacted.left if leak.kind in leak_kinds]
    context.exit(FAIL if leaks else PASS)


def _list(heading: str, leaks: tuple[Leak, ...]) -> None:
    click.echo(f"{heading}: {counted(len(leaks), 'thing', 'things') if leaks else 'nothing'}")
    for leak in leaks:
        click.echo(printable(f"  {leak.kind}, {leak.where}: {leak.what}"))


COMMAND = redact_command
