"""The same people as offices write them: the same audit whichever way the table comes, or none."""

import gzip
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pandas
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.kit.tiers import cases
from treewarden.audit.population.population import build_population
from treewarden.jobs import population
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.arrow_column import ArrowColumn
from treewarden.ppdm_models.tables.counting.addresses import has_no_records
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.ppdm_models.tables.frames import table_of_frame
from treewarden.ppdm_models.tables.read_table import read_table

DATA = Path(__file__).parent.parent / "data" / "office"
MODEL = DATA / "illness_tree.skops"
TREE = read_model(MODEL)
PLAIN = pandas.read_csv(DATA / "people.csv", dtype=str)
INCOMES = [float(each) for each in PLAIN["income"]]


def german(number, places=2):
    return f"{number:,.{places}f}".translate({ord(","): ".", ord("."): ","})


def incomes(write):
    return PLAIN.assign(income=[write(each) for each in INCOMES])


def urban(yes, no):
    return PLAIN.assign(urban=[yes if each == "1" else no for each in PLAIN["urban"]])


READ = {
    "decimal commas": incomes(lambda each: f"{each:.2f}".replace(".", ",")),
    "decimal commas and points between thousands": incomes(german),
    "commas between thousands": incomes(lambda each: f"{each:,.2f}"),
    "apostrophes between thousands": incomes(lambda each: f"{each:,.2f}".replace(",", "'")),
    "decimal commas and blanks between thousands": incomes(
        lambda each: german(each).replace(".", "\u00a0")
    ),
    "commas between thousands and '€' beside each number": incomes(lambda each: f"{each:,.2f} EUR"),
    "commas between thousands and '$' beside each number": incomes(lambda each: f"${each:,.2f}"),
    "words for yes as 1 and for no as 0": urban("Yes", "no"),
}
REFUSED = {
    "a comma that may be either": incomes(lambda each: f"{round(each):,}"),
    "a point that may be either": PLAIN.assign(
        income=["850"] + [german(round(each), 0) for each in INCOMES[1:]]
    ),
    "another column with decimal commas": PLAIN.assign(
        income=[german(round(each) + 1000, 0) for each in INCOMES],
        kids=[f"{each},0" for each in PLAIN["kids"]],
    ),
    "words that the alphabet numbers otherwise": urban("ja", "nein"),
    "words that are no pair": urban("yes", "perhaps"),
    "percent signs": PLAIN.assign(kids=[f"{each} %" for each in PLAIN["kids"]]),
    "thousands in a word": incomes(lambda each: f"{each / 1000:.5f}k"),
    "two units": PLAIN.assign(
        income=[f"{each} {'EUR' if each > 2000 else 'USD'}" for each in INCOMES]
    ),
}


def as_csv(frame, folder):
    path = folder / "people.csv"
    frame.to_csv(path, index=False)
    return path


def as_semicolons(frame, folder):
    path = folder / "people.csv"
    frame.to_csv(path, index=False, sep=";")
    return path


def as_utf_16(frame, folder):
    path = folder / "people.txt"
    frame.to_csv(path, index=False, sep="\t", encoding="utf-16")
    return path


def as_packed(frame, folder):
    path = folder / "people.csv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return path


def as_parquet(frame, folder):
    path = folder / "people.parquet"
    pa_parquet.write_table(pa.Table.from_pandas(frame), path)
    return path


def as_workbook(frame, folder):
    path = folder / "people.xlsx"
    book = openpyxl.Workbook()
    for row in (list(frame.columns), *frame.to_numpy().tolist()):
        book.active.append(row)
    book.save(path)
    return path


def as_folder(frame, folder):
    half = len(frame) // 2
    frame[:half].to_csv(folder / "one.csv", index=False)
    frame[half:].to_csv(folder / "two.csv", index=False)
    return folder


def as_database(frame, folder):
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pa.Table.from_pandas(frame))
        connection.execute("create table people as select * from frame")
    return path


def as_frame(frame, folder):
    return frame


WAYS = (as_csv, as_semicolons, as_utf_16, as_packed, as_parquet, as_folder, as_database, as_frame)


def leaves(data):
    """Return what each kind of people is like, their leaf and how many they are; and what is noted of their table."""
    if not isinstance(data, str | Path):
        table = table_of_frame(data)
    elif has_no_records(Path(data)) or population.is_large(Path(data)):
        table = count_table(open_source(Path(data)))
    else:
        table = read_table(Path(data))
    people = build_population(TREE, table, sensitive=None)
    values = [people.columns[name].numbers for name in people.qi]
    return sorted(np.stack([*values, people.leaf, people.counts], axis=1).tolist()), people.warnings


