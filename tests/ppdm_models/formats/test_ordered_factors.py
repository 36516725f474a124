"""R's ordered factors in prints without the names or the order of their levels: named, with a line that has them."""

import shutil
import subprocess

import pytest

from tests.kit import places
from tests.test_recipes import MUST_HAVE_R
from treewarden.ppdm_models.errors import TableError, TreeFormatError
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.formats.rare.partykit_text import AS_JSON
from treewarden.ppdm_models.formats.rare.rpart_summary import NAMING
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.predicate import CategoryTest, atoms

ORDERED = places.DATA / "ordered_factors"
MODEL = """
set.seed(1)
d <- data.frame(size = factor(sample(c("small", "mid 1", "mid, 2", "large"), 400, TRUE),
                              levels = c("small", "mid 1", "mid, 2", "large"), ordered = TRUE), age = 1:400)
d$y <- factor(ifelse(d$size > "mid 1" | d$age < 40, "yes", "no"))
"""


def run_r(code, folder):
    rscript = shutil.which("Rscript")
    if rscript is None:
        if MUST_HAVE_R:
            pytest.fail("TREEWARDEN_REQUIRE_R=1, and there is no Rscript")
        pytest.skip("no R on this machine")
    subprocess.run([rscript, "-e", MODEL + code], cwd=folder, check=True, capture_output=True)


def line_in(advice):
    return advice.partition(": ")[2] if advice is NAMING else advice.partition("in R: ")[2]


def sets_of(tree):
    tests = (part for node in tree.nodes for part in atoms(node.test))
    return {
        part.values for part in tests if isinstance(part, CategoryTest) and part.feature == "size"
    }


def test_levels_without_names_are_asked_for_by_their_factor():
    model = read_model(ORDERED / "rpart.summary")
    assert any("levels of the factors 'dur' are not named" in note for note in model.notes)
    table = table_of({"dur": ["2", "25", "100"], "amt": [1, 2, 3], "y": ["good"] * 3})
    with pytest.raises(TableError, match="column 'dur' has categories that rpart.summary does not"):
        matched(model, table)
    numbered = table_of({"dur": ["1", "4", "6"], "amt": [1, 2, 3], "y": ["good"] * 3})
    assert isinstance(matched(model, numbered).table, Table)


def test_levels_that_are_compared_by_name_are_refused_by_their_factor():
    with pytest.raises(TreeFormatError, match="'ord' is an ordered factor, and print") as refused:
        read_model(ORDERED / "ctree.txt")
    assert AS_JSON in str(refused.value)


@pytest.mark.tools
def test_the_line_for_ctree_writes_the_levels_in_their_order(tmp_path):
    run_r(
        f"library(partykit); model <- ctree(y ~ size + age, data = d); {line_in(AS_JSON)}", tmp_path
    )
    found = sets_of(read_model(tmp_path / "model.json"))
    assert found == {("mid 1", "small"), ("large", "mid, 2")}


@pytest.mark.tools
def test_the_line_for_rpart_writes_the_levels_by_name(tmp_path):
    run_r(
        f"library(rpart); levels(d$size)[3] <- 'mid 2'; model <- rpart(y ~ size + age, data = d); {line_in(NAMING)}",
        tmp_path,
    )
    found = sets_of(read_model(tmp_path / "model.txt"))
    assert found == {("mid 1", "small"), ("large", "mid 2")}
