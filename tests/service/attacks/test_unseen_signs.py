"""Names with signs that nobody sees: a line turned round, a joiner, a control of a terminal."""

import csv
import io
import json
import re

import pytest

from tests.kit.service import sites
from tests.kit.service.browsing import add_session
from treewarden.service.api._requests import COOKIE
from treewarden.service.auth.principal import Role
from treewarden.service.ledger.log import record
from treewarden.service.names import escape_page, sent
from treewarden.service.use_cases.log import exported_csv, exported_json

TURNED = "loans \u202efdp.exe\u2066\u200b\x9b31m"
WRITTEN = r"loans \u202efdp.exe\u2066\u200b\x9b31m"
UNSEEN = re.compile("[\x7f\u200b\u202e\u2066\x9b]")


@pytest.fixture
def ann(site):
    return sites.add_account(site, sites.add_organisation(site), "ann", Role.ADMINISTRATOR)


@pytest.fixture
def client(site, ann):
    """Give a client with a model whose name turns a line round, signed in as a browser is."""
    made = sites.open_client(site, ann)
    assert made.post("/api/v1/models", json={"name": TURNED}).status_code == 201
    made.cookies.set(COOKIE, add_session(site, ann))
    return made


@pytest.mark.parametrize("path", ["/models", "/log", "/submit"])
def test_a_page_writes_out_what_nobody_sees(client, path):
    text = client.get(path).text
    assert WRITTEN in text
    assert not UNSEEN.search(text)


def test_a_refusal_writes_it_out_too(client):
    answer = client.get(f"/packs/{TURNED}")
    assert answer.status_code == 404
    assert not UNSEEN.search(answer.text)


def test_a_form_sends_back_exactly_what_it_was_given(client):
    text = client.get("/waivers/new", params={"model": "loans \u202efdp.exe\u200c"}).text
    assert 'value="loans &#x202e;fdp.exe&#x200c;"' in text
    assert not UNSEEN.search(text)


@pytest.mark.parametrize(
    "text", ["plain <b>", "Zürich – „ja“\u00a0· 10\u202f%", "日本語 😀", "a\tb\r\nc"]
)
def test_what_is_seen_stays_as_it_is(text):
    assert escape_page(text) == text


def test_a_value_of_a_form_is_escaped_as_all_others_are():
    assert sent('"><b>') == "&#34;&gt;&lt;b&gt;"


def test_the_log_acts_on_no_terminal_and_its_json_says_exactly_what_was_written(site, ann):
    with site.unit() as unit:
        record(unit, ann, "model.created", "model", "a" * 32, {"name": TURNED + "\x7f\U000e0041é"})
        record(unit, ann, f"\u202e{TURNED}", "model", "a" * 32)
    as_json, as_csv = "".join(exported_json(site, ann)), "".join(exported_csv(site, ann))
    assert not UNSEEN.search(as_json + as_csv)
    assert "é" in as_json
    first, second = json.loads(as_json)
    assert first["detail"]["name"] == TURNED + "\x7f\U000e0041é"
    assert second["action"] == f"\u202e{TURNED}"
    rows = list(csv.DictReader(io.StringIO(as_csv)))
    assert rows[1]["action"] == rf"\u202e{WRITTEN}"
