"""What the report of a release that is filed says of the decisions that the service holds."""

import pytest
from sqlalchemy import select

from tests.kit.service import sites
from tests.service.attacks.test_four_eyes import a_release, a_waiver
from treewarden.service.database.run_tables import log_entry
from treewarden.service.schemas.releases import Deciding, NewReview
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.policies import chosen_pack
from treewarden.service.use_cases.show_release import release_record
from treewarden.service.use_cases.waivers import approve_waiver


@pytest.fixture
def home(site):
    return sites.add_organisation(site)


@pytest.fixture
def ann(site, home):
    return sites.add_account(site, home, "ann", "submitter")


@pytest.fixture
def bob(site, home):
    return sites.add_account(site, home, "bob", "reviewer")


def said(site, who, made):
    """Return all that the section says, as lines."""
    with site.reading() as unit:
        section = release_record(unit, who, releases.get_release(unit, who, made))
    assert section.title == "Release on record"
    lines = []
    for block in section.blocks:
        if block.kind == "table":
            lines += [
                " | ".join(f"{cell.text} {cell.note}".strip() for cell in row) for row in block.rows
            ]
        else:
            lines.append(block.text)
    return "\n".join(lines)


def test_who_asked_and_who_decided_what_stands_in_it(site, home, ann, bob):
    made = a_release(site, ann)
    before = said(site, ann, made)
    assert "No decision has been made yet." in before
    assert "Release requested by | ann, 2" in before
    with site.unit() as unit:
        releases.tick(unit, bob, made, "text-1", True)
        releases.review(unit, bob, made, NewReview(decision="approve", comment="seen with the DPO"))
    after = said(site, ann, made)
    assert "bob | approved seen with the DPO | 2" in after
    assert "State | approved" in after
    with site.reading() as unit:
        assert chosen_pack(unit, home, "accurate").digest in after


def test_the_digest_of_the_last_row_of_the_log_about_it_stands_in_it(site, ann):
    made = a_release(site, ann)
    with site.reading() as unit:
        row = unit.connection.execute(
            select(log_entry.c.seq, log_entry.c.hash).where(log_entry.c.object_id == made)
        ).one()
    assert f"Log, digest of row {row.seq} | {row.hash}" in said(site, ann, made)


def test_the_waivers_that_its_audit_was_given_stand_in_it(site, home, ann, bob):
    asked = a_waiver(site, ann)
    with site.unit() as unit:
        approve_waiver(unit, bob, asked, Deciding())
    assert "k known | ann | bob 2" in said(site, ann, a_release(site, ann, waivers=[asked]))
    assert "The audit used no waiver." in said(site, ann, a_release(site, ann))
