"""Findings on a page: each clause once, what counts first."""

from treewarden.service.pages._rendering import grouped
from treewarden.service.schemas.audits import Finding


def finding(n, clause, verdict="FAIL", severity="error", accepted=None):
    said = {"n": n, "id": str(n), "clause": clause, "verdict": verdict, "severity": severity}
    return Finding(**said, message=f"{clause} is not met", accepted=accepted)


def test_no_findings_are_no_groups():
    assert grouped(()) == ()


def test_a_clause_is_shown_once_with_all_its_places():
    found = grouped([finding(1, "a"), finding(2, "b"), finding(3, "a")])
    assert [(group.clause, [each.n for each in group.findings]) for group in found] == [
        ("a", [1, 3]),
        ("b", [2]),
    ]


def test_what_counts_comes_first():
    waived = {"by": "waiver"}
    found = grouped(
        [
            finding(1, "waived", accepted=waived),
            finding(2, "warned", severity="warning"),
            finding(3, "open", verdict="UNDETERMINED"),
            finding(4, "broken"),
        ]
    )
    assert [group.clause for group in found] == ["broken", "open", "warned", "waived"]


def test_a_clause_is_accepted_only_if_each_of_its_places_is():
    waived = {"by": "waiver"}
    half, whole = grouped(
        [
            finding(1, "half", accepted=waived),
            finding(2, "half", verdict="UNDETERMINED"),
            finding(3, "whole", accepted=waived),
        ]
    )
    assert (half.clause, half.is_accepted, half.verdict) == ("half", False, "UNDETERMINED")
    assert whole.is_accepted
