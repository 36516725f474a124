"""``treewarden gate``: may all models of this repository be published?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from reports.document.gate import Gate, Outcome
from reports.document.words import counted, printable
from treewarden.jobs.gate.cache import cache_folder
from treewarden.jobs.gate.config import NAME, find_configuration, read_configuration
from treewarden.jobs.gate.gating import Gated, Wish, gate
from treewarden.terminal.exits import FAIL, NO_AUDIT, PASS, UNDETERMINED
from treewarden.terminal.progress import Progress

FILE = click.Path(path_type=Path)
EXITS: Mapping[Outcome, int] = {
    "PASS": PASS,
    "UNDETERMINED": UNDETERMINED,
    "FAIL": FAIL,
    "NO AUDIT": NO_AUDIT,
}


@click.command("gate")
@click.argument("paths", nargs=-1, type=FILE)
@click.option(
    "--config",
    type=FILE,
    help=f"The configuration.  [default: {NAME} here or above, up to the top of the repository]",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    help="The mildest severity that keeps a model from passing, for all models.  [default: as configured]",
)
@click.option(
    "--changed-since",
    metavar="REVISION",
    help="Audit only what changed since then, as git tells it; other models get no verdict.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Processes to audit with.  [default: all cores]"
)
@click.option("--no-cache", is_flag=True, help="Audit what did not change too, and keep no result.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no warnings on stderr.")
@click.pass_context
def gate_command(
    context: click.Context,
    /,
    paths: tuple[Path, ...],
    config: Path | None,
    fail_on: Any,  # noqa: ANN401  # one of the severities
    changed_since: str | None,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
) -> None:
    """Audit all models that a configuration names, and say in one exit code whether all may be published.

    PATHS are models or folders of the configuration; without them all its models are audited. What did not change
    since an earlier gate is not audited again.
    """
    progress = Progress(quiet)
    configuration = read_configuration(config or find_configuration(Path.cwd()))
    wish = Wish(
        paths=paths,
        fail_on=fail_on,
        changed_since=changed_since,
        jobs=jobs,
        cache=None if no_cache else cache_folder(configuration.root),
    )
    done = gate(configuration, wish, progress.step, progress.say)
    for note in done.notes:
        progress.say(note)
    click.echo("\n".join(_lines(done)))
    is_empty = not done.gate.entries
    context.exit(PASS if is_empty else EXITS[done.gate.outcome])


def _lines(done: Gated) -> Iterator[str]:
    if done.gate.entries:
        yield from _table(done.gate)
    for name in done.unchanged:
        yield f"not changed  {printable(name)}"
    for file in done.deleted:
        yield f"deleted      {printable(file)}"
    if not done.gate.entries:
        yield "Nothing was audited: no model changed, nor anything that its audit rests on."


def _table(gate: Gate) -> Iterator[str]:
    width = max(len(printable(entry.name)) for entry in gate.entries)
    for entry in gate.entries:
        cached = " (unchanged)" if entry.is_cached else ""
        yield f"{entry.outcome:12} {printable(entry.name):{width}}  {printable(entry.headline)}{cached}"
    yield f"{gate.outcome}: {counted(len(gate.entries), 'model', 'models')}"


COMMAND = gate_command
