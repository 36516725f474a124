"""The posterior as tables for further work: one row per profile and class, or of numbers one per profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from treewarden.audit.claims.realised_loss import RealisedLoss
from treewarden.audit.claims.result import ClaimFindings
from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.evidence import Evidence
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.result import Audit
from treewarden.ppdm_models.errors import OutputError, os_reason
from treewarden.ppdm_models.tables.number_formats import array_of, text_array
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Task

PIECE_ROWS = 2**20
"""So many rows are made at a time at most; Parquet's row groups have as many."""


@dataclass(frozen=True, slots=True)
class PosteriorRows:
    """Rows of one adversary: of ``profiles`` profiles ``times`` rows each; ``of`` makes those from one to another.

    ``taken`` are the names of the people's columns, of whoever is asked about.
    """

    profiles: int
    times: int
    of: Callable[[int, int], pa.Table]
    adversary: str = ""
    taken: frozenset[str] = frozenset()

    def pieces(self, most: int) -> Iterator[pa.Table]:
        """Yield the rows, at most so many at a time, but those of a profile together."""
        step = max(most // max(self.times, 1), 1)
        for start in range(0, self.profiles, step):
            yield self.named(start, min(start + step, self.profiles))

    def named(self, start: int, end: int) -> pa.Table:
        """Return the rows of the profiles from one to another, with the adversary where that is told."""
        table = self.of(start, end)
        if not self.adversary:
            return table
        name = _free("adversary", self.taken)
        names = text_array([self.adversary], pa.string())
        who = names.take(array_of(np.zeros(len(table), np.int8)))
        return table.add_column(0, name, who)


def audit_rows(audit: Audit) -> list[PosteriorRows] | Undetermined:
    """Return what is believed of every profile, or why nothing is; see ``posterior_rows`` and ``value_rows``.

    Where adversaries were asked about who know some columns only, the rows of each stand below those of who knows all,
    with a column ``adversary``; columns that he does not know are empty. Of whom there is no estimate no rows are.
    """
    if not audit.adversaries:
        rows = _rows(audit.full.evidence, frozenset(audit.full.evidence.population.qi))
        return rows if isinstance(rows, Undetermined) else [rows]
    exposures = audit.adversaries if audit.secret else (audit.full, *audit.adversaries)
    taken = frozenset(name for exposure in exposures for name in exposure.evidence.population.qi)
    found, why = [], []
    for each in exposures:
        rows = _rows(each.evidence, taken, each.adversary)
        if isinstance(rows, Undetermined):
            why.append(f"{each.adversary}: {rows.reason}")
            continue
        found.append(rows)
    return found or Undetermined("; ".join(why))


def schema_of(rows: list[PosteriorRows]) -> pa.Schema:
    """Return the columns of all rows together."""
    return pa.concat_tables([row.named(0, 0) for row in rows], promote_options="permissive").schema


def grouped(
    rows: list[PosteriorRows], schema: pa.Schema, most: int = PIECE_ROWS
) -> Iterator[pa.Table]:
    """Yield all rows with the same columns, as many at a time as come to ``most``."""
    nothing = pa.table([pa.nulls(0, each.type) for each in schema], schema)
    waiting = [nothing]
    for piece in (piece for row in rows for piece in row.pieces(most)):
        if sum(map(len, waiting)) + len(piece) > most:
            yield pa.concat_tables(waiting, promote_options="permissive")
            waiting = [nothing]
        waiting.append(piece)
    yield pa.concat_tables(waiting, promote_options="permissive")


def _rows(
    evidence: Evidence, taken: frozenset[str], adversary: str = ""
) -> PosteriorRows | Undetermined:
    found: Posterior | ValueBounds | Undetermined = evidence.posterior
    if evidence.task is Task.REGRESSION:
        found = evidence.numbers
    if isinstance(found, Undetermined):
        return found
    profiles = len(evidence.population.counts)
    if isinstance(found, ValueBounds):
        return PosteriorRows(profiles, 1, value_rows(evidence, found, taken), adversary, taken)
    of = posterior_rows(evidence, found, taken)
    return PosteriorRows(profiles, len(evidence.classes), of, adversary, taken)


def posterior_rows(
    evidence: Evidence, posterior: Posterior, taken: frozenset[str]
) -> Callable[[int, int], pa.Table]:
    """Return what makes the posterior of the profiles from one to another, one row per profile and class.

    Columns: the QI values, ``weight`` (where a survey weighs people), ``records`` (of the profile), ``class``,
    ``probability`` (P*), ``low`` and ``high`` (what equally good estimates give), ``decided`` (false where the estimate
    of this profile was not found), ``certain`` (true where whole records prove that all of the profile have one class;
    null where that was not decided, or not asked) and ``proved_value`` (that class, else null); of a model with a claim
    of differential privacy also ``privacy_loss``, what the labels cost each person of that class (null where nobody has
    it). A column of ours whose name is ``taken`` gets a ``_`` behind it.
    """
    population, times = evidence.population, len(evidence.classes)
    classes, weight = text_array(evidence.classes, pa.string()), population.weight

    def made(start: int, end: int) -> pa.Table:
        part = slice(start, end)
        own = {} if weight is None else {"weight": np.repeat(weight[part], times)}
        return _table(
            _profiles(population, start, end, times),
            {
                **own,
                "records": np.repeat(population.counts[part], times),
                "class": classes.take(array_of(np.tile(np.arange(times), end - start))),
                "probability": posterior.values[part].ravel(),
                "low": posterior.low[part].ravel(),
                "high": posterior.high[part].ravel(),
                "decided": np.repeat(posterior.decided[part], times),
                **_proved(evidence, part, classes),
                **_lost(evidence, part),
            },
            taken,
        )

    return made


def _lost(evidence: Evidence, part: slice) -> dict[str, pa.Array]:
    """Return what the labels cost each person of each class; nothing where that is not known."""
    claim = evidence.claim
    loss = claim.loss if isinstance(claim, ClaimFindings) and not claim.voids else None
    if not isinstance(loss, RealisedLoss):
        return {}
    lost = np.abs(loss.of_cell[part]).ravel()
    return {"privacy_loss": pa.array(lost, mask=np.isnan(lost))}


def value_rows(
    evidence: Evidence, numbers: ValueBounds, taken: frozenset[str]
) -> Callable[[int, int], pa.Table]:
    """Return what makes the ends between which numbers lie of the profiles from one to another, one row per profile.

    Columns: the QI values, ``records`` (of the profile), ``low`` and ``high`` (what is proved), ``exact`` (true where
    they leave nothing but rounding), ``reached_low`` and ``reached_high`` (what tables that fit reach).
    """
    columns = {
        "records": evidence.population.counts,
        "low": numbers.low,
        "high": numbers.high,
        "exact": numbers.is_exact,
        "reached_low": numbers.reached_low,
        "reached_high": numbers.reached_high,
    }

    def made(start: int, end: int) -> pa.Table:
        own = {name: values[start:end] for name, values in columns.items()}
        return _table(_profiles(evidence.population, start, end, 1), own, taken)

    return made


def _table(
    columns: dict[str, pa.Array],
    ours: Mapping[str, pa.Array | NDArray[Any]],
    taken: frozenset[str],
) -> pa.Table:
    for name, values in ours.items():
        own = values if isinstance(values, pa.Array) else array_of(values)
        columns[_free(name, taken | columns.keys())] = own
    return pa.table(columns)


def _free(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _proved(evidence: Evidence, part: slice, classes: pa.Array) -> dict[str, pa.Array]:
    """Return what whole records prove of each profile, as columns."""
    worlds, times = evidence.worlds, len(classes)
    if isinstance(worlds, Undetermined):
        nothing = pa.nulls((part.stop - part.start) * times)
        return {"certain": nothing.cast(pa.bool_()), "proved_value": nothing.cast(pa.string())}
    certain = np.repeat(worlds.certain[part], times)
    is_open = np.repeat(worlds.open_profiles[part], times)
    codes = np.repeat(worlds.certain_class[part], times)
    return {"certain": array_of(certain, is_open), "proved_value": _texts(classes, codes, certain)}


def _profiles(population: Population, start: int, end: int, times: int) -> dict[str, pa.Array]:
    rows = np.repeat(np.arange(start, end), times)
    return {name: _values(population.columns[name].take(rows)) for name in population.qi}


def _values(column: Column) -> pa.Array:
    if isinstance(column, NumericColumn):
        return array_of(column.numbers, column.missing)
    return _texts(text_array(column.categories, pa.string()), column.codes, ~column.missing)


def _texts(texts: pa.Array, codes: np.ndarray, is_there: np.ndarray) -> pa.Array:
    """Return the text that each code stands for, null where none is there."""
    return texts.take(array_of(codes, ~is_there))


# The posterior as a file, written a piece at a time: however many profiles there are, few are in memory as rows.

WRITERS: Mapping[str, Callable[[Path, pa.Schema], Any]] = {
    ".csv": pyarrow.csv.CSVWriter,
    ".parquet": pyarrow.parquet.ParquetWriter,
}


def check_suffix(path: Path) -> None:
    """Check that a posterior file's name says its format.

    Raises:
        OutputError: it ends neither in .csv nor in .parquet.
    """
    if path.suffix.lower() not in WRITERS:
        raise OutputError(str(path), f"name a file that ends in {' or '.join(WRITERS)}")


def write_posterior(audit: Audit, path: Path, output: Path) -> Undetermined | None:
    """Write the posterior to ``output`` in the format of the suffix of ``path``; return why there is none, if so.

    Raises:
        OutputError: the file cannot be written.
    """
    rows = audit_rows(audit)
    if isinstance(rows, Undetermined):
        return rows
    schema = schema_of(rows)
    try:
        with WRITERS[path.suffix.lower()](output, schema) as writer:
            for table in grouped(rows, schema):
                writer.write_table(table)
    except OSError as error:
        raise OutputError(str(path), f"cannot be written ({os_reason(error)})") from error
    return None


def audit_table(audit: Audit) -> pa.Table | Undetermined:
    """Return what is believed of every profile as one table, or why nothing is; see ``audit_rows``."""
    rows = audit_rows(audit)
    if isinstance(rows, Undetermined):
        return rows
    return pa.concat_tables(grouped(rows, schema_of(rows)))
