"""Which party holds which columns: read, or refused with the reason."""

import pytest

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.session import read_parties

GOOD = """
[[party]]
name = "alice"
columns = ["outlook", "temp"]

[[party]]
name = "bobby"
columns = ["humidity", "play"]
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "parties.toml"
        path.write_text(text)
        return path

    return write


def test_who_holds_what(written):
    found = read_parties(written(f"depth = 2\n{GOOD}"))
    assert found.names == ("alice", "bobby")
    assert found.columns == (("outlook", "temp"), ("humidity", "play"))
    assert (found.depth, found.holder("play", "parties.toml")) == (2, 1)


def test_a_byte_order_mark_says_nothing(written):
    assert read_parties(written(f"\ufeff{GOOD}")) == read_parties(written(GOOD))


def test_a_class_that_nobody_holds_is_refused(written):
    with pytest.raises(PartyError, match="no party has the class column 'windy'"):
        read_parties(written(GOOD)).holder("windy", "parties.toml")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"temp"]', '"play"]', "'play' is a column of alice and of bobby"),
        ('"temp"]', '"outlook"]', "alice lists the column 'outlook' twice"),
        ('"bobby"', '"alice"', "two parties have the same name"),
        ('"bobby"', '"miner"', "is called miner"),
        ('"bobby"', '"Bobby B"', "party.1.name"),
        ("columns", "collumns", "party.0.columns"),
        ("[[party]]", "[[party", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(written, old, new, problem):
    with pytest.raises(PartyError, match=problem):
        read_parties(written(GOOD.replace(old, new, 1)))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(PartyError, match="cannot be read"):
        read_parties(tmp_path / "parties.toml")
