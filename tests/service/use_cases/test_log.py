import json

import pytest
from sqlalchemy import delete, text, update

from tests.kit.service import sites
from treewarden.service.database.run_tables import log_entry
from treewarden.service.ledger.log import record
from treewarden.service.schemas.base import PageRequest
from treewarden.service.use_cases.log import check_log, exported_csv, exported_json, list_log

ROWS = 7


@pytest.fixture
def ann(site):
    made = sites.add_account(site, sites.add_organisation(site), "ann")
    with site.unit() as unit:
        for number in range(ROWS):
            record(
                unit, made, "model.created", "model", f"{number:032x}", {"name": f"=m{number}\n"}
            )
    return made


def unlocked(unit):
    if unit.connection.dialect.name == "sqlite":
        unit.connection.execute(text("DROP TRIGGER log_entry_no_update"))
        unit.connection.execute(text("DROP TRIGGER log_entry_no_delete"))
    else:
        unit.connection.execute(text("DROP TRIGGER log_entry_unchanged ON log_entry"))


def test_a_log_as_it_was_written_holds(site, ann):
    with site.reading() as unit:
        found = check_log(unit, ann)
    assert (found.holds, found.rows, found.problem) == (True, ROWS, "")


@pytest.mark.parametrize(
    "values",
    [
        {"actor": "eve"},
        {"action": "model.erased"},
        {"detail": {"name": "another"}},
        {"object_id": "f" * 32},
    ],
    ids=str,
)
def test_one_edited_row_is_found(site, ann, values):
    with site.unit() as unit:
        unlocked(unit)
        unit.connection.execute(update(log_entry).where(log_entry.c.seq == 4).values(**values))
    with site.reading() as unit:
        found = check_log(unit, ann)
    assert (found.holds, found.problem) == (False, "row 4 was changed after it was written")


def test_a_row_that_was_taken_out_is_found(site, ann):
    with site.unit() as unit:
        unlocked(unit)
        unit.connection.execute(delete(log_entry).where(log_entry.c.seq == 3))
    with site.reading() as unit:
        assert check_log(unit, ann).problem == "row 3 is missing"


def test_the_log_is_read_in_parts_newest_first(site, ann):
    seen, cursor = [], ""
    while cursor is not None:
        with site.reading() as unit:
            part = list_log(unit, ann, PageRequest(cursor=cursor, limit=3))
        seen += [each.seq for each in part.items]
        cursor = part.next
    assert seen == list(range(ROWS, 0, -1))


def test_an_export_holds_every_row_and_no_formula(site, ann):
    told = json.loads("".join(exported_json(site, ann)))
    assert [each["seq"] for each in told] == list(range(1, ROWS + 1))
    lines = "".join(exported_csv(site, ann)).splitlines()
    assert len(lines) == ROWS + 1
    with site.unit() as unit:
        record(unit, ann, "=cmd", "model", "0" * 32)
    assert "'=cmd" in "".join(exported_csv(site, ann))


def test_an_empty_log_is_an_empty_list(site):
    nobody = sites.add_account(site, sites.add_organisation(site), "nobody")
    assert json.loads("".join(exported_json(site, nobody))) == []
