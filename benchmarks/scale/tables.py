"""Tables as large as wanted whose columns are as skewed as Adult's: profiles with counts, or one row a record.

Data: the shares are those of UCI Adult (10.24432/C5XW20). Columns are independent of each other; the class is not of
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import CategoricalColumn

SHARES = {
    "workclass": (6970, 780, 643, 564, 399, 343, 295, 4, 2),
    "education": (3225, 2239, 1645, 529, 424, 361, 328, 287, 198, 177, 158, 133, 127, 102, 52, 16),
    "marital": (4599, 3281, 1365, 315, 305, 128, 7),
    "occupation": (1271, 1259, 1249, 1158, 1121, 1012, 615, 566, 490, 421, 305, 285, 199, 46, 3),
    "relationship": (4052, 2551, 1556, 1058, 482, 301),
    "race": (8543, 959, 319, 96, 83),
    "sex": (6692, 3308),
    "country": (8959, 197, 179, 61, 42, 37, 35, 33, 31, 29, 28, 25, 25, 23, 22, 21, 21, 20, 19, 18)
    + (18, 16, 14, 13, 11, 10, 10, 9, 9, 9, 7, 6, 6, 6, 6, 6, 5, 4, 4, 4, 4, 1),
}
"""What share of Adult has each value, in ten-thousandths, the most frequent value first."""
CLASSES = ("<=50K", ">50K")
SENSITIVE, WEIGHTS = "y", "n"
GROUP_ROWS = 1_000_000
"""So many rows are in each row group of a file."""


@dataclass(frozen=True)
class People:
    """Profiles: the code of each in every column, (P,), and how many records of each class it has, (P, 2)."""

    codes: dict[str, IntArray]
    counts: IntArray

    @property
    def columns(self) -> dict[str, CategoricalColumn]:
        """The quasi-identifiers of the profiles."""
        return {
            name: CategoricalColumn(codes.astype(np.int64), values_of(name))
            for name, codes in self.codes.items()
        }


def values_of(name: str) -> tuple[str, ...]:
    """Return the values of a column, in the order of their codes."""
    return tuple(f"{name}-{number:02}" for number in range(len(SHARES[name])))


def people(profiles: int, records: int, seed: int = 2008) -> People:
    """Return so many distinct profiles of so many records in all: of everybody one, and the rest as the shares say."""
    draw = np.random.default_rng(seed)
    logs = np.zeros(1, dtype=np.float32)
    for shares in SHARES.values():
        own = np.log(np.array(shares) / sum(shares)).astype(np.float32)
        logs = (logs[:, None] + own).ravel()
    drawn = np.sort(_largest(logs + draw.gumbel(size=len(logs)).astype(np.float32), profiles))
    codes = np.unravel_index(drawn, [len(shares) for shares in SHARES.values()])
    shares = np.exp(logs[drawn].astype(np.float64))
    counts = 1 + draw.multinomial(records - profiles, shares / shares.sum())
    score = np.full(profiles, -1.2)
    for own, values in zip(codes, SHARES.values(), strict=True):
        score += draw.normal(scale=0.6, size=len(values))[own]
    rich = draw.binomial(counts, 1 / (1 + np.exp(-score)))
    named = dict(zip(SHARES, (own.astype(np.int8) for own in codes), strict=True))
    return People(named, np.stack([counts - rich, rich], axis=1))


def write_counted(people: People, path: Path) -> None:
    """Write one row for each profile and class that has records, with their number in the column ``n``."""
    profile, code = np.nonzero(people.counts)
    columns = _dictionaries(people, profile, code)
    columns[WEIGHTS] = pa.array(people.counts[profile, code])
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=GROUP_ROWS)


def write_records(
    people: People, path: Path, seed: int = 2008, group_rows: int = GROUP_ROWS
) -> None:
    """Write one row for each record, a row group at a time; each group has its share of every profile's records."""
    draw = np.random.default_rng(seed)
    profile, code = np.nonzero(people.counts)
    writer = None
    for rows in _groups(people.counts[profile, code], group_rows, draw):
        table = pa.table(_dictionaries(people, profile[rows], code[rows]))
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _largest(values: FloatArray, size: int) -> IndexArray:
    return np.argpartition(values, len(values) - size)[len(values) - size :]


def _groups(counts: IntArray, group_rows: int, draw: np.random.Generator) -> Iterator[IndexArray]:
    """Yield the cells of the records, a row group at a time, in random order."""
    groups = -(-int(counts.sum()) // group_rows)
    offset = draw.random(len(counts))
    done = np.zeros_like(counts)
    for group in range(1, groups + 1):
        until = counts if group == groups else np.floor(counts * (group / groups) + offset)
        until = np.clip(until.astype(np.int64), done, counts)
        yield draw.permutation(np.repeat(np.arange(len(counts)), until - done))
        done = until


def _dictionaries(people: People, profile: IndexArray, code: IndexArray) -> dict[str, pa.Array]:
    found = {name: _texts(own[profile], values_of(name)) for name, own in people.codes.items()}
    return {**found, SENSITIVE: _texts(code, CLASSES)}


def _texts(codes: IntArray, values: tuple[str, ...]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))
