"""A session file says what all sides agree on, and whoever reads a wrong one is told what is wrong."""

import pytest

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import MINER
from treewarden.ppdm_models.methods.vertical.session import (
    MOST_BYTES,
    ListeningAddress,
    Mode,
    read_session,
)

TENNIS = """name = "tennis"
mode = "ids"
records = 14
target = "play"
classes = ["no", "yes"]
labelled = "alice"
[miner]
host = "localhost"
port = 7000
[[party]]
name = "alice"
host = "localhost"
port = 7001
attributes = 2
[[party]]
name = "bobby"
host = "localhost"
port = 7002
attributes = 2
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "session.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_a_session_is_read_with_its_addresses(written):
    found = read_session(written(TENNIS))
    assert found.session.parties == ("alice", "bobby")
    assert found.session.ranks == ((0, 1), (2, 3))
    assert (found.session.labelled, found.session.mode) == (0, Mode.IDS)
    assert found.addresses[MINER] == ListeningAddress("localhost", 7000)
    assert found.addresses[1] == ListeningAddress("localhost", 7002)


def test_a_byte_order_mark_says_nothing(written):
    assert read_session(written(f"\ufeff{TENNIS}")) == read_session(written(TENNIS))


def test_the_digest_tells_files_apart_by_what_they_say_not_by_how_they_are_written(written):
    first = read_session(written(TENNIS)).digest
    assert read_session(written("# the same\n" + TENNIS)).digest == first
    assert read_session(written(TENNIS.replace("records = 14", "records = 15"))).digest != first


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("records = 14", "records = 0", "records"),
        ("records = 14", "records = true", "records"),
        ('"bobby"', '"alice"', "the same name"),
        ('"bobby"', '"miner"', "another name"),
        ('"bobby"', '"../b"', "party.1.name"),
        ('labelled = "alice"', 'labelled = "carol"', "labelled"),
        ("port = 7002", "port = 70000", "party.1.port"),
        ('["no", "yes"]', '["no", "no"]', "twice"),
        ("port = 7002\n", "port = 7002\nranks = [0, 1]\n", "for all parties or for none"),
        ("port = 7002\n", "port = 7002\nranks = [0]\n", "one number per attribute"),
        ("[miner]", "secret = 1\n[miner]", "secret"),
        ("[miner]", "[miner", "not valid TOML"),
    ],
)
def test_a_wrong_session_file_is_refused_with_the_reason(written, old, new, problem):
    with pytest.raises(PartyError, match=problem):
        read_session(written(TENNIS.replace(old, new)))


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"#" * (MOST_BYTES + 1)])
def test_what_is_no_text_of_a_session_is_refused(written, body):
    with pytest.raises(PartyError):
        read_session(written(body))


def test_a_session_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(PartyError, match="cannot be read"):
        read_session(tmp_path / "none.toml")
