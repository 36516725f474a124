"""Tables as offices write them: the people fall where they do in the plain table, or the table is refused.

A case draws people and a tree over their columns, and routes them by itself. The table is then written in a random way
(decimal marks, groups of thousands, currencies, words for yes and no, encodings, separators, packings, forms) and read
as an audit reads it. Some writings can be read in several ways, and some mix two: what is read must be the truth.
"""

from __future__ import annotations

import gzip
import io
import random
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from tests.judges.doors import Judge, Trial
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.ppdm_models.tables.frames import table_of_frame
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes
from treewarden.ppdm_models.tables.table import Table

RECORDS = 24
COLUMNS = ("amount", "rate", "flag")
SPACES = (" ", "\u00a0", "\u202f")
AROUND = (
    ("", ""),
    ("", ""),
    ("", ""),
    ("", " EUR"),
    ("€", ""),
    ("$", ""),
    ("CHF ", ""),
    ("", " %"),
    ("", "k"),
    ("", " cm"),
)
WORDS = (
    ("1", "0"),
    ("yes", "no"),
    ("True", "False"),
    ("ja", "nein"),
    ("oui", "non"),
    ("1,0", "0,0"),
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
WAYS = ("file", "bytes", "packed", "counted", "folder", "database", "parquet", "frame")
NUMBER_OF_LEAF = {2: 0.0, 3: 1.0, 5: 2.0, 6: 3.0}
"""Nodes stand in the order root, L, 0, 1, R, 2, 3."""
SAID = {",": "comma", ".": "point"}


class OfficeTables(Judge):
    """People, a tree, and one way to write the people down."""

    def judge(self, seed: int) -> Trial:
        draw, trial = random.Random(seed), Trial()
        people = _people(draw)
        splits = _splits(draw, people)
        wanted = sorted([*person, _leaf(person, splits)] for person in people)
        decimal, is_mixed = draw.choice(".,"), draw.random() < 0.15
        columns = _written(draw, people, decimal, is_mixed)
        settings = ("#yes=1",) if is_mixed else ("#yes=1", f"#decimal={SAID[decimal]}")
        setting = draw.choice(("", "", "", *settings))
        way = draw.choice(WAYS)
        with tempfile.TemporaryDirectory() as folder:
            try:
                table = _table(draw, way, columns, Path(folder), setting)
                found = build_population(load_model(_pmml(splits), "m.pmml"), table, sensitive=None)
            except TreewardenError as error:
                trial.counts["refused"] += 1
                shown = [cell for cells in columns.values() for cell in cells if len(cell) > 3]
                quoted = [cell for cell in shown if cell in str(error)]
                trial.claim(not quoted, f"a message has the cell {quoted[:1]}: {error}")
                trial.claim("; " in str(error), f"a message says nothing to do: {error}")
                return trial
        trial.counts["read"] += 1
        values = [found.columns[name].numbers for name in COLUMNS]
        leaves = [NUMBER_OF_LEAF[leaf] for leaf in found.leaf.tolist()]
        rows = np.repeat(np.stack([*values, leaves], axis=1), found.counts.astype(int), axis=0)
        trial.claim(sorted(rows.tolist()) == wanted, f"{way}: other people than {_sample(columns)}")
        return trial


def _people(draw: random.Random) -> list[tuple[float, float, float]]:
    """Return people; how large and how exact their numbers are is drawn for all of them."""
    scale, places = draw.choice((9, 999, 9_999, 999_999, 9_999_999)), draw.choice((0, 0, 1, 2, 3))
    least = draw.choice((0, 1, scale // 9))
    small = draw.choice((0, 1, 3))
    return [
        (
            round(draw.uniform(least, scale), places),
            round(draw.uniform(-1, 40), small),
            float(draw.random() < 0.5),
        )
        for _ in range(RECORDS)
    ]


def _splits(
    draw: random.Random, people: list[tuple[float, float, float]]
) -> dict[str, tuple[int, float]]:
    """Return the tests of the three inner nodes, each between two values that there are."""
    found = {}
    for node in ("root", "left", "right"):
        at = draw.randrange(len(COLUMNS))
        values = sorted({person[at] for person in people})
        low = draw.randrange(max(1, len(values) - 1))
        high = min(low + 1, len(values) - 1)
        found[node] = at, (values[low] + values[high]) / 2
    return found


def _leaf(person: tuple[float, ...], splits: dict[str, tuple[int, float]]) -> float:
    at, end = splits["root"]
    side = 0 if person[at] <= end else 1
    at, end = splits[("left", "right")[side]]
    return 2.0 * side + (0 if person[at] <= end else 1)


def _pmml(splits: dict[str, tuple[int, float]]) -> bytes:
    def test(node: str, operator: str) -> str:
        at, end = splits[node]
        return f'<SimplePredicate field="{COLUMNS[at]}" operator="{operator}" value="{end!r}"/>'

    def leaf(number: int) -> str:
        node, operator = ("left", "right")[number // 2], ("lessOrEqual", "greaterThan")[number % 2]
        return f'<Node id="{number}" score="{"ab"[number % 2]}">{test(node, operator)}</Node>'

    fields = "".join(
        f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in COLUMNS
    )
    mined = "".join(f'<MiningField name="{name}"/>' for name in COLUMNS)
    inner = "".join(
        f'<Node id="{name}" score="a">{test("root", operator)}{leaf(first)}{leaf(first + 1)}</Node>'
        for name, operator, first in (("L", "lessOrEqual", 0), ("R", "greaterThan", 2))
    )
    return (
        '<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary>'
        f'{fields}<DataField name="y" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/>'
        f'</DataField></DataDictionary><TreeModel functionName="classification"><MiningSchema>{mined}'
        f'<MiningField name="y" usageType="target"/></MiningSchema><Node id="root" score="a"><True/>{inner}'
        "</Node></TreeModel></PMML>"
    ).encode()


def _written(
    draw: random.Random, people: list[tuple[float, float, float]], decimal: str, is_mixed: bool
) -> dict[str, list[str]]:
    """Return the cells of each column in one way of writing, some cells of a few columns in another."""
    group = draw.choice(("", ",", ".", "'", *SPACES))
    columns = {}
    for at, name in enumerate(COLUMNS[:2]):
        numbers = [person[at] for person in people]
        places = draw.choice((None, 2, 3))
        before, after = draw.choice(AROUND)
        style = (decimal, "" if group == decimal else group, places, before, after)
        cells = [_number(each, *style) for each in numbers]
        if is_mixed:
            other = ({".": ",", ",": "."}[decimal], "", None, before, after)
            cells[0] = _number(numbers[0], *other)
        columns[name] = cells
    yes, no = draw.choice(WORDS)
    columns["flag"] = [yes if person[2] else no for person in people]
    return columns


def _number(
    number: float, decimal: str, group: str, places: int | None, before: str, after: str
) -> str:
    """Return a number as text, exactly: with so many places at least, or as few as it needs."""
    plain = f"{abs(number):,.6f}".rstrip("0").rstrip(".")
    whole, _, fraction = plain.partition(".")
    fraction = fraction.ljust(places, "0") if places else fraction
    text = whole.replace(",", group) + (decimal + fraction if fraction else "")
    return ("-" if number < 0 else "") + before + text + after


def _table(
    draw: random.Random, way: str, columns: dict[str, list[str]], folder: Path, setting: str
) -> Table:
    if way == "frame":
        return table_of_frame(pa.table(columns))
    if way == "parquet":
        pa_parquet.write_table(pa.table(columns), folder / "p.parquet")
        return read_table(Path(f"{folder / 'p.parquet'}{setting}"))
    if way == "database":
        with duckdb.connect(str(folder / "p.duckdb")) as connection:
            connection.register("read", pa.table(columns))
            connection.execute("create table people as select * from read")
        return count_table(open_source(Path(f"{folder / 'p.duckdb'}{setting}")))
    sign, encoding = draw.choice(",;\t"), draw.choice(ENCODINGS)
    rows = list(zip(*columns.values(), strict=True))
    if way == "folder":
        (folder / "t").mkdir()
        for number, part in enumerate((rows[:9], rows[9:])):
            (folder / "t" / f"{number}.csv").write_bytes(_csv(part, sign, encoding))
        return count_table(open_source(Path(f"{folder / 't'}{setting}")))
    data = _csv(rows, sign, encoding)
    if way == "bytes":
        return read_table_bytes(data, "p.csv")
    (folder / "p.csv").write_bytes(gzip.compress(data) if way == "packed" else data)
    path = Path(f"{folder / 'p.csv'}{setting}")
    return count_table(open_source(path)) if way == "counted" else read_table(path)


def _csv(rows: list[tuple[str, ...]], sign: str, encoding: str) -> bytes:
    out = io.StringIO()
    for row in (COLUMNS, *rows):
        out.write(sign.join(f'"{cell}"' if sign in cell else cell for cell in row) + "\r\n")
    return out.getvalue().encode(encoding, "replace")


def _sample(columns: dict[str, list[str]]) -> str:
    return "; ".join(f"{name} {cells[:4]}" for name, cells in columns.items())


JUDGE = OfficeTables()
