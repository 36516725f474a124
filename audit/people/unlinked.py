"""Releases whose tables nothing links: nobody said which of their records are the same people."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treewarden.audit.of_releases import NOT_LINKED
from treewarden.audit.people.population import Population
from treewarden.audit.people.record_linkage import id_candidates, is_one_table
from treewarden.audit.people.shared import Shared, check_joinable, release_labels, shared_people
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model

REASON = f"{NOT_LINKED}, as no column was named that says who is who ({{}})"
GAP = "{}: somebody may have left while a look-alike joined, so what the releases prove together is not known"
CANDIDATE = (
    "column {!r} holds something else in every record of each table; if it says who is who, {} (the number of a row "
    "does not say it)"
)


@dataclass(frozen=True, slots=True)
class KeySetting:
    """What messages call the setting that names the column of who is who, and how a column is named with it."""

    name: str
    naming: str
    quoted: Callable[[str], str]

    def advice(self, column: str) -> str:
        """Return in words how to name a column."""
        return self.naming.format(self.quoted(column))


KEY_OPTION = KeySetting("--id", "audit with --id {}", shlex.quote)


@dataclass(frozen=True, slots=True, eq=False)
class SameTable:
    """Releases of one table, by their places among all: ``shared`` are its people, None where the release is alone."""

    releases: tuple[int, ...]
    shared: Shared | None


@dataclass(frozen=True, slots=True, eq=False)
class UnlinkedReleases:
    """Releases of several tables without a column that says who is who.

    Any record of a table may be anybody of another one, or nobody of it: that nobody is shared is possible whatever the
    tables hold, so that nothing is proved beyond what the releases of each table prove by themselves (``parts``). How
    much more somebody can prove who knows who is who is not known (``reason``), so that nothing passes.
    """

    names: tuple[str, ...]
    parts: tuple[SameTable, ...]
    warnings: tuple[str, ...] = ()
    reason: str = REASON.format(KEY_OPTION.name)

    @property
    def gap(self) -> str:
        """Why what the releases prove together is not known."""
        return GAP.format(self.reason)

    def others(self, release: int) -> tuple[str, ...]:
        """Return the names of the releases beside one."""
        return tuple(name for other, name in enumerate(self.names) if other != release)


def link_releases(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    key: str | None = None,
    setting: KeySetting = KEY_OPTION,
) -> Shared | UnlinkedReleases:
    """Return the people of several releases, or that nothing says who is who in their tables.

    A table that several share is the same object. ``setting`` is what messages call the naming of such a column.

    Raises:
        TableError, TreewardenError: as ``shared_people``.
    """
    if key is not None or is_one_table(tables):
        return shared_people(models, tables, populations, key)
    check_joinable(models, tables, populations)
    groups: dict[int, list[int]] = {}
    for number, table in enumerate(tables):
        groups.setdefault(id(table), []).append(number)
    parts = [_part(models, tables, populations, releases) for releases in groups.values()]
    found = _candidates(models, tables, populations)
    warnings = tuple(CANDIDATE.format(name, setting.advice(name)) for name in found)
    reason = REASON.format(setting.name)
    return UnlinkedReleases(release_labels(models), tuple(parts), warnings, reason)


def _part(
    models: Sequence[Model],
    tables: Sequence[Table],
    populations: Sequence[Population],
    releases: Sequence[int],
) -> SameTable:
    if len(releases) == 1:
        return SameTable(tuple(releases), None)
    shared = shared_people(
        [models[number] for number in releases],
        [tables[number] for number in releases],
        [populations[number] for number in releases],
    )
    return SameTable(tuple(releases), shared)


def _candidates(
    models: Sequence[Model], tables: Sequence[Table], populations: Sequence[Population]
) -> tuple[str, ...]:
    """Return columns that may say who is who: neither what a model predicts nor what is known of people by it."""
    features = {feature.name for model in models for feature in model.features}
    targets = {each.sensitive for each in populations if each.sensitive}
    return id_candidates(tables, features | targets | {n for each in populations for n in each.qi})
