"""The page about tables: whose they are, with whom they are shared, and that they can be erased."""

import pytest

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.tables import data_table


@pytest.fixture
def bob(site, home):
    return sites.add_account(site, home, "bob", "submitter")


def test_a_table_is_shared_withdrawn_and_erased_on_its_page(site, ann, bob):
    table = make.add_upload(site, ann)
    mine = sites.open_client(site, ann, follow_redirects=False)
    his = sites.open_client(site, bob)
    assert "people.csv" in mine.get("/tables").text
    assert "people.csv" not in his.get("/tables").text
    assert mine.post(f"/tables/{table}/share", data={"name": "bob"}).status_code == 303
    assert "Withdraw<" in mine.get("/tables").text
    assert "people.csv" in his.get("/tables").text
    assert "Withdraw" not in his.get("/tables").text
    form = {"account_id": bob.account_id}
    assert mine.post(f"/tables/{table}/withdraw", data=form).status_code == 303
    assert "people.csv" not in his.get("/tables").text
    assert mine.post(f"/tables/{table}/erase").status_code == 303
    assert make.read_row(site, data_table, table).state == "erased"
    assert "erased" in mine.get("/tables").text


def test_what_is_not_taken_is_said_on_the_page(site, ann):
    table = make.add_upload(site, ann)
    answer = sites.open_client(site, ann).post(f"/tables/{table}/share", data={"name": "nobody"})
    assert answer.status_code == 404
    assert "check the spelling" in answer.text
    assert "people.csv" in answer.text


def test_viewers_have_no_page_of_tables(site, home):
    viewer = sites.open_client(site, sites.add_account(site, home, "vera", "viewer"))
    assert viewer.get("/tables").status_code == 403
    assert 'href="/tables"' not in viewer.get("/").text
