"""Parts of lists."""

import pytest
from sqlalchemy import select

from service.cases.paging import paged
from service.database.tables import account
from service.errors import InvalidError
from service.schemas.base import Wanted
from tests.service.sites import an_organisation, somebody


def all_pages(site, limit):
    cursor, seen = "", []
    while True:
        with site.reading() as unit:
            wanted = Wanted(cursor=cursor, limit=limit)
            rows, cursor = paged(unit, select(account.c.id), account.c.id, wanted)
        seen.append([row.id for row in rows])
        if cursor is None:
            return seen


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_the_pages_hold_everything_once_and_newest_first(site, limit):
    home = an_organisation(site)
    made = [somebody(site, home, f"person {n}").account_id for n in range(5)]
    pages = all_pages(site, limit)
    assert [each for page in pages for each in page] == sorted(made, reverse=True)
    assert all(len(page) == limit for page in pages[:-1])


def test_an_empty_list_is_one_empty_page(site):
    assert all_pages(site, 3) == [[]]


@pytest.mark.parametrize("cursor", ["1", "x" * 32, "'; DROP TABLE account"])
def test_a_cursor_of_somebodys_own_making_is_refused(site, cursor):
    with site.reading() as unit, pytest.raises(InvalidError):
        paged(unit, select(account.c.id), account.c.id, Wanted(cursor=cursor))
