"""Knowledge files and statements: what is understood, and what is refused."""

import codecs
from dataclasses import replace

import pytest

from tests.kit.cases import multiway_case
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import (
    Knowledge,
    possible_criteria,
    read_knowledge,
    resolved,
    understated,
)
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.knowledge.statement import Condition, read_claim
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Node,
    Task,
    Tree,
)

SAID = b"""
leaf = "rates"
split = "gini"
marginal = true
min_leaf = 5

[[fact]]
says = "P(flu | sex = F, age < 30) = 0.2"

[[fact]]
record = { age = 31, sex = "M" }
class = "flu"
"""


def test_a_file_says_it_all():
    knowledge = read_knowledge(SAID, "known.toml")
    assert (knowledge.leaf, knowledge.split) == (LeafLevel.RATES, SplitLevel.GINI)
    assert (knowledge.marginal, knowledge.accuracy, knowledge.min_leaf) == (True, False, 5)
    assert len(knowledge.facts) == 2


def test_ends_of_bins_are_numbers_whole_or_not():
    said = read_knowledge(b'[secret]\ncolumn = "age"\nbins = [30, 62.5]', "known.toml")
    assert said.secret.bins == (30.0, 62.5)


def test_a_byte_order_mark_says_nothing():
    assert read_knowledge(codecs.BOM_UTF8 + SAID, "a") == read_knowledge(SAID, "a")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"leaf = ", "known.toml: not valid TOML"),
        (b"\xff", "known.toml: not valid TOML"),
        (
            b'leaf = "everything"',
            "leaf: must be 'labels', 'rates', 'counts' or 'as-published'",
        ),
        (b'knows = "all"', "unknown key 'knows'; use leaf, split"),
        (b"min_leaf = 0", "min_leaf: must be greater than or equal to 1"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(data, message):
    with pytest.raises(KnowledgeError) as caught:
        read_knowledge(data, "known.toml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("says", "klass", "conditions", "ends"),
    [
        ("P(flu) = 0.5", "flu", (), (0.5, 0.5)),
        (
            "P(flu | sex = F, age < 30) >= .2",
            "flu",
            (("sex", "=", ("F",)), ("age", "<", ("30",))),
            (0.2, 1),
        ),
        ("P(>50K | x in {a, b c}) <= 1e-1", ">50K", (("x", "in", ("a", "b c")),), (0, 0.1)),
        (
            'P("a | b" | "hours, weekly" >= 40) = 1',
            "a | b",
            (("hours, weekly", ">=", ("40",)),),
            (1, 1),
        ),
        (
            "P(a b | marital status != never married) = 0",
            "a b",
            (("marital status", "!=", ("never married",)),),
            (0, 0),
        ),
    ],
)
def test_a_statement_is_taken_apart(says, klass, conditions, ends):
    claim = read_claim(says.replace(">50K", '">50K"'))
    assert claim.klass == klass
    assert claim.conditions == tuple(Condition(*one) for one in conditions)
    assert (claim.low, claim.high) == ends


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("flu is rare", "not a valid statement"),
        ("P(flu | sex = F) = often", "'often' is not a number"),
        ("P(flu) = 1.5", "1.5 is not a share"),
        ("P(flu | sex) = 0.5", "'sex' is not a condition"),
    ],
)
def test_a_statement_that_is_not_understood_is_refused(says, message):
    with pytest.raises(KnowledgeError, match=message):
        read_claim(says)


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("P(c9 | x0 = north) = 0.5", "'c9' is not a class of the model; use c0, c1, c2"),
        ("P(c1 | y = north) = 0.5", "'y' is not a quasi-identifier; use x0, x1, x2"),
        ("P(c1 | x0 < 3) = 0.5", "'x0' contains categories"),
        ("P(c1 | x0 = nowhere) = 0.5", "no record of the table meets its conditions"),
    ],
)
def test_a_statement_about_what_is_not_there_is_refused(says, message):
    knowledge = Knowledge.model_validate({"split": "none", "facts": ({"says": says},)})
    with pytest.raises(KnowledgeError, match=message):
        build_system(multiway_case(0, knowledge))


def _stump(learner: Learner) -> Tree:
    return Tree(
        (Node(0, "0", None),), (Feature("x", numeric=True),), "y", ("a", "b"), learner=learner
    )


def test_the_criterion_comes_from_the_file():
    knowledge, warnings = resolved(Knowledge(), _stump(Learner(Criterion.GINI)))
    assert knowledge.split is SplitLevel.GINI
    assert warnings == ()


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Learner(tool=Tool.WEKA), "does not contain its split criterion"),
        (Learner(Criterion.GINI, all_features=False), "random subsets"),
    ],
)
def test_split_choices_that_prove_nothing_are_not_used_and_that_is_said(learner, message):
    knowledge, warnings = resolved(Knowledge(), _stump(learner))
    assert knowledge.split is SplitLevel.NONE
    assert message in warnings[0]