@pytest.fixture(scope="module")
def plain():
    return leaves(DATA / "people.csv")[0]


def ways(of, ways):
    """Return every way to write each of some tables; the quick tier writes each in one way, and in each way one."""
    some = list(of)
    count = max(len(some), len(ways))
    few = [(some[at % len(some)], ways[at % len(ways)]) for at in range(count)]
    every = [(how, way) for how in some for way in ways]
    return pytest.mark.parametrize(("how", "way"), cases(every, quick=few))


@ways(READ, WAYS)
def test_what_allows_one_reading_is_read_and_said(how, way, tmp_path, plain):
    counts, notes = leaves(way(READ[how], tmp_path))
    assert counts == plain
    assert any(f"numbers were read with {how} in" in each for each in notes)


@ways(REFUSED, [*WAYS, as_workbook])
def test_what_allows_several_readings_is_refused_without_a_cell(how, way, tmp_path):
    if way is as_workbook and how in (
        "a point that may be either",
        "another column with decimal commas",
    ):
        pytest.skip("cells of a workbook are typed")
    with pytest.raises(TableError, match=r"column '(income|urban|kids)'") as caught:
        leaves(way(REFUSED[how], tmp_path))
    assert "; " in str(caught.value)
    assert not any(
        str(cell) in str(caught.value) for cell in REFUSED[how]["income"] if len(str(cell)) > 4
    )


def test_an_audit_is_the_same_and_its_report_says_how_the_table_was_read(tmp_path):
    plain = tw.audit(MODEL, DATA / "people.csv", policy="baseline")
    other = tw.audit(MODEL, as_csv(READ["decimal commas"], tmp_path), policy="baseline")
    assert other.verdict is plain.verdict
    assert other.findings.equals(plain.findings)
    assert "people.csv: numbers were read with decimal commas in 'income'" in other.warnings


def test_a_large_table_is_counted_alike(tmp_path, plain, monkeypatch):
    monkeypatch.setattr(population, "LARGE_BYTES", 100)
    counts, notes = leaves(as_semicolons(READ["decimal commas"], tmp_path))
    assert counts == plain
    assert any("decimal commas" in each for each in notes)


@pytest.mark.parametrize("way", [as_csv, as_semicolons, as_utf_16, as_folder, as_database])
def test_what_is_said_behind_the_name_decides(way, tmp_path, plain):
    path = way(incomes(lambda each: f"{each:.3f}".replace(".", ",")), tmp_path)
    (tmp_path / "words").mkdir()
    assert leaves(f"{path}#decimal=comma")[0] == plain
    path = way(urban("ja", "nein"), tmp_path / "words")
    assert leaves(f"{path}#yes=1")[0] == plain


def test_words_for_yes_and_no_are_refused_without_a_cell_in_the_message(tmp_path):
    path = as_csv(urban("ja", "nein"), tmp_path)
    with pytest.raises(TableError, match="word for yes or no") as failed:
        leaves(str(path))
    assert not {"'ja'", "'nein'"} & set(str(failed.value).replace(",", " ").split())


def test_points_with_three_digits_part_decimals_where_the_model_compares_with_such_numbers(
    tmp_path,
):
    tree = DecisionTreeClassifier(max_depth=2)
    thousands = np.array([[round(each / 1000, 3) + 1] for each in INCOMES])
    tree.fit(thousands, PLAIN["ill"])
    texts = pandas.DataFrame(
        {"x0": [f"{each:.3f}" for each in thousands[:, 0]], "ill": PLAIN["ill"]}
    )
    path = as_semicolons(texts, tmp_path)
    found = tw.audit(tree, path, sensitive="ill", policy="baseline")
    assert (
        found.verdict
        is tw.audit(tree, texts.astype({"x0": float}), sensitive="ill", policy="baseline").verdict
    )
    tree.fit(thousands * 1000, PLAIN["ill"])
    with pytest.raises(TableError, match="the point may be a decimal"):
        tw.audit(tree, path, sensitive="ill", policy="baseline")


MIXED = ["1", "2", "5", "7", "1.234"]


@pytest.mark.parametrize("threshold", [1.1, 1.5, 6.0])
def test_cells_without_a_point_do_not_move_when_points_group_thousands(threshold, tmp_path):
    known = stump(threshold, tmp_path)
    texts = pandas.DataFrame({"income": MIXED * 30, "ill": ["no", "yes", "yes", "yes", "no"] * 30})
    path = as_csv(texts, tmp_path)
    with pytest.raises(TableError, match="the point may be a decimal"):
        tw.audit(known, path, sensitive="ill", policy="baseline")
    for decimal in ("comma", "point"):
        tw.audit(known, f"{path}#decimal={decimal}", sensitive="ill", policy="baseline")


