"""Utility against privacy: one set of points for the page, the terminal and the notebook."""

from tests.kit.small_audits import auditor, deep_tree, pack_of, people_of
from treewarden.policies.repair.repair import repair
from treewarden.policies.repair.utility import RepairResources
from treewarden.reports.building.repair_document import repair_part
from treewarden.reports.figures.curve import caption, curve_of
from treewarden.reports.figures.plots import tradeoff
from treewarden.terminal.check_table import _curve as curve_sentence

TREE = deep_tree([[[40, 10], [10, 40]], [[30, 28], [3, 4]]], ("a", "b"))
PACK = pack_of(
    ("k_anonymity", "at_least", 10),
    ("confidence", "at_most", 0.75),
    ("label_disclosure", "at_most", 0.9),
)


LEAVES = pack_of(("k_anonymity", "at_least", 10))


def part_of(utility, tree=TREE, pack=PACK):
    people = people_of(tree)
    return repair_part(
        repair(tree, people, auditor(people, pack), pack, RepairResources(utility=utility))
    )


def test_all_show_the_same_points_and_the_chosen_one_is_marked():
    for utility, words in (("accuracy", "accuracy"), ("auc", "AUC"), ("log-loss", "log loss")):
        part = part_of(utility, pack=LEAVES if utility == "log-loss" else PACK)
        curve = curve_of(part)
        assert curve.label == f"{words}, cross-validated", utility
        assert curve.is_percent == (utility != "log-loss")
        chosen = [point for point in curve.points if point.is_chosen]
        assert [point.verdict for point in chosen] == ["PASS"], utility
        assert curve.points[0].name == "original"
        assert [p.utility for p in curve.line] == sorted(p.utility for p in curve.line)
        assert words in part.utility
        assert "five-fold" in part.utility
        assert "cross-validated" in str(tradeoff(part))
        said = " ".join(curve_sentence(part))
        assert said.count("(chosen)") == 1, utility
        (point,) = chosen
        assert f"{point.name}: {point.text}, privacy score {point.privacy_text} (chosen)" in said


def test_the_caption_tells_only_of_marks_that_there_are():
    chosen, none = curve_of(part_of("accuracy")), curve_of(part_of("log-loss"))
    assert "The circle marks" in caption(chosen)
    assert "The circle marks" not in caption(none)
    for curve in (chosen, none):
        assert ("The line joins" in caption(curve)) == (len(curve.line) > 1)


def test_a_log_loss_is_told_above_0_and_better_to_the_right():
    part = part_of("log-loss")
    told = part.attempts[0].utility_before
    assert 0 < told.low < 1
    assert curve_of(part).points[0].utility == -told.low


def test_a_choice_without_a_log_loss_is_named_beside_the_curve():
    part = part_of("log-loss")
    assert not any(point.is_chosen for point in curve_of(part).points)
    assert "has no log loss" in " ".join(curve_sentence(part))


def test_where_nothing_can_be_cross_validated_the_part_says_why():
    part = part_of("accuracy", deep_tree([[[50, 1], [5, 1]], [55, 1]], ("a", "b")), LEAVES)
    assert "training accuracy, not cross-validated: Fewer than 5 records" in part.utility
    assert {curve_of(part).label} <= {"training accuracy", ""}
