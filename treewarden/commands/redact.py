"""``treewarden redact``: the same model without what it gives away beside its trees."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE, output_option
from treewarden.jobs.redacting import redact_file
from treewarden.ppdm_models.tree.side_channels import Leak, LeakGroup, LeakKind
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import (
    check_file,
    check_model_ending,
    check_new,
    check_no_input,
    write_files,
)

WHAT = {
    LeakGroup.PEOPLE: "About single people",
    LeakGroup.TRAINING: "About the training",
    LeakGroup.ORIGIN: "About the origin",
}
KINDS = " ".join(
    f"{what}: {', '.join(kind for kind in LeakKind if kind.group is group)}."
    for group, what in WHAT.items()
)
"""The kinds, by group; docs/formats.md explains them."""


@click.command("redact")
@click.argument("model", type=FILE)
@output_option("The file for the redacted model.")
@click.option(
    "--kinds",
    type=click.Choice([kind.value for kind in LeakKind]),
    multiple=True,
    metavar="KIND",
    help="A kind of content to remove. May be repeated.  [default: all]  "
    + KINDS
    + " The meaning of each kind: docs/formats.md.",
)
@FORCE
@click.pass_context
def redact_command(
    context: click.Context, /, model: Path, output: Path, kinds: tuple[str, ...], force: bool
) -> None:
    """Remove what is not part of the trees, such as the author's name, file paths, extreme values and sample records.

    For owners of the file. The trees are not changed, so they can still disclose data. Audit the redacted file
    before you publish it. If there is
    nothing to remove, the new file is a copy of MODEL.
    """
    check_file(output)
    check_no_input((output,), (model,))
    check_new(output, force)
    check_model_ending(output, model)
    leak_kinds = frozenset(map(LeakKind, kinds or LeakKind))
    redacted = redact_file(model, leak_kinds)
    check_model_ending(output, model, redacted.format)
    write_files({output: redacted.data})
    _list("removed", redacted.removed)
    _list("not removed", redacted.left)
    how = "" if redacted.removed else ", an unchanged copy, because there was nothing to remove"
    click.echo(f"written: {output}{how}")
    if redacted.instead:
        click.echo(f"next: this file cannot pass; {redacted.instead}")
    leaks = [leak for leak in redacted.left if leak.kind in leak_kinds]
    context.exit(FAIL if leaks else PASS)


def _list(heading: str, leaks: tuple[Leak, ...]) -> None:
    click.echo(f"{heading}: {counted(len(leaks), 'thing', 'things') if leaks else 'nothing'}")
    for leak in leaks:
        click.echo(printable(f"  {leak.kind}, {leak.where}: {leak.what}"))


COMMAND = redact_command
