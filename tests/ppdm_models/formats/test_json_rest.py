"""What JSON of several tools holds that nobody reads is found, wherever it stands, and can be taken out."""

import pytest

from tests.kit import places
from tests.kit.tiers import cases
from tests.ppdm_models.formats.accounting import cleaned, content, leaks, unnoticed, unremoved
from treewarden.ppdm_models.files.load import open_model

GOOD = places.ROOT / "tests" / "data" / "formats"
FILES = {
    "r_forest_json/good/randomforest.json": [],
    "r_forest_json/good/randomforest_levels.json": [],
    "r_forest_json/good/ranger.json": [],
    "r_forest_json/good/ranger_one.json": [],
    "r_forest_json/good/ranger_partition.json": [],
    "r_forest_json/good/ranger_votes.json": [],
    "gbm_json/good/bernoulli.json": [("averages", "/trees")],
    "gbm_json/good/multinomial.json": [("averages", "/trees")],
    "gbm_json/good/gaussian.json": [("averages", "/trees")],
    "partykit_json/good/ctree.json": [],
    "partykit_json/good/rpart.json": [],
    "partykit_json/good/regression.json": [],
}
"""What each file, as its tool wrote it, is told to hold beside its trees."""


ONE_OF_EACH = [
    "r_forest_json/good/randomforest.json",
    "r_forest_json/good/ranger_one.json",
    "gbm_json/good/bernoulli.json",
    "partykit_json/good/ctree.json",
]


@pytest.mark.in_both
@pytest.mark.parametrize("name", cases(FILES, quick=ONE_OF_EACH))
def test_all_that_a_tool_wrote_is_known_and_nothing_can_be_hidden_in_it(name):
    data = (GOOD / name).read_bytes()
    file = open_model(data, name)
    assert [(str(leak.kind), leak.where) for leak in file.leaks] == FILES[name]
    clean = cleaned(data)
    assert leaks(clean) == []
    assert content(open_model(clean, name).model) == content(file.model)
    assert unnoticed(clean) == []
    assert unremoved(clean) == []
