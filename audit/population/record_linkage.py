"""Record linkage by ids: which records of several tables are one person, and whether the ids can tell.

It also makes the population that an adversary sees who knows some columns only: profiles that look alike become one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import combinations

import numpy as np

from treewarden.audit.population.population import Population, distinct
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, grouped
from treewarden.ppdm_models.errors import TableError, TreewardenError
from treewarden.ppdm_models.tables.routing import NOWHERE
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import NumericColumn

NO_ID_SHARED = (
    "none of its values of {!r} occurs in {}; write ids in the same way in all tables, or "
    "give tables of the same people"
)
MOST_CELLS = 300_000
"""In tables of up to so many cells columns are looked at to see which may say who is who."""
MOST_CANDIDATES = 3

TextArray = np.ndarray[tuple[int], np.dtype[np.object_]]


def is_one_table(tables: Sequence[Table]) -> bool:
    """Return whether all releases were trained on one table, so that who is who is known."""
    return all(table is tables[0] for table in tables)


def link_records(tables: Sequence[Table], key: str | None) -> list[IndexArray]:
    """Return the number of the person that each record of each table is, the same in all tables.

    Only the column ``key`` links records of different tables. What else they hold, the sensitive value above all, does
    not: somebody may have left while a look-alike joined.

    Raises:
        TableError: an id is missing, stands for several records, or is written in two ways.
        TreewardenError: there is no such column, or a table shares nobody with those before it.
        ValueError: there are several tables and no key.
    """
    if is_one_table(tables):
        return [np.arange(tables[0].rows)] * len(tables)
    if key is None:
        raise ValueError("the records of several tables are linked by a key only")
    texts = [_ids(table, key) for table in tables]
    ends = np.cumsum([table.rows for table in tables])[:-1]
    found = np.split(_codes(np.concatenate(texts).astype(str)), ends)
    _refuse_two_spellings(tables, texts, found, key)
    for number, table in enumerate(tables[1:], start=1):
        if not np.isin(found[number], np.concatenate(found[:number])).any():
            earlier = " or ".join(dict.fromkeys(each.source for each in tables[:number]))
            raise TreewardenError(table.source, NO_ID_SHARED.format(key, earlier))
    return found


def lookalike_warnings(
    tables: Sequence[Table], persons: Sequence[IndexArray], key: str
) -> Iterator[str]:
    """Yield where records whose ids are in one table alone hold the same as others, but for these: a slip, perhaps."""
    for (one, own), (other, others) in combinations(zip(tables, persons, strict=True), 2):
        if one is other:
            continue
        codes = _codes_of_records((one, other), without=key)
        before, after = codes[: one.rows], codes[one.rows :]
        left, new = before[~np.isin(own, others)], after[~np.isin(others, own)]
        same = sum((Counter(left.tolist()) & Counter(new.tolist())).values())
        if same:
            yield (
                f"{same} of {len(left)} records of {one.source} whose {key!r} is not in {other.source} "
                f"are equal to records there with a new {key!r}. They were treated as different people. "
                "If they are the same people, write their ids in the same way"
            )


def id_candidates(tables: Sequence[Table], others: Collection[str]) -> tuple[str, ...]:
    """Return columns of all tables that may say who is who: no two records of a table hold the same there.

    That does not show that they do: the number of a row is such a column too. ``others`` are known to be none.
    """
    if sum(table.rows * len(table.columns) for table in tables) > MOST_CELLS:
        return ()
    shared = [
        name
        for name in tables[-1].columns
        if name not in others and all(name in table.columns for table in tables)
    ]
    found = (name for name in shared if all(_is_distinct(table, name) for table in tables))
    return tuple(found)[:MOST_CANDIDATES]


def _is_distinct(table: Table, name: str) -> bool:
    column = table.categories(name)
    return len(column.categories) == table.rows and not column.missing.any()


def _ids(table: Table, key: str) -> TextArray:
    """Return who each record of a table is, as its column of ids says it.

    Raises:
        TableError: an id is missing, or stands for several records.
        TreewardenError: there is no such column.
    """
    if key not in table.columns:
        problem = f"{table.lacks(key)}; name the column that identifies a person: --id COLUMN"
        raise TreewardenError(table.source, problem)
    column = table.categories(key)
    is_blank = np.array([not text.strip() for text in (*column.categories, "")], dtype=bool)
    missing = np.flatnonzero(column.missing | is_blank[column.codes])
    if len(missing):
        problem = (
            f"column {key!r}, record {int(missing[0]) + 1}: no value, so the person is unknown; give "
            "the record an id"
        )
        raise TableError(table.source, f"{problem}; give each person one")
    if len(column.categories) < table.rows:
        problem = (
            f"column {key!r} has the same value in several records, so it does not identify a "
            "person; name another column: --id COLUMN"
        )
        raise TableError(table.source, problem)
    return np.array(column.categories, dtype=object)[column.codes]


def _refuse_two_spellings(
    tables: Sequence[Table], texts: Sequence[TextArray], codes: Sequence[IndexArray], key: str
) -> None:
    """Raise where an id of one table is that of another but for how it is written: two people would be made of one.

    Where one table holds both, they are the ids of two people.
    """
    size = 1 + max(int(each.max()) for each in codes)
    is_in = np.zeros((len(codes), size), dtype=bool)
    for number, each in enumerate(codes):
        is_in[number, each] = True
    first, parted = is_in.argmax(axis=0), np.flatnonzero(~is_in.all(axis=0))
    spelled = np.empty(size, dtype=object)
    for ids, code in zip(texts, codes, strict=True):
        spelled[code] = ids
    plain = _codes(np.array([_plain_id(text) for text in spelled[parted].tolist()]).astype(str))
    order = np.argsort(plain, kind="stable")
    again = np.flatnonzero(plain[order][1:] == plain[order][:-1])
    for at in again.tolist():
        one, other = sorted(parted[order[at : at + 2]].tolist(), key=lambda code: int(first[code]))
        if (is_in[:, one] & is_in[:, other]).any():
            continue
        here, there = tables[first[other]], tables[first[one]]
        row, its = (1 + int(np.flatnonzero(codes[first[each]] == each)[0]) for each in (other, one))
        raise TableError(
            here.source,
            f"column {key!r}, record {row}: the id of record {its} of {there.source} but for spaces, capitals, leading "
            "zeros or decimals; write ids in the same way in all tables",
        )


def lookalike_ids(ids: Sequence[str]) -> tuple[str, str] | None:
    """Return two different ids that differ only in how they are written; None where no two do."""
    loose = [_loose_id(text) for text in ids]
    for keys in (map(_plain_id, ids), (re.sub(LEADING_ZEROS, "", key) for key in loose)):
        written: dict[str, str] = {}
        for key, text in zip(keys, ids, strict=True):
            other = written.setdefault(key, text)
            if other != text:
                return other, text
    whole = {key: text for key, text in zip(loose, ids, strict=True) if PARTED not in key}
    for key, text in zip(loose, ids, strict=True):
        if PARTED in key[1:] and key.replace(PARTED, "") in whole:
            return whole[key.replace(PARTED, "")], text
    return None


PARTED = "-"
LEADING_ZEROS = re.compile("(?<![0-9])0+(?=[0-9])")


def _loose_id(text: str) -> str:
    """Return an id without accents, with one sign wherever it has any between letters and digits; a number is plain."""
    plain = _plain_id(text)
    if NUMBER.fullmatch(plain):
        return plain
    letters = unicodedata.normalize("NFKD", plain)
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    return re.sub("[^0-9a-z]+", PARTED, bare).strip(PARTED) if bare.isascii() else bare


INVISIBLE = frozenset(("Cf", "Cc", "Mn", "Me", "Zs", "Zl", "Zp"))
"""Categories of signs that are seen on no page, or only on the sign before them."""
BLANKS = frozenset("\u115f\u1160\u2800")
"""Signs of other categories that are drawn as a blank."""
MINUS = "\u2212"
NUMBER = re.compile(r"([+-]?)([0-9]{1,3}(?:[,'_][0-9]{3})+|[0-9]+)(\.[0-9]*)?(e[+-]?[0-9]{1,4})?")
"""A number as programs write it: with a sign, parted thousands, decimals or an exponent."""


def _plain_id(text: str) -> str:
    """Return an id without what programs add to it, or take away, as they write it."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    found = "".join(map(_plain_sign, normal))
    number = NUMBER.fullmatch(found)
    if number is None:
        return found
    sign, whole, decimals, exponent = number.groups(default="")
    digits = re.sub("[,'_]", "", whole)
    plain = f"{sign}{digits}{decimals}{exponent}"
    context = Context(prec=len(plain), Emax=MAX_EMAX, Emin=MIN_EMIN)
    value = Decimal(plain).normalize(context)
    return "0" if not value else str(value)


