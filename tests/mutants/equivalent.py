"""Mutants that change nothing that anybody can observe, and why: no test can fail with them, and none is tried."""

from __future__ import annotations

EQUIVALENT = {
    "measures/_leaf_people.py:members_of:constant: True -> False": "both have the same length by then",
    "measures/certain_in_small_groups.py:_may_be:constant: 1 -> 2": (
        "it stands for no class at all, and is held against classes alone"
    ),
    "measures/estimate_gain.py:EstimateGain.read:other end: own.low -> own.high": (
        "how often a model is right on its own table is one number"
    ),
    "judging/finding.py:_atomic:dropped condition: "
    "names is not None and found.verdict is not Verdict.PASS -> names is not None": (
        "what passes has no place that does not pass"
    ),
    "judging/finding.py:_combined:dropped condition: "
    "names is not None and found.verdict is not Verdict.PASS -> names is not None": (
        "what passes has no place that does not pass"
    ),
    "judging/finding.py:_combined_message:dropped condition: "
    "found.each is None or clause.scope is None or clause.scope == 'model' -> "
    "found.each is None or clause.scope is None": (
        "a clause about the model as a whole is judged at no places"
    ),
}
"""By folder, file, function and mutation: what a mutant's key ends with, wherever the folder is."""


def is_equivalent(key: str) -> bool:
    """Return whether a mutant, by its key, is known to change nothing."""
    return key.endswith(tuple(EQUIVALENT))
