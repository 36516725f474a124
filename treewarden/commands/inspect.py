"""``treewarden inspect``: what does each of these files publish?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from treewarden.audit.reconstruction.domain import DeclaredDomain
from treewarden.commands._common_options import FILE
from treewarden.jobs.inspecting import leaf_lines, lines, said_of
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.semantics.describe import MOST_LEAVES
from treewarden.reports.document.words import printable
from treewarden.terminal.exits import NO_AUDIT, PASS


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="The output format.",
)
@click.option(
    "--leaves", is_flag=True, help=f"Also list the leaves, at most {MOST_LEAVES:,} of a file."
)
@click.option(
    "--domain",
    type=FILE,
    help="A TOML file with the public values or ranges of columns. This can prove more about the records.",
)
@click.pass_context
def inspect_command(
    context: click.Context, files: tuple[Path, ...], form: str, leaves: bool, domain: Path | None
) -> None:
    """Show the contents of model files as any reader can see them. No table is needed, and nothing is audited.

    The line "proves" says how many whole records of the training table can be rebuilt from the file alone. A file
    that cannot be read does not stop the others. A folder is read as a model that Spark wrote.
    """
    failed = False
    public = DeclaredDomain()
    if domain is not None:
        from treewarden.jobs.further_files import load_public_domain  # heavy: pydantic

        public = load_public_domain(domain)
    for path in files:
        try:
            said = {
                "file": str(path),
                **said_of(path, leaves=leaves, exact=form == "jsonl", domain=public),
            }
        except TreewardenError as error:
            failed = True
            said = {"file": str(path), "error": str(error)}
        for line in [json.dumps(said)] if form == "jsonl" else _text(said):
            click.echo(line)
    context.exit(NO_AUDIT if failed else PASS)


def _text(said: dict[str, object]) -> Iterator[str]:
    yield printable(str(said["file"]))
    if "error" in said:
        yield f"  not read       {printable(str(said['error']))}"
        return
    yield from lines(said)
    entries = said.get("leaf")
    if isinstance(entries, Iterable):
        yield from leaf_lines(entries)


COMMAND = inspect_command