@pytest.mark.parametrize(
    ("tool", "criteria"),
    [
        (Tool.RPART, ("gini", "entropy")),
        (Tool.SCIKIT_LEARN, ("gini", "entropy")),
        (Tool.SPARK, ("gini", "entropy")),
        (Tool.UNKNOWN, ("gini", "entropy", "gain-ratio")),
        (Tool.WEKA, ()),
    ],
)
def test_who_is_not_told_the_criterion_supposes_those_of_the_program(tool, criteria):
    tree = _stump(Learner(tool=tool))
    knowledge, warnings = resolved(Knowledge(), tree)
    assert possible_criteria(knowledge, tree) == criteria
    assert all(criterion in warnings[0] for criterion in criteria)
    assert possible_criteria(Knowledge(split="none"), tree) == ()
    assert possible_criteria(Knowledge(split="gini"), tree) == ()
    told = resolved(Knowledge(learner=tool), _stump(Learner()))[0]
    assert possible_criteria(told, _stump(Learner())) == criteria


def test_a_file_that_names_its_criterion_or_saw_noise_leaves_nothing_to_suppose():
    for learner in (Learner(Criterion.GINI), Learner(unmodelled=("noise",))):
        assert possible_criteria(Knowledge(), _stump(learner)) == ()


def test_numbers_that_nobody_has_cannot_be_known():
    case = multiway_case(0, Knowledge(leaf="counts", split="none"))
    bare = Tree(
        tuple(
            Node(n.index, n.name, n.parent, n.children, n.test, n.score) for n in case.tree.nodes
        ),
        case.tree.features,
        case.tree.target,
        case.tree.classes,
    )
    from_table = build_system(Case(bare, case.population, case.members, case.knowledge))
    assert not any(
        row.origin.is_published
        for row in from_table.rows
        if row.origin.constraint == "leaf_distribution"
    )


COUNTED = Tree(
    (
        Node(0, "root", None, (1, 2)),
        Node(1, "a", 0, (), NumericTest("age", high=2.5), "no", 3.0, (2.0, 1.0, 0.0)),
        Node(
            2, "b", 0, (), NumericTest("age", low=2.5, low_closed=True), "yes", 2.0, (0.0, 2.0, 0.0)
        ),
    ),
    (Feature("age", numeric=True),),
    "y",
    ("no", "yes", "maybe"),
    learner=Learner(Criterion.GINI),
)


@pytest.mark.parametrize(
    ("knowledge", "more"),
    [
        (Knowledge(), ""),
        (Knowledge(leaf="counts", split="entropy"), ""),
        (Knowledge(leaf="labels"), "class numbers of its leaves"),
        (Knowledge(leaf="rates"), "more of its leaves than error rates"),
        (Knowledge(split="none"), "that its splits were chosen by gini"),
    ],
)
def test_a_file_that_publishes_more_than_is_assumed_known_is_warned_about(knowledge, more):
    warnings = resolved(knowledge, COUNTED)[1]
    assert understated(knowledge, COUNTED) == more
    assert [more in said for said in warnings] == ([True] if more else [])


def test_a_regression_tree_is_not_asked_how_its_splits_were_chosen():
    tree = replace(COUNTED, task=Task.REGRESSION, learner=Learner())
    knowledge, warnings = resolved(Knowledge(), tree)
    assert (knowledge.split, warnings) == (SplitLevel.NONE, ())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[training]\neta = true", "training.eta: must be a number"),
        ('[training]\neta = "0.3"', "training.eta: must be a number"),
        ("min_leaf = true", "min_leaf: must be a whole number"),
        ("min_leaf = 5.0", "min_leaf: must be a whole number"),
        ('min_leaf = "5"', "min_leaf: must be a whole number"),
        ('marginal = "true"', "marginal: must be true or false"),
        ("accuracy = 1", "accuracy: must be true or false"),
        ('strict_labels = "no"', "strict_labels: must be true or false"),
        ("seeds = [true]", "seeds.0: must be a whole number"),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_name(line, problem):
    with pytest.raises(KnowledgeError) as caught:
        read_knowledge(line.encode(), "known.toml")
    assert str(caught.value).startswith(f"known.toml: {problem}")


def test_whole_numbers_are_numbers():
    said = read_knowledge(b"seeds = [1]\n[training]\neta = 1\nreg_lambda = 0.5", "known.toml")
    assert (said.seeds, dict(said.training)) == ((1,), {"eta": 1.0, "reg_lambda": 0.5})
