"""The options that say where work is done: on this machine, or on a cluster."""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

import click

from treewarden.audit.solver.engines.cluster import on_cluster
from treewarden.commands._plain import Command
from treewarden.terminal.progress import Progress

VARIABLE = "TREEWARDEN_CLUSTER"
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    envvar=VARIABLE,
    show_envvar=True,
    help="Spread the work over a Dask (tcp://, tls://) or Ray (ray://) cluster; the result is the same.",
)
REQUIRED = click.option(
    "--cluster-required",
    is_flag=True,
    help="End with 4 where the cluster is not there; else this machine takes over, with a warning.",
)


def on_a_cluster(command: Command) -> Command:
    """Add both options to a command, and have its work done where they say."""

    def placed(*given: Any, cluster: str | None, cluster_required: bool, **more: Any) -> None:  # noqa: ANN401  # the command's own
        tell = Progress(bool(more.get("quiet"))).say
        with on_cluster(cluster, tell, is_required=cluster_required):
            command(*given, **more)

    return CLUSTER(REQUIRED(update_wrapper(placed, command)))
