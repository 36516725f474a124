"""What became of a model from version to version."""

import pytest
from sqlalchemy import insert, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.run_tables import audit, finding
from treewarden.service.database.tables import model_version
from treewarden.service.errors import NotFoundError, new_id
from treewarden.service.use_cases.models import MOST, VersionVerdict, model_history


def judged(site, who, version, verdict, *findings):
    """Let a version have an audit with a verdict; a finding is its clause, its verdict, and whether it is accepted."""
    made = make.queue_audit(site, who, version, None)
    with site.unit() as unit:
        unit.connection.execute(
            update(audit)
            .where(audit.c.id == made)
            .values(state="done", verdict=verdict, exit_code=0, finished_at=unit.now)
        )
        for number, (clause, of, accepted) in enumerate(findings, start=1):
            unit.connection.execute(
                insert(finding).values(
                    id=new_id(),
                    organisation_id=who.organisation_id,
                    audit_id=made,
                    n=number,
                    result_id=str(number),
                    clause=clause,
                    verdict=of,
                    severity="error",
                    message="",
                    accepted={"owner": "ann"} if accepted else None,
                )
            )
    return made


def history_of(site, who, version):
    with site.reading() as unit:
        return model_history(unit, who, model_of(unit, version))


def model_of(unit, version):
    return (
        unit.connection.execute(model_version.select().where(model_version.c.id == version))
        .one()
        .model_id
    )


def test_a_version_without_an_audit_has_no_verdict_and_no_number(site, ann):
    version = make.add_version(site, ann)
    (past,) = history_of(site, ann, version)
    assert (past.n, past.audited, past.smallest_leaf) == (1, None, None)


def test_the_newest_verdict_counts_and_what_is_accepted_is_apart(site, ann):
    version = make.add_version(site, ann)
    judged(site, ann, version, "PASS")
    made = judged(
        site,
        ann,
        version,
        "FAIL",
        ("label", "UNDETERMINED", False),
        ("label", "UNDETERMINED", False),
        ("smallest-leaf", "FAIL", False),
        ("certain", "FAIL", True),
    )
    make.queue_audit(site, ann, version, None)  # waits, and says nothing yet
    (past,) = history_of(site, ann, version)
    assert past.audited == VersionVerdict(
        made, "FAIL", past.audited.policy, 1, 2, 1, "smallest-leaf"
    )


def test_the_smallest_leaf_is_what_the_file_says(site, ann):
    version = make.add_version(site, ann)
    for support, found in (
        ({"smallest_leaf": 7.0}, 7),
        ({"smallest_leaf": None}, None),
        ({}, None),
    ):
        with site.unit() as unit:
            unit.connection.execute(
                update(model_version)
                .where(model_version.c.id == version)
                .values(summary={"support": support})
            )
        assert [past.smallest_leaf for past in history_of(site, ann, version)] == [found]


def test_the_newest_versions_come_oldest_first(site, ann):
    first = make.add_version(site, ann)
    with site.unit() as unit:
        row = unit.connection.execute(model_version.select()).one()._asdict()
        ids = sorted(new_id() for _ in range(2, MOST + 3))
        for number, made in enumerate(ids, start=2):
            unit.connection.execute(
                insert(model_version).values(**{**row, "id": made, "n": number})
            )
    assert [past.n for past in history_of(site, ann, first)] == list(range(3, MOST + 3))


def test_others_see_nothing_of_it(site, ann):
    version = make.add_version(site, ann)
    eve = sites.add_account(site, sites.add_organisation(site, "Elsewhere"), "eve")
    with site.reading() as unit, pytest.raises(NotFoundError):
        model_history(unit, eve, model_of(unit, version))
