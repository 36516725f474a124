from datetime import timedelta

import pytest

from tests.kit.service import sites
from treewarden.policies.exceptions.waivers import read_waivers
from treewarden.service.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError
from treewarden.service.schemas.base import PageRequest
from treewarden.service.schemas.releases import Deciding, NewWaiver
from treewarden.service.use_cases.waivers import (
    approve_waiver,
    export_waivers,
    get_waiver,
    import_waivers,
    in_force,
    list_waivers,
    refuse_waiver,
    request_waiver,
    revoke_waiver,
    waivers_of,
)

LEAF = "0123456789abcdef01234567"
DIGEST = "a" * 64


def wish(unit, **more):
    said = {
        "clause": "k",
        "leaf": LEAF,
        "reason": 'known "since" \\ 2024\n=1',
        "owner": "ann",
        "ticket": "T-1",
        "expires": (unit.now + timedelta(days=30)).date(),
    }
    return NewWaiver(**{**said, **more})


def asked(site, who, **more):
    with site.unit() as unit:
        return request_waiver(unit, who, wish(unit, **more))


def approved(site, who, bob, **more):
    made = asked(site, who, **more)
    with site.unit() as unit:
        return approve_waiver(unit, bob, made.id, Deciding(comment="seen"))


def test_one_asks_and_another_approves(site, ann, bob):
    made = asked(site, ann)
    assert (made.state, made.is_in_force) == ("requested", False)
    with site.unit() as unit:
        done = approve_waiver(unit, bob, made.id, Deciding(comment="seen"))
    assert (done.state, done.is_in_force, done.decided_by) == ("approved", True, "bob")


@pytest.mark.parametrize("decide", [approve_waiver, refuse_waiver])
def test_nobody_decides_about_his_own(site, home, decide):
    admin = sites.add_account(site, home, "admin")
    made = asked(site, admin)
    with pytest.raises(ForbiddenError, match="ask another person to decide"), site.unit() as unit:
        decide(unit, admin, made.id, Deciding())


def test_what_is_decided_stays_decided(site, ann, bob):
    made = approved(site, ann, bob)
    for again in (approve_waiver, refuse_waiver):
        with pytest.raises(ConflictError, match="is approved already"), site.unit() as unit:
            again(unit, bob, made.id, Deciding())
    with site.unit() as unit:
        assert revoke_waiver(unit, bob, made.id, Deciding()).state == "revoked"
    with pytest.raises(ConflictError, match="only an approved one"), site.unit() as unit:
        revoke_waiver(unit, bob, made.id, Deciding())


def test_the_file_is_the_one_of_the_command_line_there_and_back(site, ann, bob):
    leaf = approved(site, ann, bob, worst=0.25)
    file = approved(site, ann, bob, leaf="", digest=f"sha256:{DIGEST}", model="loans")
    asked(site, ann, clause="another")
    with site.reading() as unit:
        data = export_waivers(unit, ann)
        same = waivers_of(unit, [leaf.id, file.id])
    found = read_waivers(data, "waivers.toml").each
    assert data == same
    assert [(each.clause, each.leaf, each.digest, each.worst) for each in found] == [
        ("k", LEAF, "", 0.25),
        ("k", "", f"sha256:{DIGEST}", None),
    ]
    assert found[0].reason == 'known "since" \\ 2024\n=1'
    bank = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve", "submitter")
    with site.unit() as unit:
        first = import_waivers(unit, bank, data)
        second = import_waivers(unit, bank, data)
    assert [each.state for each in first.requested] == ["requested", "requested"]
    assert (second.requested, second.known) == ((), 2)


def test_a_check_that_was_not_decided_is_accepted_by_no_file_here(site, ann, bob):
    approved(site, ann, bob)
    with site.reading() as unit:
        data = export_waivers(unit, ann) + b"undecided = true\n"
    with (
        site.unit() as unit,
        pytest.raises(InvalidError, match="only on the command line and in the gate"),
    ):
        import_waivers(unit, ann, data)


def test_waivers_of_a_model_are_those_that_hold_for_it(site, ann, bob):
    everywhere = approved(site, ann, bob)
    approved(site, ann, bob, clause="b", model="another")
    of_file = approved(site, ann, bob, clause="c", leaf="", digest=f"sha256:{DIGEST}")
    asked(site, ann, clause="d")
    with site.reading() as unit:
        found = in_force(unit, ann.organisation_id, DIGEST, "loans", 180)
        other = in_force(unit, ann.organisation_id, "b" * 64, "loans", 180)
    assert found == [everywhere.id, of_file.id]
    assert other == [everywhere.id]


def test_what_cannot_be_waived_is_refused(site, ann):
    with pytest.raises(InvalidError, match="is missing; give a leaf"):
        asked(site, ann, leaf="")
    with pytest.raises(InvalidError, match="is in the past"):
        asked(site, ann, expires="2020-01-01")
    asked(site, ann)
    with pytest.raises(ConflictError, match="requested or valid already"):
        asked(site, ann)
    with pytest.raises(InvalidError, match="TOML"), site.unit() as unit:
        import_waivers(unit, ann, b"not [")


def test_another_organisation_sees_nothing(site, ann):
    made = asked(site, ann)
    eve = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve")
    with pytest.raises(NotFoundError), site.reading() as unit:
        get_waiver(unit, eve, made.id)
    with site.reading() as unit:
        assert list_waivers(unit, eve, PageRequest()).items == ()


def test_waivers_that_no_file_holds_side_by_side_are_not_asked_for(site, ann, bob):
    approved(site, ann, bob)
    for more in ({"model": "m"}, {"digest": f"sha256:{DIGEST}"}):
        with pytest.raises(ConflictError, match="valid already"):
            asked(site, bob, **more)
    with site.reading() as unit:
        assert len(read_waivers(export_waivers(unit, ann), "waivers").each) == 1


@pytest.mark.parametrize("more", [{"leaf": f"{LEAF}#1"}, {"reason": " \n"}, {"clause": "a\0"}])
def test_what_a_file_cannot_say_is_no_wish(site, ann, more):
    with pytest.raises(ValueError, match="validation error"), site.reading() as unit:
        wish(unit, **more)


def test_a_waiver_holds_no_longer_than_packs_allow(site, ann, bob):
    with site.reading() as unit:
        late = (unit.now + timedelta(days=400)).date()
    with pytest.raises(InvalidError, match="no policy allows that"):
        asked(site, ann, expires=late)
    made = approved(site, ann, bob)
    with site.reading() as unit:
        assert in_force(unit, ann.organisation_id, DIGEST, "m", 30) == [made.id]
        assert in_force(unit, ann.organisation_id, DIGEST, "m", 29) == []


def test_a_file_with_what_cannot_be_kept_is_refused_whole(site, ann):
    section = '[[waiver]]\nclause = "{}"\nleaf = "{}"\nreason = "r"\nowner = "o"\nticket = "t"\nexpires = 2999-01-01\n'
    data = section.format("x" * 300, LEAF).encode()
    with pytest.raises(InvalidError, match="waiver 1: clause"), site.unit() as unit:
        import_waivers(unit, ann, data)