def _plain_sign(sign: str) -> str:
    """Return a sign of an id in its plainest form, "" for one that is not seen."""
    category = unicodedata.category(sign)
    if category in INVISIBLE or sign in BLANKS or sign.isspace():
        return ""
    if category == "Pd" or sign == MINUS:
        return "-"
    digit = unicodedata.digit(sign, None)
    return sign if digit is None else str(digit)


def _codes_of_records(tables: Sequence[Table], without: str) -> IndexArray:
    """Return a code for each record of all tables, the same where all columns are that they share but for one.

    Where they share no other column, no two records are alike.
    """
    rows = sum(table.rows for table in tables)
    names = [
        name
        for name in tables[-1].columns
        if name != without and all(name in each.columns for each in tables)
    ]
    if not names:
        return np.arange(rows)
    codes = np.zeros(rows, dtype=np.intp)
    for name in names:
        if all(table.columns[name].is_numeric() for table in tables):
            here = np.concatenate([table.numbers(name).numbers for table in tables])
            own = _codes(here)
        else:
            parts = [table.categories(name) for table in tables]
            texts = [np.array((*part.categories, ""), dtype=object)[part.codes] for part in parts]
            own = _codes(np.concatenate(texts).astype(str))
        codes = _codes(codes * (int(own.max(initial=0)) + 1) + own)
    return codes


