"""What the columns of an audit mean to people: what its table says, and a data dictionary beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treewarden.audit.partial.adversary_request import AdversaryRequest
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.tables.matching import alike
from treewarden.ppdm_models.tables.table import ColumnMeaning, Table, listed, read_dictionary
from treewarden.ppdm_models.tree.ensemble import Model

MOST_COLUMNS = 100
"""So many columns are told of; reports name no more of them one by one."""


@dataclass(frozen=True, slots=True)
class KnownMeanings:
    """What the columns that reports name mean, the sensitive one first; ``warnings`` are on the dictionary."""

    columns: tuple[ColumnMeaning, ...] = ()
    warnings: tuple[str, ...] = ()


NONE_KNOWN = KnownMeanings()
ABOUT_DICTIONARY = "--dictionary"
"""How a warning begins that is about a dictionary."""


@dataclass(frozen=True, slots=True)
class DataDictionary:
    """What a file says that columns mean, and its name; empty where none was given."""

    name: str = ""
    columns: tuple[ColumnMeaning, ...] = ()


def dictionary_at(path: Path | None) -> DataDictionary:
    """Return the dictionary at a path.

    Raises:
        DictionaryError: it is not understood.
    """
    return DataDictionary() if path is None else DataDictionary(path.name, read_dictionary(path))


def known_meanings(
    dictionary: DataDictionary,
    table: Table | None,
    model: Model,
    people: Population,
    adversary_request: AdversaryRequest,
) -> KnownMeanings:
    """Return what the columns of an audit mean; what the ``dictionary`` says goes before what the table says.

    Columns are those that the model tests, what it predicts, what is secret and what adversaries know. A column is
    found as models find it: a difference in case, blanks and points does not count.
    """
    of_table = () if table is None else table.meanings
    secret = () if adversary_request.secret is None else (adversary_request.secret.name,)
    target = people.sensitive or model.target
    features = (feature.name for feature in model.features)
    names = dict.fromkeys(name for name in (*secret, target, *people.qi, *features) if name)
    found = (_meaning_of(name, of_table, dictionary.columns) for name in names)
    columns = [meaning for meaning in found if meaning is not None]
    warnings = []
    if table is not None:
        known = list(table.columns)
        lacking = [each.name for each in dictionary.columns if not alike(known, [each.name])]
        if lacking:
            problem = (
                f"{ABOUT_DICTIONARY}: {dictionary.name} describes columns or values that the table "
                f"does not have: {listed(lacking)}"
            )
            warnings.append(f"{problem}; correct the names, or leave them out")
    if len(columns) > MOST_COLUMNS:
        more = len(columns) - MOST_COLUMNS
        warnings.append(f"labels of {more:,} more columns are known, and are not shown")
    return KnownMeanings(tuple(columns[:MOST_COLUMNS]), tuple(warnings))


def _meaning_of(
    name: str, of_table: Iterable[ColumnMeaning], written: Iterable[ColumnMeaning]
) -> ColumnMeaning | None:
    """Return what a column means under the name that reports have for it; None where nobody says it."""
    meaning = ColumnMeaning(name)
    for source in (of_table, written):
        by_name = {each.name: each for each in source}
        match = name if name in by_name else next(iter(alike(list(by_name), [name])), None)
        if match is not None:
            meaning = meaning.under(by_name[match])
    return meaning if meaning.label or meaning.values else None
