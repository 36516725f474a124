"""The table of docs/formats.md says of each format what the code of the format says of itself."""

import re

from tests.docs import pages
from tests.kit import places
from treewarden.ppdm_models.files.load import formats, open_model, writers
from treewarden.ppdm_models.formats import Strippable

ROW = re.compile(
    r"^\| (?P<file>.+?) \| (?P<passes>.+?) \| (?P<redact>.+?) \| (?P<repair>.+?) \|$", re.M
)
FORMATS = {
    "PMML, XGBoost": ("pmml", "xgboost_model", "lightgbm_text"),
    "CatBoost's JSON": ("catboost_json",),
    "Spark's folder": ("spark_ml",),
    "`.skops` file": ("skops_file",),
    "scikit-learn's tree as JSON": ("sklearn_json",),
    "partykit's JSON": ("partykit_json",),
    "ONNX of trees": (
        *("onnx_ml", "rpart_json", "treelite_json", "rpart_text", "partykit_text", "weka_text"),
        "h2o_json",
    ),
    "treewarden's JSON": ("treewarden_json",),
    "`export_text`": ("sklearn_text", "spark_text", "xgboost_text"),
    "R's forests": ("r_forest_json",),
    "gbm as JSON": ("gbm_json",),
}
"""The formats of each row of the table, by how the row begins; rows of all other formats name none."""
SAMPLES = {"h2o_json": "regression_arrays.json", "weka_text": "reptree.txt"}
"""Files that are none of the exceptions which their rows name, or of odd labels, where the first is."""
OTHERS = ("one tree in any other format", "any other forest", "H2O's MOJO", "a dump of XGBoost")


def rows():
    text = (pages.DOCS / "formats.md").read_text("utf-8")
    table = text.partition("## Which file to publish")[2].partition("`repair --to pmml`")[0]
    return list(ROW.finditer(table))[2:]


def sample(name):
    """Return a file of a format."""
    file = SAMPLES.get(name)
    folder = places.DATA / "formats" / name / "good"
    return (folder / file if file else min(folder.iterdir())).read_bytes()


def test_each_row_is_of_known_formats_and_each_format_that_is_accounted_for_has_a_row():
    for row in rows():
        beginnings = [begin for begin in (*FORMATS, *OTHERS) if row["file"].startswith(begin)]
        assert len(beginnings) == 1, row["file"]
    named = sorted(name for names in FORMATS.values() for name in names)
    assert named == sorted(name for name, plugin in formats().items() if plugin.accounts_for_all)


def test_what_the_table_says_of_passing_redacting_and_repairing_is_what_the_formats_do():
    for row in rows():
        for begin, names in FORMATS.items():
            if not row["file"].startswith(begin):
                continue
            for name in names:
                plugin = formats()[name]
                can_redact = isinstance(open_model(sample(name), name).opened, Strippable)
                assert plugin.accounts_for_all, name
                can_repair = plugin.rewrites or name in writers()
                assert can_repair is (row["repair"] == "yes"), name
                if row["redact"].startswith("yes"):
                    assert can_redact, name
