"""Published outputs are read in full or refused, and a printed number is an interval."""

import io
import math
import zipfile
from fractions import Fraction

import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    Family,
    OpenEntry,
    RangeCondition,
    Statistic,
    TableColumns,
    Term,
    ValueCondition,
    ValuesCondition,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import read_output, read_together
from treewarden.ppdm_models.outputs.sheets import MOST_BYTES, MOST_CELLS

COLUMNS = TableColumns("ill", ("no", "yes"), {"age": None, "sex": ("F", "M")})


def read(text, name="table.csv"):
    return read_output(text.encode(), name, COLUMNS).entries


@rows(
    "text, low, high",
    [
        ("43.3", "43.25", "43.35"),
        ("43", "42.5", "43.5"),
        ("-1.20", "-1.205", "-1.195"),
        ("12.5%", "0.1245", "0.1255"),
        ("1,234.5", "1234.45", "1234.55"),
        ("1.2e-3", "0.00115", "0.00125"),
    ],
)
def test_a_printed_number_is_everything_that_rounds_to_it(text, low, high):
    number = read_measured(text)
    assert (number.low, number.high) == (Fraction(low), Fraction(high))


@rows(
    "text, low, high",
    [
        ("25", 25, 25),
        ("<5", 0, 4),
        ("≤ 5", 0, 5),
        ("5-9", 5, 9),
        (">100", 101, None),
        ("1,024", 1024, 1024),
    ],
)
def test_a_count_is_exact_or_a_range(text, low, high):
    number = read_count(text)
    assert (number.low, number.high) == (low, high)


@rows("text", ["43,3", "x5", "1.2.3", "", "--1", "1" * 50, "nan"])
def test_what_is_no_number_is_not_read_as_one(text):
    assert read_measured(text) is None


@rows("text", ["2.5", "-1", "<0", "9-5", "some"])
def test_what_is_no_count_is_not_read_as_one(text):
    assert read_count(text) is None


TABLEONE = """,level,no,yes
n,,164,139
age (mean (SD)),,52.6 (9.5),56.6 (7.9)
sex (%),F,72 (43.9),25 (18.0)
,M,92 (56.1),114 (82.0)
"""
GTSUMMARY = """Characteristic,"**no**, N = 164","**yes**, N = 139"
"age, Median (Q1, Q3)","52 (45, 59)","58 (52, 62)"
"sex, n (%)",,
F,72 (44%),25 (18%)
M,92 (56%),114 (82%)
Unknown,0,0
"""


def test_a_table_of_tableone_is_read_by_class():
    entries = read(TABLEONE)
    assert [entry.group for entry in entries] == ["no", "yes"] * 4
    assert entries[3].numbers[Statistic.SD].text == "7.9"
    assert entries[4].conditions == (ValueCondition("sex", "F"),)
    assert entries[5].numbers[Statistic.SHARE].middle == Fraction("0.18")


def test_a_table_of_gtsummary_is_read_by_class():
    entries = read(GTSUMMARY)
    assert entries[0].numbers[Statistic.COUNT].low == 164
    quartiles = entries[2].numbers
    assert [
        quartiles[each].text for each in (Statistic.LOWER_QUARTILE, Statistic.UPPER_QUARTILE)
    ] == ["45", "59"]
    assert entries[-1].numbers == {Statistic.MISSING: read_count("0")}


def test_a_table_from_python_has_a_column_of_missing_values_and_of_all():
    entries = read(
        ',,Missing,Overall,no,yes\nn,,,303,164,139\n"age, mean (SD)",,0,54.4 (9.0),52.6 (9.5),56.6 (7.9)\n'
    )
    assert [entry.group for entry in entries] == [None, "no", "yes"] * 2


