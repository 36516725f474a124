"""``treewarden inspect``: what does each of these files publish?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from ppdm_models.errors import TreewardenError
from ppdm_models.load import read_tree
from ppdm_models.support import describe
from reports.words import printable
from treewarden.exits import NO_AUDIT, PASS


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), default="text", show_default=True
)
@click.pass_context
def inspect_command(context: click.Context, files: tuple[Path, ...], form: str) -> None:
    """Say what each of FILES publishes; no table is needed.

    A file that cannot be read does not stop the others; the exit code is then 4.
    """
    failed = False
    for path in files:
        try:
            tree = read_tree(path)
            said: Mapping[str, object] = {
                "file": str(path),
                "format": tree.format,
                **describe(tree),
            }
        except TreewardenError as error:
            failed = True
            said = {"file": str(path), "error": str(error)}
        click.echo(json.dumps(said) if form == "jsonl" else _text(said))
    context.exit(NO_AUDIT if failed else PASS)


def _text(said: Mapping[str, object]) -> str:
    lines = [printable(str(said["file"]))]
    lines += [f"  {key}: {_value(value)}" for key, value in said.items() if key != "file"]
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        joint = "; " if any(isinstance(inner, Mapping) for inner in value) else ", "
        return joint.join(_value(inner) for inner in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else printable(str(value))


COMMAND = inspect_command
