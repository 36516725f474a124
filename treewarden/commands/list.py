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
WORDS: Mapping[str, str] = {
    "metrics": "measures",
    "repairs": "remedies",
    "reports": "renderers",
    "policies": "packs",
}
"""What documents and help call some of them; the words of folders and of TOML stay valid."""
CALLED = {kind: word for word, kind in WORDS.items()}


class _Kind(click.Choice[str]):
    """What there is to list, by the word of documents or of folders."""

    def __init__(self) -> None:
        super().__init__([CALLED.get(kind, kind) for kind in KINDS])

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if value in KINDS else WORDS.get(super().convert(value, param, ctx), value)


@click.command("list")
@click.argument("kind", required=False, type=_Kind())
def list_command(kind: str | None) -> None:
    """List the formats, metrics, rules, built-in policies and more that this version supports, with their ids."""
    for each in [kind] if kind else KINDS:
        click.echo(CALLED.get(each, each))
        catalogue = _catalogue(each)
        width = max(map(len, catalogue), default=0)
        for name, about in catalogue.items():
            click.echo(f"  {name:{width}}  {about}")


def _catalogue(kind: str) -> dict[str, str]:
    if kind == "packs":
        return shipped_titles()
    return summaries(FOLDERS[kind])


COMMAND = list_command
