from dataclasses import replace

import pytest
from sqlalchemy import delete, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.tables import audit, log_head, release, review, waiver
from treewarden.service.errors import SetupError
from treewarden.service.operations.checking import FIRST_LEVEL, check, seal_older
from treewarden.service.schemas.policies import Deciding, NewWaiver
from treewarden.service.schemas.releases import NewRelease, NewReview
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.gate import gate_answer
from treewarden.service.use_cases.waivers import approve_waiver, in_force, request_waiver
from treewarden.service.vault.sealing import new_key


@pytest.fixture
def older(site, ann):
    """A release that was approved before there were seals, and a waiver."""
    bob = sites.add_account(site, ann.organisation_id, "bob", "reviewer")
    audited = make.end_audit(site, make.queue_audit(site, ann, make.add_version(site, ann), None))
    with site.unit() as unit:
        made = releases.open_release(unit, ann, NewRelease(audit_id=audited, title="Loans")).id
        releases.tick(unit, bob, made, "text-1", True)
        releases.review(unit, bob, made, NewReview(decision="approve"))
        day = unit.now.date().replace(month=12, day=31)
        new = NewWaiver(
            clause="k", leaf="1" * 24, reason="known", owner="ann", ticket="T-1", expires=day
        )
        approve_waiver(unit, bob, request_waiver(unit, ann, new).id, Deciding())
    with site.unit() as unit:
        for table in (audit, release, review, waiver):
            unit.connection.execute(update(table).values(seal=None))
        unit.connection.execute(delete(log_head))
    return made


def exit_code(site, who, release_id):
    with site.reading() as unit:
        return gate_answer(unit, who, release_id).exit_code


def test_what_agrees_with_the_log_is_sealed_when_seals_come(site, ann, older):
    assert exit_code(site, ann, older) == 3
    assert seal_older(site, "0001") == 2
    assert exit_code(site, ann, older) == 0
    assert [each.problem for each in check(site) if each.problem] == []
    with site.reading() as unit:
        assert len(in_force(unit, ann.organisation_id, "f" * 64, "m", 1000)) == 1


@pytest.mark.parametrize(
    "values",
    [
        (audit, {"verdict": "UNDETERMINED"}),
        (release, {"state": "released"}),
        (waiver, {"state": "revoked"}),
    ],
    ids=lambda values: values[0].name,
)
def test_what_the_log_tells_otherwise_is_not_sealed(site, ann, older, values):
    table, change = values
    with site.unit() as unit:
        unit.connection.execute(update(table).values(**change))
    seal_older(site, "0001")
    problems = [each for each in check(site) if each.problem]
    assert [each.what for each in problems] == [table.name]
    assert exit_code(site, ann, older) == (0 if table is waiver else 3)


@pytest.mark.parametrize("before", [None, FIRST_LEVEL])
def test_nothing_is_sealed_later(site, ann, older, before):
    assert seal_older(site, before) == 0
    assert exit_code(site, ann, older) == 3


def test_nothing_is_sealed_with_another_key(site, ann, older):
    other = sites.open_site(site.settings)
    object.__setattr__(other, "vault", replace(site.vault, master=new_key()))
    with pytest.raises(SetupError, match="does not open"):
        seal_older(other, "0001")
    other.engine.dispose()
    assert exit_code(site, ann, older) == 3
