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
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl"]),
    default="text",
    show_default=True,
    help="The output format.",
)
@click.option(
    "--leaves", is_flag=True, help=f"Also list the leaves (at most {MOST_LEAVES:,} per file)."
)
@click.option(
    "--domain",
    type=FILE,
    help="A TOML file with the values or ranges that are publicly known to be possible in each column. With them, "
    "more records may be proved.",
)
@click.pass_context
def inspect_command(
    context: click.Context, files: tuple[Path, ...], form: str, leaves: bool, domain: Path | None
) -> None:
    """Show the contents of model files as any reader can see them. No table is needed, and nothing is audited.

    The line "proves" counts the people whose value the file alone proves, and the whole records of the training
    table that can be rebuilt from it. A file that cannot be read does not stop the others. A folder is read as
    a model that Spark wrote.
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


def _text(facts: dict[str, object]) -> Iterator[str]:
    yield printable(str(facts["file"]))
    if "error" in facts:
        file = str(facts["file"])
        problem = str(facts["error"]).removeprefix(f"{file}: ").removeprefix(f"{Path(file).name}: ")
        yield f"  not read       {printable(problem)}"
        return
    yield from lines(facts)
    entries = facts.get("leaf")
    if isinstance(entries, Iterable):
        yield from leaf_lines(entries)


COMMAND = inspect_command
