"""Decisions on small trees, for the tests of waivers and baselines to share."""

from __future__ import annotations

from datetime import date, timedelta

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, pack_of
from treewarden.policies.exceptions.apply_waivers import WaivedModel
from treewarden.policies.exceptions.waivers import Waiver, WaiverFile
from treewarden.policies.judging.decision import LeafNames
from treewarden.policies.judging.judge import judge

TODAY = date(2026, 1, 1)
DIGEST = "ab" * 32
TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
"""Leaves of 20, 4, 3 and 18 people."""
SMALL = pack_of(("k_anonymity", "at_least", 5))
CLAUSE = SMALL.clauses[0].id


def decided(pack=SMALL, tree=TREE, **more):
    """Return the decision on a tree, and what it is called."""
    evidence = evidence_of(tree, **more)
    decision = judge(audit_of(evidence, pack), pack)
    return decision, WaivedModel(DIGEST, "tree.pmml", LeafNames(evidence).with_people)


def waivers(*changes):
    """Return waivers, each of the first clause unless it says otherwise."""
    usual = {
        "clause": CLAUSE,
        "reason": "agreed with the board",
        "owner": "A. Owner",
        "ticket": "T-1",
        "expires": TODAY + timedelta(days=30),
    }
    each = (Waiver(**{**usual, **said, "number": n}) for n, said in enumerate(changes, start=1))
    return WaiverFile("w.toml", tuple(each))


def leaves(decision, clause=None):
    """Return the fingerprints of the leaves that break a clause, worst first, each once."""
    finding = next(f for f in decision.findings if f.clause == (clause or CLAUSE))
    return list(dict.fromkeys(place.leaf for place in finding.places))


def told(decision):
    """Return the ids of the findings about waivers and baselines."""
    return [f.clause for f in decision.findings if f.clause.startswith(("waiver-", "baseline-"))]
