"""Gates for the tests: several models that pass, fail, are undetermined, have no audit; leaves, waivers, odd names."""

from __future__ import annotations

from treewarden.reports.building.entry import entry_of, gate_of, unaudited
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.gate import Entry, Gate
from treewarden.reports.document.parts import Accepted, Row

WAIVED = Accepted(by="waiver", reason="the board of 3 May knows; until 2030-01-01")
KNOWN = Accepted(by="baseline", reason="read 0.987654 when it was written")


def with_leaves(document, accepted=None):
    """Return a document whose places have fingerprints: each leaf its own, some of them accepted by position."""
    accepted = accepted or {}
    return document.model_copy(
        update={
            "findings": tuple(
                each.model_copy(
                    update={
                        "where": tuple(
                            place.model_copy(
                                update={
                                    "leaf": place.path,
                                    "id": finding_id(each.clause, place.path),
                                    "accepted": accepted.get(position),
                                }
                            )
                            for position, place in enumerate(each.where)
                        )
                    }
                )
                for each in document.findings
            )
        }
    )


def changed(entry, **said):
    return Entry.model_validate({**entry.model_dump(), **said})


def several(document, passing, undetermined) -> Gate:
    """Return a gate of six models, among them one that was accepted in part and one without audit."""
    leaves = with_leaves(document)
    accepted = with_leaves(document, {0: WAIVED, 1: KNOWN})
    return gate_of(
        [
            entry_of(leaves, file="models/loan.pmml"),
            entry_of(accepted, file="models/known loan.json"),
            entry_of(passing, file="models/fine.pmml"),
            changed(
                entry_of(undetermined, file="odd/größe #1.txt"),
                not_judged=(Row(name="of-forests", text="is about forests"),),
            ),
            unaudited(
                "broken", "models/broken.pmml", "models/broken.pmml:3: not a tree; export it"
            ),
            changed(entry_of(undetermined, name="empty", file="e.txt"), results=(), clauses=()),
        ],
        "error",
        "0.1.0",
    )


def fails_in_many_leaves(count: int, models: int = 1) -> Gate:
    """Return a gate of models, each with so many leaves that break one clause."""
    rule = {
        "clause": "smallest-leaf",
        "plain": "fewest people in a leaf",
        "asks": "at least 10 records",
        "why": "a small group is easily singled out",
        "source": "a study",
        "severity": "error",
        "policy": "ours",
        "version": "1",
    }
    result = {
        "clause": "smallest-leaf",
        "verdict": "FAIL",
        "severity": "error",
        "message": "Check not met: fewest people in a leaf; the policy requires at least 10 records",
    }
    entries = [
        Entry.model_validate(
            {
                "name": f"m{model}.pmml",
                "file": f"m{model}.pmml",
                "outcome": "FAIL",
                "headline": "1 required check failed: smallest-leaf",
                "policy": "ours",
                "rules": [rule],
                "clauses": [{**result}],
                "results": [
                    {
                        **result,
                        "id": finding_id("smallest-leaf", f"leaf {leaf}"),
                        "leaf": f"leaf {leaf}",
                        "path": f"age <= {leaf}.5 and region in a, b, c",
                        "node": str(leaf),
                        "line": 10 + leaf,
                    }
                    for leaf in range(count)
                ],
            }
        )
        for model in range(models)
    ]
    return gate_of(entries, "error", "0.1.0")
