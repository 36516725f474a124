"""From audits to documents: what is counted, what is keyed how, which leaves are marked, what is said of verdicts."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from tests.kit import places
from tests.kit.run import run_command
from tests.kit.small_audits import audit_of, evidence_of, flat_tree, pack_of
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.measures import MeasureCall, call
from treewarden.policies.clause import Dropped, When
from treewarden.policies.judging.judge import judge
from treewarden.reports.building import build
from treewarden.reports.building.adversaries import key, plain
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.lessons import GRID, plots, tree_nodes
from treewarden.reports.document.document import Provenance
from treewarden.reports.document.parts import File

TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
EVIDENCE = evidence_of(TREE)
SMALL = pack_of(("k_anonymity", "at_least", 5))
FILE = File(name="x", sha256="")
PROVENANCE = Provenance(version="1", model=FILE, table=FILE, pack=FILE)


def decided(pack=SMALL, evidence=EVIDENCE):
    return judge(audit_of(evidence, pack), pack)


def drawn(evidence=EVIDENCE):
    return plots(audit_of(evidence, SMALL).full, decided())


def made(pack=SMALL, evidence=EVIDENCE):
    audit = audit_of(evidence, pack)
    return audit_document(audit, judge(audit, pack), PROVENANCE)


def test_the_leaves_that_break_a_clause_are_marked_the_worst_first():
    nodes = tree_nodes(EVIDENCE, decided())
    assert [(n.name, n.rank, n.risk) for n in nodes if n.clauses] == [
        ("leaf 2", 1, "fail"),
        ("leaf 3", 0, "fail"),
    ]


def test_nodes_carry_the_real_records_and_how_many_have_the_label():
    nodes = tree_nodes(EVIDENCE, decided())
    assert [node.records for node in nodes] == [45, 20, 4, 3, 18]
    assert [node.label_share_text for node in nodes[1:]] == ["70.0 %", "100 %", "66.7 %", "50.0 %"]


def test_nothing_is_marked_where_everything_passes():
    nodes = tree_nodes(EVIDENCE, decided(pack_of(("k_anonymity", "at_least", 2))))
    assert {node.risk for node in nodes} == {"none"}


def test_certainty_counts_the_records_that_reach_each_mark():
    series = drawn().certainty
    for mark, guess, truth in zip(GRID, series.guess, series.truth, strict=True):
        leaves = [(20, 14), (4, 4), (3, 2), (18, 9)]
        sure = sum(size for size, hits in leaves if hits / size >= mark - 1e-9)
        true = sum(
            count
            for size, hits in leaves
            for count in (hits, size - hits)
            if count / size >= mark - 1e-9
        )
        assert guess == pytest.approx(sure / 45)
        assert truth == pytest.approx(true / 45)


def test_the_shares_of_the_divergence_make_up_all_records():
    series = drawn().divergence
    assert sum(series.shares) + series.infinite == pytest.approx(1)


def test_a_truth_that_is_ruled_out_is_counted_as_infinite():
    wrong = np.array([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    series = drawn(evidence_of(TREE, posterior=certain(wrong))).divergence
    assert series.infinite == pytest.approx(4 / 45)


def test_an_incomplete_estimate_draws_nothing_and_says_why():
    half = replace(EVIDENCE.posterior, decided=np.array([True, False, True, True]))
    series = drawn(evidence_of(TREE, posterior=half))
    assert series.certainty is None
    assert "1 of 4 groups" in series.certainty_reason


def test_a_reading_is_keyed_by_its_measure_unless_a_parameter_differs():
    assert key(call("guess_accuracy")) == "guess_accuracy"
    over = MeasureCall("guess_accuracy", (("over", "marginal"),))
    assert key(over) == "guess_accuracy[over=marginal]"


def test_every_measure_is_read_even_where_the_policy_asks_for_one():
    assert made().readings["guess_accuracy"].text == "64.4 %"
    assert made().readings["k_anonymity"].low == 3


def test_lessons_count_people():
    lessons = made().lessons
    assert [lesson.figure for lesson in lessons] == ["4 of 45", "64.4 %", "4 of 4", "3 people"]
    assert "correct for 4 of them" in lessons[0].detail


def test_a_failure_of_the_leaves_is_not_said_to_be_mended_by_withholding():
    said = " ".join(made().next_steps)
    assert "Removing numbers from the file does not" in said
    assert "treewarden repair" in said


def test_a_pass_says_against_whom():
    found = made(pack_of(("k_anonymity", "at_least", 2)))
    assert found.verdict == "PASS"
    assert "and no more" in found.meaning


def test_a_parameter_that_a_measure_has_words_for_is_said_in_them():
    over = MeasureCall("guess_accuracy", (("over", "marginal"),))
    other = MeasureCall("cl_diversity", (("basis", "real"), ("l", 3.0)))
    assert plain(over).endswith("people with the most common value")
    assert plain(other).endswith("worst leaf (l = 3)")


def test_a_check_that_the_policy_leaves_out_is_told_with_the_reason():
    pack = SMALL.model_copy(update={"dropped": (Dropped(id="label", reason="ours"),)})
    (row,) = made(pack).not_judged
    assert (row.name, row.text, row.plain) == ("label", "left out by this policy: ours", "")


def test_a_check_that_does_not_apply_is_told_by_what_it_would_measure():
    only = SMALL.clauses[0].model_copy(update={"when": When(task=("regression",)), "id": "small"})
    pack = SMALL.model_copy(update={"clauses": (*SMALL.clauses, only)})
    (row,) = made(pack).not_judged
    assert (row.name, row.plain) == ("small", "fewest people in a leaf")


def test_a_report_whose_nodes_nobody_reads_lists_none_and_is_the_same_in_all_else():
    audit = audit_of(EVIDENCE, SMALL)
    whole = audit_document(audit, judge(audit, SMALL), PROVENANCE)
    bare = audit_document(audit, judge(audit, SMALL), PROVENANCE, draws_tree=False)
    assert len(whole.tree) == 5
    assert bare == whole.model_copy(update={"tree": ()})
    renderer = importlib.import_module("treewarden.reports.renderers.text").RENDERER
    assert renderer.render(bare) == renderer.render(whole)


@pytest.mark.parametrize(
    ("words", "calls"), [([], 0), (["--format", "sarif"], 0), (["--format", "json"], 1)]
)
def test_a_command_draws_the_tree_only_for_forms_that_show_it(monkeypatch, words, calls):
    drawn_trees = []
    monkeypatch.setattr(
        build, "tree_nodes", lambda *_: drawn_trees.append(1) or tree_nodes(EVIDENCE, decided())
    )
    model = places.DATA / "formats/pmml/good/golf.pmml"
    said = run_command("audit", str(model), "--no-table", "--quiet", *words)
    assert said.exit_code in (0, 1, 3), said.output
    assert len(drawn_trees) == calls
