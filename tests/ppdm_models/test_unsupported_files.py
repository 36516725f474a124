"""Files that are never opened: told by their first bytes, and answered by the lines that export what is in them."""

import bz2
import gzip
import lzma
import pickle
import zlib

import pytest

from treewarden.ppdm_models.errors import TableError, TreeFormatError
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.unsupported_files import Foreign, foreign, model_advice, table_advice


class Trap:
    """Says so where somebody unpickles it."""

    def __reduce__(self):
        return exec, ("raise SystemExit('opened')",)


RDS = b"X\n\0\0\0\3\0\4\2\2class\0rpart"
PACKED = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "as it is": bytes,
}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (pickle.dumps(Trap(), 2), Foreign.PICKLE),
        (pickle.dumps(Trap(), 5), Foreign.PICKLE),
        (RDS, Foreign.RDS),
        (b"RDX3\nX\n\0\0\0\3", Foreign.RDATA),
    ],
)
def test_a_file_is_told_by_its_start_packed_or_not(packed, held, kind):
    assert foreign(PACKED[packed](held)) is kind


@pytest.mark.parametrize(
    ("held", "source", "lines"),
    [
        (
            pickle.dumps(Trap()),
            "loan.pkl",
            ["import joblib, skops.io", 'skops.io.dump(joblib.load("loan.pkl"), "loan.skops")'],
        ),
        (
            b"\x80\x04cxgboost.sklearn\nXGBClassifier",
            "loan.joblib",
            ["import joblib", 'joblib.load("loan.joblib").save_model("loan.json")'],
        ),
        (
            gzip.compress(RDS, mtime=0),
            "loan.rds",
            [
                'model <- readRDS("loan.rds")',
                'writeLines(capture.output(print(model, digits = 15)), "loan.txt")',
            ],
        ),
        (
            b"RDX3\nX\n...ctree",
            "loan.RData",
            [
                'model <- get(load("loan.RData")[1])',
                'writeLines(capture.output(print(model)), "loan.txt")',
            ],
        ),
        (
            b"CBM1....",
            "loan.cbm",
            [
                'model = catboost.CatBoost().load_model("loan.cbm")',
                'model.save_model("loan.json", format="json")',
            ],
        ),
    ],
)
def test_a_model_that_is_never_opened_is_answered_by_the_lines_that_export_it(held, source, lines):
    with pytest.raises(TreeFormatError) as caught:
        load_model(held, source)
    assert "; if you trust the file, export the model in " in str(caught.value)
    assert str(caught.value).endswith(f": {'; '.join(lines)}")
    assert "tried" not in str(caught.value)


@pytest.mark.parametrize(
    ("held", "name", "line"),
    [
        (
            gzip.compress(RDS, mtime=0),
            "x.rds",
            'write.csv(readRDS("x.rds"), "x.csv", row.names = FALSE)',
        ),
        (b"FEA1\0\0", "x.feather", 'pandas.read_feather("x.feather").to_csv'),
        (pickle.dumps(Trap()), "x.pkl", 'pandas.read_pickle("x.pkl").to_csv'),
        (b"SQLite format 3\0", "x.db", "save the table as CSV in UTF-8, or as Parquet"),
    ],
)
def test_a_table_of_another_kind_is_answered_by_the_line_that_saves_it(tmp_path, held, name, line):
    (tmp_path / name).write_bytes(held)
    with pytest.raises(TableError) as caught:
        read_table(tmp_path / name)
    assert line in str(caught.value)


def test_names_of_files_cannot_leave_the_quotes_they_stand_in():
    assert r'joblib.load("a\"b\\c.pkl")' in model_advice(pickle.dumps(1), 'a"b\\c.pkl')


@pytest.mark.parametrize(
    "held", [b"", b"x", b"x = 1, y = 2", b"\x1f\x8b", b"BZh9", b"]\0\0", b"PK\3\4"]
)
def test_what_only_starts_like_one_is_none(held):
    assert foreign(held) is None
    assert model_advice(held, "m") == table_advice(held, "m") == ""
