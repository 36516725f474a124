"""A damaged file of boosted trees is read, or refused with a reason: a reader never fails in another way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit import places
from tests.kit.tiers import examples
from tests.ppdm_models.formats.damage import damaged_json, with_a_wrong_byte
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.formats import Rewritable, Strippable
from treewarden.ppdm_models.tree.side_channels import LeakKind

DATA = places.DATA / "formats"
JSON = sorted(DATA.glob("[xl][gi]*/good/*.json"))
BYTES = sorted([*DATA.glob("xgboost_model/good/*"), *DATA.glob("lightgbm_text/good/*")])

many = settings(max_examples=examples(100))
randoms = st.randoms(use_true_random=False)


def label(path):
    return f"{path.parent.parent.name}-{path.name}"


def outcome(path, data):
    """Return what became of the bytes; what is read can be looked through and written back too."""
    plugin = formats()[path.parent.parent.name]
    try:
        opened = plugin.open(data, "damaged")
    except TreeFormatError as error:
        return str(error)
    if isinstance(opened, Strippable):
        opened.without(frozenset(LeakKind))
    try:
        if isinstance(opened, Rewritable):
            opened.rewrite(opened.model)
    except OutputError as error:
        return str(error)
    return opened


@pytest.mark.parametrize("path", JSON, ids=label)
@many
@given(random=randoms)
def test_damaged_json_is_read_or_refused(path, random):
    assert outcome(path, damaged_json(path.read_bytes(), random))


@pytest.mark.parametrize("path", BYTES, ids=label)
@many
@given(random=randoms)
def test_a_wrong_byte_is_read_or_refused(path, random):
    assert outcome(path, with_a_wrong_byte(path.read_bytes(), random))