def _codes(values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> IndexArray:
    """Return the place of each value among the distinct ones."""
    found: IndexArray = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.intp)
    return found


NO_NUMBERS = Undetermined(
    "models that predict numbers are judged only for an adversary who knows all quasi-identifiers"
)


def merged(population: Population, known_columns: Sequence[str]) -> tuple[Population, IndexArray]:
    """Return the people by their known columns alone, and the new profile of each old one, (P,).

    Nobody of them stops anywhere: where they do is what is not known. Without a column all people are one profile, but
    for those whose sampling weights differ, which are always known.
    """
    size = len(population.counts)
    of, first = np.zeros(size, dtype=np.intp), np.zeros(min(size, 1), dtype=np.intp)
    told_apart = [population.columns[name] for name in known_columns]
    if population.weight is not None:
        told_apart.append(NumericColumn(population.weight))
    if told_apart:
        first, of = distinct(told_apart)
    truth = population.truth
    if not isinstance(truth, Undetermined):
        truth = grouped(of, truth, len(first))
    people = replace(
        population,
        qi=tuple(known_columns),
        columns={name: population.columns[name].take(first) for name in known_columns},
        counts=np.bincount(of, population.counts, len(first)).astype(np.float64),
        leaf=np.full(len(first), NOWHERE, dtype=np.intp),
        truth=truth,
        values=NO_NUMBERS,
        numbers=NO_NUMBERS,
        order=None,
        contributions=None,
        weight=None if population.weight is None else population.weight[first],
    )
    return people, of
