"""Labels of columns and values: read from a dictionary and from files of statistics programs, within bounds."""

import pandas
import pyreadstat
import pytest

from treewarden.ppdm_models.errors import DictionaryError
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import (
    MOST_BYTES,
    MOST_LABEL,
    MOST_VALUES,
    column_meaning,
    has_labels_for_all,
    read_dictionary,
)


def written(tmp_path, text):
    path = tmp_path / "words.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_dictionary_says_what_columns_and_values_are_called(tmp_path, mark):
    lines = ["\ufeffcolumn,label,value,value_label", "smk_2,smoking status,1,yes", "smk_2,,2,no"]
    lines += ["", "age,age in years", "sex,sex,F,F"]
    path = written(tmp_path, "\r\n".join(lines).replace(",", mark))
    smoking, age, sex = read_dictionary(path)
    assert (smoking.name, smoking.label) == ("smk_2", "smoking status")
    assert smoking.values == (("1", "yes"), ("2", "no"))
    assert smoking.label_of("2") == "no"
    assert smoking.label_of("3") == ""
    assert (age.label, age.values) == ("age in years", ())
    assert (sex.label, sex.values) == ("", ())  # what repeats the name or the value says nothing


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "words.csv: is empty"),
        ("column,label\n", "words.csv: describes no column"),
        ("column;text\na;b\n", "words.csv, headings: no 'label'"),
        ("column,label,notes\n", "words.csv, headings: 'notes' is unknown"),
        ("column,label,label\n", "words.csv, headings: one of them occurs twice"),
        ("column,label,value\n", "words.csv, headings: 'value' and 'value_label' belong together"),
        ("column,label\na,b,c\n", "words.csv, line 2: 3 cells under 2 headings"),
        ("column,label\n,b\n", "words.csv, line 2: names no column"),
        ("column,label\na,b\na,c\n", "words.csv, line 3: a second label of the column 'a'"),
        ("column,label,value,value_label\na,b,,c\n", "line 2: a label without its value"),
        (
            "column,label,value,value_label\na,b,1,c\na,b,1,d\n",
            "line 3: a second label of the value '1' of 'a'",
        ),
        ('column,label\n"a,b\n', "is not CSV"),
        (b"column,label\na,caf\xe9\n", "not text in UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "a picture, not a dictionary"),
        (b"x" * (MOST_BYTES + 1), "is larger than 16 MB"),
    ],
)
def test_a_dictionary_that_is_not_understood_is_refused_with_what_to_do(tmp_path, text, problem):
    with pytest.raises(DictionaryError) as caught:
        read_dictionary(written(tmp_path, text))
    assert problem in str(caught.value)
    assert "; " in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "labels", "expected"),
    [
        ("3,6.0,7,", {"3": "a", "6": "b", "7.0": "c"}, True),
        ("3,6,7,8", {"3": "a", "6": "b", "7": "c"}, False),
        ("F,M,", {"F": "women", "M": "men"}, True),
        ("F,M,X", {"F": "women", "M": "men"}, False),
    ],
)
def test_a_column_is_labelled_if_every_value_has_a_label(tmp_path, cells, labels, expected):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells.split(",")))
    column = read_table(path).columns["x"]
    assert has_labels_for_all(column_meaning("x", "", labels), column) is expected


def test_a_dictionary_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DictionaryError, match=r"none\.csv: there is no such file"):
        read_dictionary(tmp_path / "none.csv")


def test_labels_are_of_one_line_and_of_bounded_length_and_number():
    values = {str(code): f"a\nb {'c' * 500}" for code in range(MOST_VALUES + 7)}
    meaning = column_meaning("x", "long " * 10**5, values)
    assert len(meaning.label) == MOST_LABEL
    assert meaning.label.endswith("…")
    assert (len(meaning.values), meaning.left_out) == (MOST_VALUES, 7)
    assert all("\n" not in label and len(label) <= 80 for _, label in meaning.values)


@pytest.mark.usefixtures("sound_files")
@pytest.mark.parametrize("form", ["sav", "dta"])
def test_statistics_programs_files_say_what_their_columns_are_called(tmp_path, form):
    path = tmp_path / f"p.{form}"
    frame = pandas.DataFrame({"smk_2": [1.0, 2.0, 1.0], "age": [30.0, 40.0, 50.0]})
    getattr(pyreadstat, f"write_{form}")(
        frame,
        str(path),
        column_labels={"smk_2": "smoking status"},
        variable_value_labels={"smk_2": {1: "yes", 2: "no"}},
    )
    for table in (read_table(path), count_table(open_source(path))):
        (meaning,) = table.meanings
        assert (meaning.name, meaning.label) == ("smk_2", "smoking status")
        assert meaning.values == (("1", "yes"), ("2", "no"))


def test_a_transport_file_of_sas_says_it_too(tmp_path):
    path = tmp_path / "p.xpt"
    frame = pandas.DataFrame({"smk_2": [1.0, 2.0], "age": [30.0, 40.0]})
    pyreadstat.write_xport(frame, str(path), column_labels=["smoking status", ""])
    assert [each.label for each in read_table(path).meanings] == ["smoking status"]
