"""``treewarden worker``: does the jobs of a service."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import WholeNumber
from treewarden.service.database.engine import check_level
from treewarden.service.operations.observability import check_key, log_as_json
from treewarden.service.settings import settings_from
from treewarden.service.site import open_site
from treewarden.service.use_cases.tables import check_table_roots
from treewarden.service.worker.sandbox import hide_from_neighbours
from treewarden.service.worker.working import follow, stop_at_signals, work


@click.command("worker")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The data folder of the service, shared by all machines unless there is an object store.  "
    "[default: treewarden-data]",
)
@click.option("--database", metavar="URL", help="The database, if it is not in the data folder.")
@click.option(
    "--slots",
    type=WholeNumber(min=1, max=64),
    help="The number of parallel jobs.  [default: one per processor, at most 8]",
)
@click.option(
    "--follow", "parent", type=int, hidden=True, help="The server whose end also ends the worker."
)
def worker_command(
    data_dir: Path | None, database: str | None, slots: int | None, parent: int | None
) -> None:
    """Run audits for a service that is spread over several machines.

    Every option is also an environment variable, such as TREEWARDEN_DATA_DIR. If a worker is stopped (Ctrl-C, SIGTERM),
    another one starts its jobs again.
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