def test_a_cross_table_is_read_long_or_wide_with_what_is_withheld():
    long = read("sex,ill,count\nF,yes,25\nM,yes,*\nTotal,yes,<200\n")
    wide = read("sex,no,yes,Total\nF,72,25,97\nTotal,164,*,303\n")
    assert [entry.numbers[Statistic.COUNT].high for entry in long] == [25, 199]
    assert [(entry.group, len(entry.conditions)) for entry in wide] == [
        ("no", 1), ("yes", 1), (None, 1), ("no", 0), (None, 0)
    ]  # fmt: skip


def test_coefficients_are_read_with_the_term_that_each_is_of():
    (entry,) = read("term,estimate\n(Intercept),-1.2\nage,0.03\nsexM,0.5\n(C),1\n")
    assert [term for term, _ in entry.coefficients] == [Term(), Term("age"), Term("sex", "M")]
    assert entry.inverse_penalty == 1


@rows(
    "text, said",
    [
        ("", "no rows below its header"),
        (",no,yes,dose\nn,3,4,0.03\n", "'dose' is not a class of the model"),
        (
            ',no,yes\n"chol, mean (SD)",3 (1),4 (1)\n',
            "the table has no column for the row 'chol, mean (SD)'; write it like 'age, mean (SD)'",
        ),
        (
            ",no,yes\nage,52 (9),56 (8)\n",
            "the row 'age' names no statistic or value of its column; write it",
        ),
        (',no,yes\n"age, mean (SD)",52 of 9,56\n', "is not a valid mean (SD)"),
        ("sex,ill,count\nX,yes,25\n", "'sex' is never 'X'"),
        ("sex,ill,count\nF,maybe,25\n", "'maybe' is not a class"),
        ("sex,ill,count\nF,yes,many\n", "'many' is not a count"),
        ("sex,ill,count,weight\nF,yes,2,1\n", "'weight' is not a column"),
        ("age,ill,count\nyoung,yes,2\n", "is not a number or a range of numbers"),
        ("term,estimate,dose\nage,0.03,0.1\n", "only terms, estimates, ratios"),
        ("term,estimate,coef\nage,0.03,0.1\n", "two columns of estimates"),
        ("term,OR\nage,high\n", "'high' is not a number"),
        ("term,estimate\nage,x\n", "no coefficient is a number (all are empty or withheld)"),
        ("term,coef,exp(coef)\nage,0.1,2.0\n(time),age\n", "contradict each other"),
        ("term,HR\nage,1.03\n", "needs the column with the times"),
        ("term,HR\nage,1.03\n(time),sex\n", "needs the column with the times"),
        ("term,estimate\nage,0.03\n(C),1\n(model),linear\n", "has no C"),
        ("term,estimate\nage,0.03\n(model),probit\n", "(model) is 'probit', which is unknown; use"),
        ("term,estimate\nage,0.03\n(time),age\n", "has no times"),
        ("actual,no,yes\nno,3,1\nmaybe,1,2\n", "'maybe' is not a class"),
        ("actual,no,yes\nno,3,some\n", "'some' is not a count"),
        ("Prediction,Reference,Freq,share\nno,no,3,0.2\n", "share: not of a confusion matrix"),
        ("metric,value\nAUC,good\n", "'good' is not a number"),
        ("bin,n,events\nlow,3,1\n", "'low' is not a range of chances"),
        ('bin,n,events,mean\n"[0,1]",3,1,0.4\n', "columns mean: only n, events"),
        ("time,n.risk,n.event\n3,5,1\n", "'time' is not a numeric column"),
        ("age,n.risk,n.event\n3,5,1\n2,4,1\n", "its times do not rise"),
        ("age,n.risk,n.event,dose\n3,5,1,4\n", "'dose' is not of a Kaplan-Meier table"),
        ("age,n.risk,n.event,strata\n3,5,1,sex=X\n", "names no value of a column"),
        ("age,ill\n30,maybe\n", "'maybe' is not a class"),
        ("age,chol,ill\n30,200,no\n", "'chol' is not one column of the table"),
        (
            "term,estimate\nchol,0.03\n",
            "the table has no column for the term 'chol'; write a term as 'column' (numbers) or 'column[value]'",
        ),
        ("term,estimate\nsex,0.03\n", "column 'sex' has categories, so its term must name a value"),
        ("term,estimate\nage,0.03\nage,0.04\n", "a term twice"),
        ("a,b\n1,2\n", "not a result table that treewarden recognises"),
        ("a,total\n1,2\n", "columns that it names must be quasi-identifiers (add them with --qi)"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(text, said):
    with pytest.raises(OutputsError) as error:
        read(text)
    assert said in str(error.value)
    assert str(error.value).startswith("table.csv")


@rows(
    "data, said",
    [
        (b"a" * (MOST_BYTES + 1), "larger than"),
        (b"," * (MOST_CELLS + 1), "cells"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a,b\x00\n1,2\n", "not text"),
        (b'a,b\n"' + b"x" * 200_000, "not CSV"),
    ],
)
def test_a_hostile_file_is_refused_soon(data, said):
    with pytest.raises(OutputsError) as error:
        read_output(data, "table.csv", COLUMNS)
    assert said in str(error.value)


def test_a_ratio_is_an_interval_of_its_logarithm():
    (entry,) = read("term,OR\n(Intercept),1.0\nage,2.00\n")
    (_, _), (_, number) = entry.coefficients
    assert float(number.low) <= math.log(1.995) < math.log(2.005) <= float(number.high)
    assert float(number.high - number.low) < 0.00502


def test_a_ratio_that_may_be_0_leaves_its_regression_open():
    (entry,) = read("term,OR\n(Intercept),0.0\nage,2.00\n")
    assert isinstance(entry, OpenEntry)
    assert "(Intercept)" in entry.words


@rows(
    "text, family",
    [
        ("term,estimate\nage,1\n", Family.LOGISTIC),
        ("term,estimate\nage,1\n(model),linear\n", Family.LINEAR),
        (",coef,std err,t,P>|t|\nage,1,1,1,1\n", Family.LINEAR),
        ("term,OR\nage,1\n", Family.LOGISTIC),
        ("term,HR\nsexM,1\n(time),age\n", Family.COX),
        ("term,estimate\nsexM,1\n(time),age\n(model),cox\n(ties),breslow\n", Family.COX),
    ],
)
def test_the_header_or_a_row_says_which_regression_it_is(text, family):
    entry = read(text)[0]
    assert entry.family is family
    assert entry.has_breslow == ("breslow" in text)


def test_rows_of_tableby_stand_below_their_column():
    entries = read(
        '"","no (N=164)","yes (N=139)","p value"\n"age","","","0.1"\n"-  Mean (SD)","52.6 (9.5)","56.6 (7.9)",""\n'
        '"-  Median (Q1, Q3)","52 (45, 59)","58 (52, 62)",""\n"-  Range","29 - 76","35 - 77",""\n'
        '"-  N-Miss","0","1",""\n'
        '"sex","","",""\n"-  F","72 (43.9%)","25 (18.0%)",""\n'
    )
    assert isinstance(entries[2], OpenEntry)
    found = [entry.numbers for entry in entries[3:]]
    assert found[1][Statistic.SD].text == "7.9"
    assert found[5][Statistic.MAXIMUM].text == "77"
    assert found[7][Statistic.MISSING].text == "1"
    assert entries[-1].conditions == (ValueCondition("sex", "F"),)


@rows(
    "text, condition",
    [
        ("[20, 40[", RangeCondition("age", 20, 40, has_low=True, has_high=False)),
        ("[20, 40)", RangeCondition("age", 20, 40, has_low=True, has_high=False)),
        ("(20,40]", RangeCondition("age", 20, 40, has_low=False, has_high=True)),
        ("]20, 40]", RangeCondition("age", 20, 40, has_low=False, has_high=True)),
        ("20-40", RangeCondition("age", 20, 40)),
        ("≥ 60", RangeCondition("age", low=60)),
        ("< 20", RangeCondition("age", high=20, has_high=False)),
        ("30", ValueCondition("age", "30")),
    ],
)
def test_coarser_numbers_are_ranges(text, condition):
    (entry,) = read(f'age,ill\n"{text}",no\n')
    assert entry.groups[0].conditions == (condition,)


@rows(
    "text, values",
    [("{F, M}", {"F", "M"}), ("F", None), ("*", None), ("anyone", {"F", "M"}), ("someone", None)],
)
def test_coarser_values_are_sets_of_them(text, values):
    files = [
        (b"F;anyone\nM;anyone\n", "hierarchy_sex.csv"),
        (f'sex,ill\n"{text}",no\n'.encode(), "t.csv"),
    ]
    (output,) = read_together(files, COLUMNS)
    (group,) = output.entries[0].groups
    conditions = [each for each in group.conditions if isinstance(each, ValuesCondition)]
    assert [set(each.values) for each in conditions] == ([] if values is None else [values])
    assert group.is_vague == (text == "someone")


@rows("name", ["sex.csv", "by_sex.csv", "table-sex.csv"])
def test_an_output_that_is_called_like_a_column_is_no_hierarchy(name):
    (output,) = read_together([(b"sex,no,yes\nF,72,25\nM,92,114\n", name)], COLUMNS)
    assert len(output.entries) == 4


LEVELS = b"level,name\n@,Total\n@@,anyone\n@@@,F\n@@@,M\n"
FIRMS = TableColumns("turnover", (), {"age": None, "sex": ("F", "M")})


@rows("codes", [LEVELS, LEVELS.partition(b"\n")[2], b"F;anyone;Total\nM;anyone;Total\n"])
def test_a_cross_table_may_count_a_group_of_values_that_a_list_of_codes_explains(codes):
    files = [(b"sex,ill,count\nanyone,yes,139\n", "t.csv"), (codes, "codes_sex.csv")]
    (output,) = read_together(files, COLUMNS)
    (entry,) = output.entries
    assert entry.conditions == (ValuesCondition("sex", frozenset({"F", "M"})),)
    assert entry.words == "count of sex = anyone, ill = yes: 139"


def test_a_code_without_codes_below_it_is_a_value_on_whatever_level_it_lies():
    codes = b"@,Total\n@@,F\n@@,others\n@@@,M\n"
    files = [(b"sex,total\nothers,7\nF,3\n", "t.csv"), (codes, "sex.csv")]
    (output,) = read_together(files, FIRMS)
    said = [
        condition.values
        for entry in output.entries
        for condition in entry.conditions[:1]
        if isinstance(condition, ValuesCondition)
    ]
    assert said == [{"M"}]
    assert output.entries[1].conditions == (ValueCondition("sex", "F"),)


def test_a_table_of_totals_is_read_with_its_withheld_cells():
    text = "sex,age,total,mean,n\nF,20-29,120,30,4\nM,,x,*,\nTotal,,300,,9\n"
    first, second, whole = read_output(text.encode(), "table.csv", FIRMS).entries
    assert first.numbers[Statistic.TOTAL].high == Fraction("120.5")
    assert first.conditions[1] == RangeCondition("age", Fraction(20), Fraction(29))
    assert first.words == "turnover of sex = F, age = 20-29: total 120, mean 30, count 4"
    assert not second.numbers
    assert second.words == "turnover of sex = M: withheld"
    assert not whole.conditions


def test_a_category_that_is_called_total_is_named_in_braces():
    named = TableColumns("turnover", (), {"area": ("Total", "all", "rest")})
    text = "area,total\n{Total},120\n{all},30\n,300\nsum,300\n"
    parts = [entry.conditions for entry in read_output(text.encode(), "t.csv", named).entries]
    value, other, *everybody = parts
    assert value == (ValuesCondition("area", frozenset({"Total"})),)
    assert other == (ValuesCondition("area", frozenset({"all"})),)
    assert everybody == [(), ()]


@rows(
    "text, columns",
    [
        ("area,total\ntotal,120\n", TableColumns("turnover", (), {"area": ("Total", "rest")})),
        ("area,ill,n\nALL,yes,2\n", TableColumns("ill", ("no", "yes"), {"area": ("all", "b")})),
        ("area,no,yes\nall,2,3\n", TableColumns("ill", ("no", "yes"), {"area": ("all", "b")})),
    ],
)
def test_a_cell_that_may_be_a_category_or_everybody_is_refused(text, columns):
    with pytest.raises(OutputsError, match=r"could mean everybody; write \{(Total|all)\} for the"):
        read_output(text.encode(), "table.csv", columns)


def test_sdctables_status_says_which_cells_are_withheld():
    text = "sex,total,sdcStatus\nF,120,s\nM,NA,u\n"
    first, second = read_output(text.encode(), "table.csv", FIRMS).entries
    assert (bool(first.numbers), bool(second.numbers)) == (True, False)


@rows(
    "text, said",
    [
        ("sex,total,sdcStatus\nF,120,x\n", "its number is in the file"),
        ("sex,total,dose\nF,120,1\n", "'dose' is not one column of the table"),
        ("sex,sex,total\nF,F,120\n", "'sex' is not one column of the table"),
        ("sex,total\nX,120\n", "'sex' is never 'X'"),
        ("sex,total\nF,many\n", "'many' is not a total"),
        ("sex,total,n\nF,120,2.5\n", "'2.5' is not a count"),
        ("sex,no,yes\nF,72,25\n", "docs/paper.md: totals table"),
    ],
)
def test_a_table_of_totals_is_read_in_full_or_refused(text, said):
    with pytest.raises(OutputsError) as error:
        read_output(text.encode(), "table.csv", FIRMS)
    assert said in str(error.value)


def test_a_hierarchy_is_no_output_by_itself():
    with pytest.raises(OutputsError, match="add the output that it explains"):
        read_together([(b"F;*\nM;*\n", "sex.csv")], COLUMNS)


def test_a_workbook_is_read_like_csv_and_refused_where_it_is_not_one():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ((None, "no", "yes"), ("n", 3, 4), ("age, mean", 52.5, 1 / 3)):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    entries = read_output(file.getvalue(), "table.xlsx", COLUMNS).entries
    assert entries[1].numbers[Statistic.COUNT].low == 4
    mean = entries[3].numbers[Statistic.MEAN]
    assert mean.low < Fraction(1, 3) < mean.high
    book.active.merge_cells("A1:B1")
    book.save(file)
    for data, said in (
        (file.getvalue(), "merged"),
        (b"PK\x03\x04broken", "not a readable workbook"),
    ):
        with pytest.raises(OutputsError, match=said):
            read_output(data, "table.xlsx", COLUMNS)


@rows(
    "part",
    [
        "xl/pivotCache/pivotCacheRecords1.xml",
        "xl/comments1.xml",
        "xl/model/item.data",
        "xl/media/a.png",
    ],
)
def test_a_workbook_that_holds_more_than_cells_is_refused(part):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ((None, "no", "yes"), ("n", 3, 4)):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(part, "Ann, ill")
    with pytest.raises(OutputsError, match="holds more than cells .*publish the sheet as CSV"):
        read_output(file.getvalue(), "table.xlsx", COLUMNS)


@rows(
    "text, low, high",
    [(".600", "0.5995", "0.6005"), ("-.5", "-0.55", "-0.45"), (".6%", ".0055", ".0065")],
)
def test_numbers_without_a_nought_are_read_as_spss_prints_them(text, low, high):
    number = read_measured(text)
    assert (number.low, number.high) == (Fraction(low), Fraction(high))
    assert read_measured(".") is None


def numbers_in(data, name="table.csv"):
    return [(entry.group, entry.numbers) for entry in read_output(data, name, COLUMNS).entries]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_text_of_excel_is_read(encoding):
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    assert numbers_in((mark + TABLEONE).encode(encoding)) == numbers_in(TABLEONE.encode())


def with_commas(text):
    """Return a table as Excel writes it where decimals have commas."""
    cells = text.replace('"**no**, N = 164","**yes**, N = 139"', "no;yes").replace(",", ";")
    return cells.replace(".", ",")


def test_decimal_commas_beside_semicolons_are_points():
    assert [
        {statistic: (number.low, number.high) for statistic, number in numbers.items()}
        for _, numbers in numbers_in(with_commas(TABLEONE).encode())
    ] == [
        {statistic: (number.low, number.high) for statistic, number in numbers.items()}
        for _, numbers in numbers_in(TABLEONE.encode())
    ]


@rows(
    "text, low, high",
    [
        ("age, mean;43,3;1.234,5", "43.25", "43.35"),
        ("age, mean;43,3;2,1", "43.25", "43.35"),
        ("age, mean;<0,5;43,3", None, None),
    ],
)
def test_a_decimal_comma_is_read_where_all_numbers_have_it(text, low, high):
    data = f"characteristic;no;yes\n{text}\n".encode()
    if low is None:
        with pytest.raises(OutputsError, match="not a valid mean"):
            numbers_in(data)
        return
    number = numbers_in(data)[0][1][Statistic.MEAN]
    assert (number.low, number.high) == (Fraction(low), Fraction(high))


@rows(
    "text",
    [
        "age, mean;43,3;2.1",  # both marks stand for decimals
        "age, mean;43,3 (1.5);2,1 (0,3)",
    ],
)
def test_mixed_decimal_marks_are_refused_by_the_cell(text):
    with pytest.raises(OutputsError, match="'43,3"):
        numbers_in(f"characteristic;no;yes\n{text}\n".encode())


def test_thousands_with_commas_beside_semicolons_stay_thousands():
    found = numbers_in(b"sex;no;yes\nF;1,024;2,048\nM;12,345;7\n")
    assert [numbers[Statistic.COUNT].low for _, numbers in found] == [1024, 2048, 12345, 7]


def test_ranges_in_brackets_keep_their_commas_beside_decimal_commas():
    found = read_output(b"age;no;yes\n[20,40);3;4\n[40,60);5;6\n", "t.csv", COLUMNS)
    assert found.entries[0].conditions[0] == RangeCondition(
        "age", Fraction(20), Fraction(40), has_low=True, has_high=False
    )


@rows("mark", ["\xa0", "\u202f", "\u2009", "'", "’"])
def test_blanks_and_apostrophes_between_thousands_are_no_part_of_a_number(mark):
    found = numbers_in(f"sex,no,yes\nF,1{mark}024,2\nM,12{mark}345{mark}678,7\n".encode())
    assert [numbers[Statistic.COUNT].low for _, numbers in found] == [1024, 2, 12345678, 7]


def test_hard_blanks_empty_columns_and_rows_change_nothing():
    plain = numbers_in(TABLEONE.encode())
    hard = TABLEONE.replace(" ", "\xa0")
    wide = "\n\n".join(line + ",," for line in TABLEONE.splitlines())
    grouped = " Grouped by ill,,,\n" + TABLEONE
    assert numbers_in(hard.encode()) == numbers_in(wide.encode()) == plain
    assert numbers_in(grouped.encode()) == plain


def test_a_share_with_its_sign_may_stand_before_its_count():
    found = numbers_in(b'characteristic,no,yes\n"sex = F",44% (72),18% (*)\n')
    assert found[0][1][Statistic.COUNT].low == 72
    assert found[0][1][Statistic.SHARE].middle == Fraction("0.44")
    assert set(found[1][1]) == {Statistic.SHARE}
    with pytest.raises(OutputsError, match="not a valid count"):
        numbers_in(b'characteristic,no,yes\n"sex = F",44.1 (72),18 (25)\n')
