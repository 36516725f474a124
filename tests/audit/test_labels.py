"""Labels that the table contradicts are told at every level, and those that need not be the majority are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import forest
from tests.kit.small_audits import deep_tree, flat_tree, people_of
from treewarden.audit.evidence import label_contradictions
from treewarden.audit.exposures import unsolved
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import TreeSampling
from treewarden.ppdm_models.tree.tree import CLASS_WEIGHT, NOISE, Learner, Quality

CLASSES = ("no", "yes")
BASELINE = read_pack(shipped_packs()["baseline"].read_bytes(), "baseline")
LEAVES = [[26, 14], [14, 26]]


def labelled(*labels, keep="nothing", leaves=LEAVES):
    """A tree that publishes these labels, and of its numbers what is kept."""
    tree = flat_tree(leaves, labels, CLASSES)
    people = people_of(tree)

    def told(node):
        counts = node.class_counts
        if keep == "counts":
            return node
        bare = replace(node, class_counts=None, records=None)
        if keep == "shares":
            return replace(bare, class_shares=tuple(count / sum(counts) for count in counts))
        if keep == "bands" and not node.children:
            return replace(bare, bands=tuple((count - 5, count + 5) for count in counts))
        return bare

    quality = {"counts": Quality.EXACT, "shares": Quality.NORMALISED}.get(keep, Quality.ABSENT)
    changed = replace(tree, nodes=tuple(map(told, tree.nodes)), quality=quality)
    return changed, people


def told(model, people):
    unknown = Undetermined("nothing was estimated")
    evidence = unsolved(forest_of(model, people), people, Knowledge(), unknown, ())
    return [each.where for each in label_contradictions(evidence)]


@pytest.mark.parametrize("keep", ["counts", "shares", "bands", "nothing"])
def test_a_label_that_another_class_leads_is_told_whatever_stands_beside_it(keep):
    assert told(*labelled("no", "yes", keep=keep)) == []
    assert told(*labelled("yes", "yes", keep=keep)) == [
        "tree:10: node 'leaf 1': the label is 'yes'"
    ]
    assert len(told(*labelled("yes", "no", keep=keep))) == 2


@pytest.mark.parametrize("level", ["as-published", "labels", "rates", "counts"])
def test_it_never_passes_at_any_level(level):
    for labels, is_true in ((("no", "yes"), True), (("yes", "no"), False)):
        tree, people = labelled(*labels)
        audit = run(tree, people, Knowledge(split="none", leaf=level))
        decision = judge(audit, BASELINE)
        assert ("table-agrees" in [each.clause for each in decision.findings]) is not is_true
        assert is_true or decision.verdict is not PolicyVerdict.PASS


def test_a_tie_is_no_contradiction():
    assert told(*labelled("no", "yes", leaves=[[20, 20], [20, 20]])) == []
    assert told(*labelled("yes", "no", leaves=[[20, 20], [20, 20]])) == []


def test_the_label_of_an_inner_node_is_held_against_all_who_pass_it():
    tree = deep_tree([[[8, 2], [7, 3]], [1, 9]], CLASSES)
    people = people_of(tree)
    assert told(tree, people) == []
    nodes = list(tree.nodes)
    nodes[1] = replace(nodes[1], score="yes")
    assert told(replace(tree, nodes=tuple(nodes)), people) == [
        "tree: node 'n1': the label is 'yes'"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"learner": Learner(unmodelled=(CLASS_WEIGHT,))},
        {"learner": Learner(unmodelled=(NOISE,))},
        {"label_reason": "priors"},
        {"quality": Quality.WEIGHTED},
    ],
)
def test_labels_are_not_judged_where_the_file_says_why_they_need_not_be_the_majority(change):
    tree, people = labelled("yes", "no")
    changed = replace(tree, **change)
    assert told(changed, people) == []
    audit = run(changed, people, Knowledge(split="none"))
    assert any("labels were not compared with the table" in said for said in audit.warnings)


def test_sampling_weights_may_make_a_label():
    tree, people = labelled("yes", "yes")
    assert told(tree, replace(people, weight=np.array([1.0, 1.0]))) != []
    split = flat_tree([[26, 0], [0, 14], [14, 26]], ["yes", "yes", "yes"], CLASSES)
    halves = people_of(split)
    merged = replace(
        halves,
        columns={"place": CategoricalColumn(np.array([0, 0, 1]), ("p0", "p1"))},
        leaf=np.array([1, 1, 2]),
    )
    assert told(tree, merged) != []
    assert told(tree, replace(merged, weight=np.array([1.0, 3.0, 1.0]))) == []


def test_records_that_lack_values_may_have_been_counted_elsewhere():
    tree, people = labelled("yes", "yes")
    holes = CategoricalColumn(np.array([-1, 1]), people.columns["place"].categories)
    assert told(tree, replace(people, columns={"place": holes})) == []


def test_no_table_and_another_secret_say_nothing_of_labels():
    tree, people = labelled("yes", "no")
    assert told(tree, replace(people, is_absent=True)) == []


def test_trees_of_a_forest_are_held_against_the_people_where_each_saw_everybody():
    tree, people = labelled("yes", "no")
    several = forest(tree, tree, features=tree.features, target=tree.target)
    assert len(told(replace(several, sampling=TreeSampling(resampled=False)), people)) == 4
    assert told(replace(several, sampling=TreeSampling(resampled=True)), people) == []
    assert told(replace(several, sampling=TreeSampling(None)), people) == []


def test_labels_that_contradict_their_own_numbers_are_doubted_without_a_table():
    tree, people = labelled("yes", "no", keep="counts")
    audit = run(tree, people, Knowledge(split="none"))
    clauses = [each.clause for each in judge(audit, BASELINE).findings]
    assert {"file-agrees", "table-agrees"} <= set(clauses)
