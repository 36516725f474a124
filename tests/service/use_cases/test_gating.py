"""What the gate answers, over every state that an audit and its release can be in together."""

from itertools import product

from treewarden.service.use_cases.gate import EXITS, GateBasis, decided

AUDITS = ("queued", "running", "done", "error", "cancelled")
VERDICTS = (None, "PASS", "FAIL", "UNDETERMINED")
RELEASES = ("open", "changes", "approved", "rejected", "withdrawn", "released", "of no known state")
ALL = [
    GateBasis(*each)
    for each in product(AUDITS, VERDICTS, RELEASES, (False, True), ("", "one lapsed"))
]


def may_pass(of):
    return (
        of.audit_state == "done"
        and of.verdict == "PASS"
        and of.release_state in ("approved", "released")
        and of.has_approval
        and not of.lapsed
    )


def waits(of):
    return of.audit_state in ("queued", "running") or (
        of.audit_state == "done"
        and of.verdict == "PASS"
        and of.release_state in ("open", "changes")
        and not of.lapsed
    )


def test_only_what_was_audited_and_approved_passes():
    assert [of for of in ALL if (EXITS[decided(of)[0]] == 0) != may_pass(of)] == []


def test_every_answer_says_why():
    assert [of for of in ALL if not decided(of)[1]] == []


def test_what_failed_is_never_waited_for():
    failed = [of for of in ALL if (of.audit_state, of.verdict) == ("done", "FAIL")]
    assert [of for of in failed if decided(of)[0] != "FAIL"] == []
    ended = [of for of in ALL if of.audit_state in ("error", "cancelled")]
    assert [of for of in ended if decided(of)[0] != "NO AUDIT"] == []
    assert failed
    assert ended


def test_only_what_may_still_pass_is_waited_for():
    assert [of for of in ALL if (decided(of)[0] == "PENDING") != waits(of)] == []


def test_an_undetermined_audit_is_undetermined_even_where_somebody_approved_it():
    assert decided(GateBasis("done", "UNDETERMINED", "approved", True))[0] == "UNDETERMINED"


def test_a_waiver_that_holds_no_more_takes_the_pass_away():
    outcome, why = decided(GateBasis("done", "PASS", "released", True, "waiver 1 was revoked"))
    assert outcome == "UNDETERMINED"
    assert why.startswith("waiver 1 was revoked")


def test_a_state_alone_is_no_approval():
    outcome, why = decided(GateBasis("done", "PASS", "approved", False))
    assert (outcome, why) == (
        "UNDETERMINED",
        "no approval by a person who was not involved is recorded; open a new release",
    )
