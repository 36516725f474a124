"""Mutants that change nothing that anybody can observe, and why: no test can fail with them, and none is tried."""

from __future__ import annotations

ONE_LENGTH = "what is taken together is as long"
EQUIVALENT = {
    "measures/_leaf_people.py:members_of:constant: True -> False": "both have the same length by then",
    "measures/_leaf_people.py:_class:constant: 1 -> 2 (2)": "no class has a number below 0",
    "measures/_leaf_people.py:_class:comparison: number > 0 -> number >= 0": (
        "a number of 0 was said to tell no class before"
    ),
    "measures/_leaf_people.py:_shares:comparison: "
    "rest > 1e-09 * one[:, None] -> rest >= 1e-09 * one[:, None]": (
        "what sums lose by rounding is never just that"
    ),
    "measures/certain_in_small_groups.py:_may_be:constant: 1 -> 2": (
        "it stands for no class at all, and is held against classes alone"
    ),
    "measures/estimate_gain.py:EstimateGain.read:other end: own.low -> own.high": (
        "how often a model is right on its own table is one number"
    ),
    "noise/__init__.py:ColumnMeasure.reading_of:other end: spot.high -> spot.low": (
        "what is read of a column is one number"
    ),
    "judging/figures.py:_recorded:comparison: value > 0 -> value >= 0": (
        "it is asked of infinite values alone"
    ),
    "judging/figures.py:range_text:dropped condition: "
    "bool(unit) and number[-1:].isdigit() and (' ' in high) -> number[-1:].isdigit() and ' ' in high": (
        "a figure without a unit is its number"
    ),
    "judging/finding.py:_atomic:dropped condition: "
    "names is not None and clause_evaluation.verdict is not PolicyVerdict.PASS -> names is not None": (
        "what passes has no place that does not pass"
    ),
    "judging/finding.py:_broken_places:dropped condition: "
    "clause_evaluation.places is None or clause_evaluation.each is None -> "
    "clause_evaluation.each is None": ("a clause that is judged at places has the verdict of each"),
    "judging/finding.py:_combined:dropped condition: "
    "names is not None and clause_evaluation.verdict is not PolicyVerdict.PASS -> names is not None": (
        "what passes has no place that does not pass"
    ),
    "judging/finding.py:_combined_message:dropped condition: "
    "evaluation.each is None or clause.scope is None or clause.scope == 'model' -> "
    "evaluation.each is None or clause.scope is None": (
        "a clause about the model as a whole is judged at no places"
    ),
    "judging/randomised.py:_finding:constant: True -> False": ONE_LENGTH,
    "judging/finding.py:_read_at:constant: True -> False": ONE_LENGTH,
    "judging/judge.py:_rests_on_certainty:constant: False -> True": (
        "of a clause without a limit on certainty no such limit is taken"
    ),
    "judging/place_groups.py:_leaves:constant: 0.0 -> 1.0 (2)": (
        "what a leaf is called does not depend on what was read there"
    ),
    "constraints/leaf_label.py:_drawn_labels:dropped condition: "
    "facts.label is None or not facts.node.is_leaf or (not len(here)) -> "
    "facts.label is None or not facts.node.is_leaf": "facts are of nodes where people stop",
    "audit/bounds.py:CellBounds._checked:constant: 1 -> 2": (
        "moves are numbered to be told apart and put in order"
    ),
    "proofs/cpsat.py:_table:other end: math.floor -> math.ceil": (
        "one less than a number rounded up is below it too, and a table that is found is checked exactly"
    ),
    "proofs/linear.py:IntegerProgram.__init__:constant: 1 -> 2 (2)": (
        "a cell that is not free has a column below 0, whichever"
    ),
    "proofs/linear.py:IntegerProgram.named:comparison: abs(duals[i]) > 1e-07 -> abs(duals[i]) >= 1e-07": (
        "a multiplier that the solver gives is never just that"
    ),
    "engine/counts.py:_BoxState.look_at:comparison: above[rows] < widest -> above[rows] <= widest": (
        "a row that leaves as much as the widest box moves no end of any"
    ),
    "engine/newton_steps.py:tightened:comparison: z < 0 -> z <= 0": (
        "where z is 0 the step is as wide as the box"
    ),
    "proofs/linear.py:IntegerRows.add:other end: self.low -> self.high (2)": (
        "there are as many of one as of the other"
    ),
    "proofs/propagate.py:_best_threshold:arithmetic: values * sign -> values / sign": (
        "the sign is 1 or -1, and numbers of people are exact as floats too"
    ),
    "regression/rows.py:rows_of:constant: True -> False (2)": ONE_LENGTH,
    "lightgbm/_arrays.py:_prune:dropped condition: len(entries) > 1 or entries[0] -> len(entries) > 1": (
        "a tree with one split that is pruned has none left"
    ),
    "lightgbm/_model.py:_named:constant: 0 -> 1": "no feature has an empty list of codes",
    "lightgbm/lightgbm_text.py:_header:comparison: len(outputs) < 8 -> len(outputs) <= 8": (
        "a file of ten million classes or more is refused either way"
    ),
    "xgboost/_rewrite.py:without_leaks:dropped condition: len(reached) < size and whole -> whole": (
        "where all nodes are reached each keeps its number, and none was deleted"
    ),
    "pmml/_columns.py:_Columns.table:dropped condition: "
    "is_own or self.task is Task.REGRESSION or bool((has_score | inner).all()) -> "
    "is_own or self.task is Task.REGRESSION": "the reader of elements reads the same, more slowly",
}
"""By folder, file, function and mutation: what a mutant's key ends with, wherever the folder is."""


def is_equivalent(key: str) -> bool:
    """Return whether a mutant, by its key, is known to change nothing."""
    return key.endswith(tuple(EQUIVALENT))
