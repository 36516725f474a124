from itertools import product

import pytest

from service.cases.gating import EXITS, Standing, decided

AUDITS = ("queued", "running", "done", "error", "cancelled")
VERDICTS = (None, "PASS", "FAIL", "UNDETERMINED")
RELEASES = ("open", "changes", "approved", "rejected", "withdrawn", "released", "of no known state")
ALL = [
    Standing(*each)
    for each in product(AUDITS, VERDICTS, RELEASES, (False, True), ("", "one lapsed"))
]


@pytest.mark.parametrize("of", ALL, ids=str)
def test_only_what_was_audited_and_approved_passes(of):
    outcome, why = decided(of)
    may_pass = (
        of.audit_state == "done"
        and of.verdict == "PASS"
        and of.release_state in ("approved", "released")
        and of.has_approval
        and not of.lapsed
    )
    assert (EXITS[outcome] == 0) == may_pass
    assert why


@pytest.mark.parametrize("of", ALL, ids=str)
def test_what_failed_is_never_waited_for(of):
    if of.audit_state == "done" and of.verdict == "FAIL":
        assert decided(of)[0] == "FAIL"
    if of.audit_state in ("error", "cancelled"):
        assert decided(of)[0] == "NO AUDIT"


def test_an_undetermined_audit_is_undetermined_even_where_somebody_approved_it():
    assert decided(Standing("done", "UNDETERMINED", "approved", True))[0] == "UNDETERMINED"


def test_a_waiver_that_holds_no_more_takes_the_pass_away():
    outcome, why = decided(Standing("done", "PASS", "released", True, "waiver 1 was revoked"))
    assert outcome == "UNDETERMINED"
    assert why.startswith("waiver 1 was revoked")


@pytest.mark.parametrize("of", ALL, ids=str)
def test_only_what_may_still_pass_is_waited_for(of):
    waits = of.audit_state in ("queued", "running") or (
        of.audit_state == "done"
        and of.verdict == "PASS"
        and of.release_state in ("open", "changes")
        and not of.lapsed
    )
    assert (decided(of)[0] == "PENDING") == waits


def test_a_state_alone_is_no_approval():
    outcome, why = decided(Standing("done", "PASS", "approved", False))
    assert (outcome, why) == (
        "UNDETERMINED",
        "nobody's approval is written down; open a new release",
    )
