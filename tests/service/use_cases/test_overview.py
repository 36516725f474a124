"""What somebody sees first: counted in the database, of the own organisation alone."""

from datetime import timedelta

from sqlalchemy import insert

from tests.kit.service.sites import add_account, add_organisation
from treewarden.service.auth.principal import Role
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import blob, model, model_version, release, waiver
from treewarden.service.errors import new_id
from treewarden.service.use_cases.overview import overview

NOTHING = {"models": 0, "running": 0, "queued": 0, "passing": 0}


def a_version(unit, who, name):
    """Make a model with one version, and return the version's id."""
    made, kept, version = new_id(), new_id(), new_id()
    common = {"organisation_id": who.organisation_id, "created_at": unit.now}
    unit.connection.execute(
        insert(model).values(id=made, name=name, created_by=who.account_id, **common)
    )
    unit.connection.execute(
        insert(blob).values(id=kept, digest="a" * 64, size=1, kind="model", **common)
    )
    unit.connection.execute(
        insert(model_version).values(
            id=version,
            model_id=made,
            n=1,
            blob_id=kept,
            digest="a" * 64,
            size=1,
            file_name="tree.pmml",
            state="ready",
            uploaded_by=who.account_id,
            **common,
        )
    )
    return version


def an_audit(unit, who, version, state="done", verdict=None, made=None):
    """Make an audit of a version, and return its id."""
    made = made or new_id()
    unit.connection.execute(
        insert(audit).values(
            id=made,
            organisation_id=who.organisation_id,
            kind="audit",
            model_version_id=version,
            pack_name="standard",
            pack_digest="b" * 64,
            options={},
            waivers=[],
            created_by=who.account_id,
            created_at=unit.now,
            state=state,
            verdict=verdict,
        )
    )
    return made


def a_waiver(unit, who, clause, state="requested", days=30, decider=None):
    """Make a waiver that holds some days more."""
    unit.connection.execute(
        insert(waiver).values(
            id=new_id(),
            organisation_id=who.organisation_id,
            clause=clause,
            reason="known",
            owner="Ada",
            ticket="T-1",
            expires=(unit.now + timedelta(days=days)).date().isoformat(),
            state=state,
            requested_by=who.account_id,
            requested_at=unit.now,
            decided_by=decider.account_id if decider else None,
        )
    )


def a_release(unit, who, version, made_of):
    """Open a release of an audited version."""
    unit.connection.execute(
        insert(release).values(
            id=new_id(),
            organisation_id=who.organisation_id,
            model_version_id=version,
            uploader_id=who.account_id,
            audit_id=made_of,
            title="triage, version 1",
            state="open",
            checklist=[],
            opened_by=who.account_id,
            opened_at=unit.now,
        )
    )


def test_an_organisation_without_anything_has_nothing_to_do(site):
    who = add_account(site, add_organisation(site), "Ada")
    with site.reading() as unit:
        found = overview(unit, who)
    assert found.model_dump(include=set(NOTHING)) == NOTHING
    assert (found.failing, found.waiting, found.expiring) == ((), (), ())


def test_the_newest_finished_audit_of_a_model_counts(site):
    who = add_account(site, add_organisation(site), "Ada")
    with site.unit() as unit:
        mended, broken = a_version(unit, who, "mended"), a_version(unit, who, "broken")
        for version, verdicts in ((mended, ("FAIL", "PASS")), (broken, ("PASS", "UNDETERMINED"))):
            first, second = sorted((new_id(), new_id()))  # those of one moment have no order
            an_audit(unit, who, version, verdict=verdicts[0], made=first)
            an_audit(unit, who, version, verdict=verdicts[1], made=second)
        an_audit(unit, who, mended, state="running")
        an_audit(unit, who, mended, state="queued")
        an_audit(unit, who, mended, state="cancelled")
    with site.reading() as unit:
        found = overview(unit, who)
    assert (found.models, found.running, found.queued, found.passing) == (2, 1, 1, 1)
    assert [(each.model_name, each.verdict) for each in found.failing] == [
        ("broken", "UNDETERMINED")
    ]


def test_what_waits_is_told_with_whose_it_is(site):
    organisation = add_organisation(site)
    ada = add_account(site, organisation, "Ada", Role.SUBMITTER)
    grace = add_account(site, organisation, "Grace", Role.REVIEWER)
    with site.unit() as unit:
        version = a_version(unit, ada, "triage")
        a_release(unit, ada, version, an_audit(unit, ada, version, verdict="PASS"))
        a_waiver(unit, grace, "label")
        a_waiver(unit, grace, "refused", state="refused", decider=ada)
    with site.reading() as unit:
        hers, theirs = overview(unit, ada).waiting, overview(unit, grace).waiting
    assert [(each.kind, each.by, each.is_mine) for each in hers] == [
        ("release", "Ada", True),
        ("waiver", "Grace", False),
    ]
    assert [each.is_mine for each in theirs] == [False, True]


def test_only_approved_waivers_that_end_within_two_weeks_end_soon(site):
    organisation = add_organisation(site)
    ada, grace = (add_account(site, organisation, name) for name in ("Ada", "Grace"))
    with site.unit() as unit:
        for days in (-1, 0, 14, 15):
            a_waiver(unit, ada, f"in {days}", "approved", days, grace)
        a_waiver(unit, ada, "only asked for", days=3)
    with site.reading() as unit:
        assert [each.clause for each in overview(unit, ada).expiring] == ["in 0", "in 14"]


def test_another_organisation_sees_none_of_it(site):
    ada = add_account(site, add_organisation(site), "Ada")
    other = add_account(site, add_organisation(site, "Clinic"), "Eve")
    with site.unit() as unit:
        version = a_version(unit, ada, "triage")
        a_release(unit, ada, version, an_audit(unit, ada, version, verdict="FAIL"))
        a_waiver(unit, ada, "label")
    with site.reading() as unit:
        found = overview(unit, other)
    assert found.model_dump(include=set(NOTHING)) == NOTHING
    assert (found.failing, found.waiting, found.expiring) == ((), (), ())
