"""``treewarden convert``: the same model in another format."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE
from treewarden.ppdm_models.files.convert import SUFFIXES, TARGETS, converted, target_of
from treewarden.ppdm_models.files.load import read_model
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import (
    check_ending,
    check_file,
    check_new,
    check_no_input,
    write_files,
)


@click.command("convert")
@click.argument("model", type=FILE)
@click.argument("output", type=FILE)
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    help="The format of OUTPUT.  [default: by its suffix]",
)
@FORCE
@click.pass_context
def convert_command(
    context: click.Context, /, model: Path, output: Path, target: str | None, force: bool
) -> None:
    """Convert a model to PMML or JSON, or draw it as DOT or Mermaid.

    If the format cannot express everything that the model does, nothing is written.
    """
    form = target or target_of(output)
    check_file(output)
    check_no_input((output,), (model,))
    check_new(output, force)
    check_ending(output, form, [ending for ending, of in SUFFIXES.items() if of == form])
    write_files({output: converted(read_model(model), form)})
    click.echo(f"written: {output}")
    context.exit(PASS)


COMMAND = convert_command
