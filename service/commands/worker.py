"""``treewarden worker``: does the jobs of a service."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.service.database.levels import check_level
from treewarden.service.operations.health import check_key
from treewarden.service.operations.logging import log_as_json
from treewarden.service.settings import settings_from
from treewarden.service.site import open_site
from treewarden.service.use_cases.tables import check_table_roots
from treewarden.service.worker.sandbox import hide_from_neighbours
from treewarden.service.worker.working import follow, stop_at_signals, work


@click.command("worker")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The data folder of the service; on other machines the same one, shared, or with an object store any of their "
    "own.  [default: treewarden-data]",
)
@click.option("--database", metavar="URL", help="The database, where it is not in the data folder.")
@click.option(
    "--slots",
    type=click.IntRange(min=1, max=64),
    help="How many jobs are done side by side.  [default: one a processor, 8 at most]",
)
@click.option("--follow", "parent", type=int, hidden=True, help="The server to end with.")
def worker_command(
    data_dir: Path | None, database: str | None, slots: int | None, parent: int | None
) -> None:
    """Do audits for a service, until it is stopped.

    Every option can be said as a variable of the environment too, TREEWARDEN_DATA_DIR for instance. A worker that is
    stopped (Ctrl-C, SIGTERM) gives back what it was doing, and another one begins it anew.
    """
    hide_from_neighbours()
    stop = stop_at_signals()
    if parent is not None and not follow(parent):
        return
    settings = settings_from({"data_dir": data_dir, "database": database, "slots": slots})
    log_as_json(settings.log_level)
    site = open_site(settings)
    check_level(site.engine)
    site.vault.store.check()
    check_key(site)
    with site.reading() as unit:
        check_table_roots(unit)
    work(site, max(settings.slots, 1), stop)


COMMAND = worker_command
