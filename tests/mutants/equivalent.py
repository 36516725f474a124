"""Mutants that change nothing that anybody can observe, and why: no test can fail with them, and none is tried."""

from __future__ import annotations

ONE_LENGTH = "what is taken together is as long"
EQUIVALENT = {
    "measures/_leaf_people.py:members_of:constant: True -> False": "both have the same length by then",
    "measures/certain_in_small_groups.py:_may_be:constant: 1 -> 2": (
        "it stands for no class at all, and is held against classes alone"
    ),
    "measures/estimate_gain.py:EstimateGain.read:other end: own.low -> own.high": (
        "how often a model is right on its own table is one number"
    ),
    "judging/figures.py:_recorded:comparison: value > 0 -> value >= 0": (
        "it is asked of infinite values alone"
    ),
    "judging/finding.py:_atomic:dropped condition: "
    "names is not None and found.verdict is not Verdict.PASS -> names is not None": (
        "what passes has no place that does not pass"
    ),
    "judging/finding.py:_broken_places:dropped condition: "
    "found.places is None or found.each is None -> found.each is None": (
        "a clause that is judged at places has the verdict of each"
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
    "judging/finding.py:_finding:constant: True -> False": ONE_LENGTH,
    "judging/finding.py:_read_at:constant: True -> False": ONE_LENGTH,
    "judging/judge.py:_rests_on_certainty:constant: False -> True": (
        "of a clause without a limit on certainty no such limit is taken"
    ),
    "judging/place_groups.py:_leaves:constant: 0.0 -> 1.0": (
        "what a leaf is called does not depend on what was read there"
    ),
}
"""By folder, file, function and mutation: what a mutant's key ends with, wherever the folder is."""


def is_equivalent(key: str) -> bool:
    """Return whether a mutant, by its key, is known to change nothing."""
    return key.endswith(tuple(EQUIVALENT))