def test_thresholds_prove_no_points_beside_decimal_commas(tmp_path):
    texts = pandas.DataFrame(
        {"income": ["1.234", "2.345"] * 30, "kids": ["1,5", "2,5"] * 30, "ill": ["no", "yes"] * 30}
    )
    known = stump(1.8, tmp_path)
    tw.audit(
        known, as_semicolons(texts[["income", "ill"]], tmp_path), sensitive="ill", policy="baseline"
    )
    with pytest.raises(TableError, match="the point may be a decimal|decimal commas"):
        tw.audit(known, as_semicolons(texts, tmp_path), sensitive="ill", policy="baseline")


def test_a_column_that_no_test_compares_needs_one_order_of_its_cells():
    known = pa.array(["1", "2", "1.234"]), pa.array(["1.234", None, "2.500"])
    found = [ArrowColumn("people.csv", "income", each).with_points_proved(()) for each in known]
    assert [each.decimal_mark() for each in found] == [None, "."]
    same = ArrowColumn("people.csv", "income", pa.array(["1", "1.000", "2.500"]))
    assert same.with_points_proved(()).decimal_mark() is None


def stump(threshold, folder):
    """Return the path of a tree of labels alone that compares an income with a threshold."""
    tests = [("no", "lessOrEqual"), ("yes", "greaterThan")]
    nodes = "".join(
        f'<Node score="{label}"><SimplePredicate field="income" operator="{how}" value="{threshold}"/></Node>'
        for label, how in tests
    )
    path = folder / "stump.pmml"
    path.write_text(
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        '<DataField name="income" optype="continuous" dataType="double"/>'
        '<DataField name="ill" optype="categorical" dataType="string"><Value value="yes"/><Value value="no"/>'
        '</DataField></DataDictionary><TreeModel functionName="classification"><MiningSchema>'
        '<MiningField name="income"/><MiningField name="ill" usageType="target"/></MiningSchema>'
        f"<Node><True/>{nodes}</Node></TreeModel></PMML>"
    )
    return path


def test_decimals_of_a_typed_file_are_numbers(tmp_path, plain):
    exact = pa.array([f"{each:.2f}" for each in INCOMES]).cast(pa.decimal128(10, 2))
    table = pa.Table.from_pandas(PLAIN)
    at = table.schema.get_field_index("income")
    pa_parquet.write_table(table.set_column(at, "income", exact), tmp_path / "p.parquet")
    counts, notes = leaves(tmp_path / "p.parquet")
    assert counts == plain
    assert not any("numbers were read" in each for each in notes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_texts_of_two_bytes_are_known_by_their_start(encoding, tmp_path, plain):
    PLAIN.to_csv(tmp_path / "p.csv", index=False, encoding=encoding)
    assert leaves(tmp_path / "p.csv")[0] == plain


def test_a_table_in_another_encoding_is_read_and_said(tmp_path, plain, monkeypatch):
    PLAIN.assign(town="Köln").to_csv(tmp_path / "p.csv", index=False, encoding="latin-1")
    counts, notes = leaves(tmp_path / "p.csv")
    assert counts == plain
    assert any("was read as Windows-1252" in each for each in notes)
    monkeypatch.setattr(population, "LARGE_BYTES", 100)
    counts, notes = leaves(tmp_path / "p.csv")
    assert counts == plain


def test_a_line_that_tells_excel_the_separator_is_no_header(tmp_path, plain):
    text = "sep=;\r\n" + PLAIN.to_csv(index=False, sep=";")
    (tmp_path / "p.csv").write_text(text)
    assert leaves(tmp_path / "p.csv")[0] == plain


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("decimals=comma", "unknown setting 'decimals' after the #; use decimal, percent"),
        ("decimal=point,decimal=comma", "'decimal' after the # occurs twice"),
        ("decimal=semicolon", "decimal is 'semicolon'; it may be comma, point"),
        ("encoding=hex", "encoding is 'hex'; it may be utf-8"),
        ("encoding=utf-16", "not in the encoding|not a table"),
    ],
)
def test_a_setting_that_is_none_is_refused(setting, problem, tmp_path):
    path = as_csv(PLAIN, tmp_path)
    with pytest.raises(TableError, match=problem):
        leaves(f"{path}#{setting}")
