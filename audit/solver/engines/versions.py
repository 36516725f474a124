"""What must be the same on every machine that takes part, as answers depend on it."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

from treewarden.ppdm_models.errors import ClusterError

PACKAGES = (
    "treewarden",
    "numpy",
    "scipy",
    "pyomo",
    "casadi",
    "ortools",
    "pandas",
    "pyarrow",
    "duckdb",
)
ABSENT = "not installed"


@cache
def versions() -> Mapping[str, str]:
    """Return the versions here, by name."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ABSENT
    return found


def check_same(theirs: Iterable[Mapping[str, str]]) -> None:
    """Check that all who take part have the versions of this process.

    Raises:
        ClusterError: they differ; both versions are told.
    """
    ours = versions()
    for each in theirs:
        differ = [
            f"{name} {each.get(name, ABSENT)} there, {version} here"
            for name, version in ours.items()
            if each.get(name, ABSENT) != version
        ]
        if differ:
            raise ClusterError(
                "the cluster",
                f"has other versions ({'; '.join(differ)}), so answers could differ; install the same on both",
            )
