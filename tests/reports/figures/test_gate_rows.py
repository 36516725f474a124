"""The rows that every form of a gate shows: worst first, told apart between models and policies."""

from tests.reports.gates import changed, fails_in_many_leaves
from treewarden.reports.building.entry import gate_of
from treewarden.reports.figures.gate_rows import gate_rows, in_words, open_and_accepted


def test_what_counts_comes_before_what_was_accepted_and_no_audit_first(gate):
    rows = gate_rows(gate)
    assert rows[0].rule_id == "no-audit"
    accepted = [bool(row.accepted) for row in rows]
    assert accepted == sorted(accepted)
    assert any(accepted)


def test_a_model_that_does_not_pass_has_a_row_that_says_so_even_without_results(gate):
    named = {row.entry.name for row in gate_rows(gate) if not row.accepted}
    assert named == {entry.name for entry in gate.entries if entry.outcome != "PASS"}


def test_the_same_finding_in_two_models_has_one_id_and_two_keys():
    rows = gate_rows(fails_in_many_leaves(1, models=2))
    assert len({row.result.id for row in rows}) == 1
    assert len({row.key for row in rows}) == 2


def test_a_key_stays_when_the_line_moves():
    gate = fails_in_many_leaves(1)
    moved = changed(
        gate.entries[0], results=[{**gate.entries[0].results[0].model_dump(), "line": 99}]
    )
    assert [row.key for row in gate_rows(gate_of([moved], "error"))] == [
        row.key for row in gate_rows(gate)
    ]


def test_clauses_of_one_name_in_two_policies_are_two_rules():
    one, two = fails_in_many_leaves(1, models=2).entries
    stricter = {**two.rules[0].model_dump(), "asks": "at least 20 records"}
    for policy, names in (
        ("theirs", {"ours@1/smallest-leaf", "theirs@1/smallest-leaf"}),
        ("ours", None),
    ):
        other = changed(two, rules=[{**stricter, "policy": policy}])
        found = {row.rule_id for row in gate_rows(gate_of([one, other], "error"))}
        assert len(found) == 2
        assert names is None or found == names


def test_a_gate_is_counted_in_words(gate):
    assert in_words(gate) == "6 models: 1 has no audit, 2 fail, 2 are undetermined, 1 passes"
    assert open_and_accepted(gate_rows(gate)) == "18 errors and 6 accepted"
    assert open_and_accepted(()) == "no findings"
