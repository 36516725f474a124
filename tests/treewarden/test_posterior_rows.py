"""The posterior as rows, however many are made at a time."""

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, only_world, pack_of, people_of
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.result import Audit
from treewarden.jobs.posterior import audit_rows, audit_table, grouped, schema_of


@pytest.fixture(scope="module")
def audit():
    """An audit of seven profiles and three classes, and of somebody who does not know the one column."""
    tree = flat_tree([[2, 1, 0], [0, 3, 0], [1, 1, 1], [4, 0, 0], [0, 0, 2], [1, 2, 0], [5, 0, 1]])
    people = people_of(tree)
    evidence = evidence_of(tree, people, worlds=only_world(people))
    full = audit_of(evidence, pack_of(("k_anonymity", "at_least", 2))).full
    blind = replace(evidence, population=replace(people, qi=()))
    who = Adversary("who knows nothing", ())
    return Audit((full, replace(full, adversary=who.name, evidence=blind, who=who)))


@pytest.mark.parametrize("most", [1, 3, 7, 20, 1000])
def test_rows_do_not_depend_on_how_many_are_made_at_a_time(audit, most):
    rows = audit_rows(audit)
    pieces = list(grouped(rows, schema_of(rows), most))
    assert max(map(len, pieces)) <= max(most, 3)
    assert pa.concat_tables(pieces).to_pydict() == audit_table(audit).to_pydict()


def test_a_class_is_proved_where_whole_records_leave_no_other(audit):
    found = audit_table(audit).to_pydict()
    proved = {
        (place, value)
        for place, value, sure in zip(
            found["place"], found["proved_value"], found["certain"], strict=True
        )
        if sure and place
    }
    assert proved == {("p1", "c1"), ("p3", "c0"), ("p4", "c2")}


def test_who_may_be_certain_is_not_said_to_be_uncertain(audit):
    evidence = audit.full.evidence
    worlds = evidence.worlds
    low, high = worlds.low.copy(), worlds.reached_high.copy()
    low[1], high[1, 1] = 0, 3  # of the second profile it was neither proved nor refuted
    unsure = replace(worlds, low=low, reached_high=high)
    exposure = replace(audit.full, evidence=replace(evidence, worlds=unsure))
    found = audit_table(Audit((exposure,))).to_pydict()
    assert found["certain"][:9] == [False] * 3 + [None] * 3 + [False] * 3
    assert found["proved_value"][:9] == [None] * 9


def test_who_does_not_know_a_column_has_no_value_in_it(audit):
    found = audit_table(audit).to_pydict()
    blind = [
        place
        for place, who in zip(found["place"], found["adversary"], strict=True)
        if who == "who knows nothing"
    ]
    assert blind == [None] * 21
