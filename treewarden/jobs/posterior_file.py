"""The posterior as a table for further work: one row per profile and class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from audit.estimate.posterior import Posterior
from audit.evidence import Evidence
from audit.people.population import Population
from audit.reading import Undetermined
from audit.result import Audit
from audit.values.found import ValueBounds
from ppdm_models.errors import OutputError
from ppdm_models.tree.column import Column, NumericColumn
from ppdm_models.tree.tree import Task

SUFFIXES = (".csv", ".parquet")


def check_suffix(path: Path) -> None:
    """Check that a posterior file's name says its format.

    Raises:
        OutputError: it ends neither in .csv nor in .parquet.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(str(path), f"name a file that ends in {' or '.join(SUFFIXES)}")


def posterior_file(audit: Audit, path: Path) -> bytes | Undetermined:
    """Return the posterior in the format of the path's suffix, or why there is none; see ``audit_table``."""
    table = audit_table(audit)
    if isinstance(table, Undetermined):
        return table
    sink = pa.BufferOutputStream()
    write: Mapping[str, Callable[[pa.Table, pa.BufferOutputStream], None]] = {
        ".csv": pyarrow.csv.write_csv,
        ".parquet": pyarrow.parquet.write_table,
    }
    write[path.suffix.lower()](table, sink)
    return bytes(sink.getvalue().to_pybytes())


def audit_table(audit: Audit) -> pa.Table | Undetermined:
    """Return what is believed of every profile, or why nothing is; see ``posterior_table`` and ``value_table``.

    Where adversaries were asked about who know some columns only, the rows of each stand below those of who knows all,
    with a column ``adversary``; columns that he does not know are empty. Of whom there is no estimate no rows are.
    """
    if not audit.adversaries:
        return _table(audit.full.evidence)
    asked = audit.adversaries if audit.secret else (audit.full, *audit.adversaries)
    tables, why = [], []
    for each in asked:
        table = _table(each.evidence)
        if isinstance(table, Undetermined):
            why.append(f"{each.adversary}: {table.reason}")
            continue
        name = "adversary"
        while name in table.column_names:
            name += "_"
        tables.append(
            table.add_column(0, name, pa.array([each.adversary] * len(table), pa.string()))
        )
    if not tables:
        return Undetermined("; ".join(why))
    return pa.concat_tables(tables, promote_options="permissive")


def _table(evidence: Evidence) -> pa.Table | Undetermined:
    found: Posterior | ValueBounds | Undetermined = evidence.posterior
    if evidence.task is Task.REGRESSION:
        found = evidence.numbers
    if isinstance(found, Undetermined):
        return found
    if isinstance(found, ValueBounds):
        return value_table(evidence, found)
    return posterior_table(evidence, found)


def posterior_table(evidence: Evidence, posterior: Posterior) -> pa.Table:
    """Return the posterior, one row per profile and class.

    Columns: the QI values, ``weight`` (where a survey weighs people), ``records`` (of the profile), ``class``,
    ``probability`` (P*), ``low`` and ``high`` (what equally good estimates give), ``decided`` (false where the estimate
    of this profile was not found), ``certain`` (true where whole records prove that all of the profile have one class;
    null where they were not asked) and ``proved_value`` (that class, else null). A column of ours whose name a QI
    already has gets a ``_`` behind it.
    """
    population, classes = evidence.population, evidence.classes
    columns = _profiles(population, len(classes))
    weight = population.weight
    for name, values in {
        **({} if weight is None else {"weight": np.repeat(weight, len(classes))}),
        "records": np.repeat(population.counts, len(classes)),
        "class": list(classes) * len(population.counts),
        "probability": posterior.values.ravel(),
        "low": posterior.low.ravel(),
        "high": posterior.high.ravel(),
        "decided": np.repeat(posterior.decided, len(classes)),
        **_proved(evidence, len(classes)),
    }.items():
        while name in columns:
            name += "_"
        columns[name] = pa.array(values)
    return pa.table(columns)


def value_table(evidence: Evidence, numbers: ValueBounds) -> pa.Table:
    """Return between which ends each person's number lies, one row per profile.

    Columns: the QI values, ``records`` (of the profile), ``low`` and ``high`` (what is proved), ``exact`` (true where
    they leave nothing but rounding), ``reached_low`` and ``reached_high`` (what tables that fit reach).
    """
    columns = _profiles(evidence.population, 1)
    for name, values in {
        "records": evidence.population.counts,
        "low": numbers.low,
        "high": numbers.high,
        "exact": numbers.is_exact,
        "reached_low": numbers.reached_low,
        "reached_high": numbers.reached_high,
    }.items():
        while name in columns:
            name += "_"
        columns[name] = pa.array(values)
    return pa.table(columns)


def _proved(evidence: Evidence, times: int) -> dict[str, Sequence[object]]:
    """Return what whole records prove of each profile, as columns."""
    worlds, size = evidence.worlds, len(evidence.population.counts) * times
    if isinstance(worlds, Undetermined):
        nothing = pa.nulls(size)
        return {"certain": nothing.cast(pa.bool_()), "proved_value": nothing.cast(pa.string())}
    said = [
        evidence.classes[code] if sure else None
        for sure, code in zip(worlds.certain, worlds.certain_class.tolist(), strict=True)
        for _ in range(times)
    ]
    return {
        "certain": np.repeat(worlds.certain, times),
        "proved_value": pa.array(said, pa.string()),
    }


def _profiles(population: Population, times: int) -> dict[str, pa.Array]:
    rows = np.repeat(np.arange(len(population.counts)), times)
    return {name: _values(population.columns[name].take(rows)) for name in population.qi}


def _values(column: Column) -> pa.Array:
    if isinstance(column, NumericColumn):
        return pa.array(column.numbers, from_pandas=True)
    return pa.array([column.text(row) for row in range(len(column))], pa.string())
