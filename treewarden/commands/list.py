"""``treewarden list``: everything that is one file in a folder, with the first line of its documentation."""

from __future__ import annotations

from collections.abc import Mapping

import click

from treewarden.policies.shipped import shipped_titles
from treewarden.ppdm_models.plugins import summaries

FOLDERS: Mapping[str, str] = {
    "formats": "treewarden.ppdm_models.formats",
    "constraints": "treewarden.audit.constraints",
    "measures": "treewarden.audit.measures",
    "rules": "treewarden.policies.rules",
    "remedies": "treewarden.policies.remedies",
    "renderers": "treewarden.reports.renderers",
}
"""The folders of plug-ins, as they are called here: they are only looked into, none is imported."""

KINDS = (*FOLDERS, "packs")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice(KINDS))
def list_command(kind: str | None) -> None:
    """List what this version supports, by id: formats, metrics, rules, built-in policies and more."""
    for each in [kind] if kind else KINDS:
        click.echo(each)
        catalogue = _catalogue(each)
        width = max(map(len, catalogue), default=0)
        for name, about in catalogue.items():
            click.echo(f"  {name:{width}}  {about}")


def _catalogue(kind: str) -> dict[str, str]:
    if kind == "packs":
        return shipped_titles()
    return summaries(FOLDERS[kind])


COMMAND = list_command
