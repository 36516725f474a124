"""Parts of lists."""

import pytest
from sqlalchemy import func, select

from tests.kit.service.sites import add_account, add_organisation
from treewarden.service.auth.principal import Role
from treewarden.service.database.tables import account
from treewarden.service.errors import InvalidError
from treewarden.service.schemas.base import PageRequest
from treewarden.service.use_cases.paging import OLDEST, ListOrder, narrowed, paged


def all_pages(site, limit, **order):
    cursor, seen = "", []
    while True:
        with site.reading() as unit:
            wanted = PageRequest(cursor=cursor, limit=limit)
            rows, cursor = paged(unit, select(account.c.id), account.c.id, wanted, **order)
        seen.append([row.id for row in rows])
        if cursor is None:
            return seen


@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_the_pages_hold_everything_once_and_newest_first(site, limit):
    home = add_organisation(site)
    made = [add_account(site, home, f"person {n}").account_id for n in range(5)]
    pages = all_pages(site, limit)
    assert [each for page in pages for each in page] == sorted(made, reverse=True)
    assert all(len(page) == limit for page in pages[:-1])


def test_the_oldest_may_come_first(site):
    home = add_organisation(site)
    made = [add_account(site, home, f"person {n}").account_id for n in range(5)]
    pages = all_pages(site, 2, order=OLDEST)
    assert [each for page in pages for each in page] == sorted(made)


@pytest.mark.parametrize("is_descending", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_pages_in_another_order_hold_everything_once(site, limit, is_descending):
    home, made = add_organisation(site), {}
    for number, role in enumerate((Role.VIEWER, Role.REVIEWER, Role.VIEWER, Role.ADMINISTRATOR)):
        made[add_account(site, home, f"person {number}", role).account_id] = role
    order = ListOrder(func.lower(account.c.role), is_descending=is_descending)
    found = [each for page in all_pages(site, limit, order=order) for each in page]
    assert found == sorted(made, key=lambda each: (made[each], each), reverse=is_descending)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", 3),
        ("ann", 2),
        ("AN", 2),
        ("an  n", 2),
        ("a%", 0),
        ("x ann", 0),
        ("_", 0),
        ("x " * 9, 0),
    ],
)
def test_a_list_is_narrowed_to_what_holds_all_words(site, text, found):
    home = add_organisation(site)
    for name in ("Ann", "Hanna", "Bob"):
        add_account(site, home, name)
    with site.reading() as unit:
        rows = unit.connection.execute(narrowed(select(account), text, [account.c.name])).all()
    assert len(rows) == found


def test_a_cursor_of_a_row_that_is_not_in_the_list_is_refused(site):
    wanted = PageRequest(cursor="0" * 32)
    with site.reading() as unit, pytest.raises(InvalidError):
        paged(unit, select(account.c.id), account.c.id, wanted, ListOrder(account.c.name))


def test_an_empty_list_is_one_empty_page(site):
    assert all_pages(site, 3) == [[]]


@pytest.mark.parametrize("cursor", ["1", "x" * 32, "'; DROP TABLE account"])
def test_a_cursor_of_somebodys_own_making_is_refused(site, cursor):
    with site.reading() as unit, pytest.raises(InvalidError):
        paged(unit, select(account.c.id), account.c.id, PageRequest(cursor=cursor))
