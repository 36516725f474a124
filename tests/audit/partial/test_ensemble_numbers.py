"""Between which ends numbers lie for an adversary who knows some columns, on people that are counted by hand."""

import numpy as np

from treewarden.audit.adversaries import of_model_alone, with_adversaries
from treewarden.audit.evidence import NO_NUMBER
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.ensembles.ensemble_secret import infer_secret_by_exchanges
from treewarden.audit.partial.ensembles.release_inference import NO_MEANS, infer_numbers, model_view
from treewarden.audit.partial.secret_values import AdversaryRequest, secret_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import read_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Task, Tree

FEATURES = (Feature("x", numeric=False), Feature("h", numeric=False))
PEOPLE = {
    "x": ["x0", "x0", "x1", "x1", "x1"],
    "h": ["h0", "h1", "h0", "h1", "h1"],
    "number": [10, 30, 20, 30, 30],
}
PACK = b"""name = "p"
version = "1"
title = "t"
description = "d"
[[check]]
id = "c"
measure = "value_width"
rule = "at_least"
limit = 5
why = "w"
"""


def by_h(*, is_sized, empty=False):
    """Return a tree that parts people by h: of means 15 and 30, and perhaps a leaf that holds nobody."""
    sizes = (2.0, 3.0) if is_sized else (None, None)
    leaves = [
        Node(n, str(n), 0, (), CategoryTest("h", (name,)), score, size)
        for n, (name, score, size) in enumerate(
            zip(("h0", "h1"), (15.0, 30.0), sizes, strict=True), 1
        )
    ]
    if empty:
        leaves.append(Node(3, "3", 0, (), CategoryTest("h", ("h2",)), 12.0))
    root = Node(0, "0", None, tuple(leaf.index for leaf in leaves), score=24.0)
    quality = Quality.EXACT if is_sized else Quality.ABSENT
    features = (FEATURES[0], Feature("h", numeric=False, values=("h0", "h1", "h2")))
    made = {"task": Task.REGRESSION, "quality": quality, "source": "m"}
    return Tree((root, *leaves), features, "number", (), **made)


def people_of(tree):
    return build_population(tree, table_of(PEOPLE), sensitive="number", qi=("x", "h"))


def numbers_of(tree, columns, full=True):
    people = people_of(tree)
    told = run(tree, people, Knowledge()).full.evidence.numbers if full else NO_NUMBER
    view = model_view(forest_of(tree, people), people, Knowledge(), columns)
    return infer_numbers(view, told).numbers


def test_a_hidden_column_leaves_the_ends_of_all_leaves_and_people_exchange_places():
    found = numbers_of(by_h(is_sized=True), ("x",))
    assert found.counts.tolist() == [2, 3]
    # In the leaf of mean 15 nobody has more than 20, in that of mean 30 all have 30; both groups may be in both.
    assert found.low.tolist() == [10, 10]
    assert found.high.tolist() == [30, 30]
    assert found.reached_low.tolist() == [10, 10]
    assert found.reached_high.tolist() == [30, 30]
    assert found.left == ()


def test_who_knows_what_is_tested_is_told_what_its_leaf_leaves():
    found = numbers_of(by_h(is_sized=True), ("h",))
    assert np.allclose(found.low, [10, 30])
    assert np.allclose(found.high, [20, 30])


def test_without_sizes_a_leaf_may_hold_all_who_can_stop_there():
    found = numbers_of(by_h(is_sized=False), ("x",))
    assert found.low.tolist() == [10, 10]
    known = numbers_of(by_h(is_sized=False), ("h",))
    assert np.allclose(known.high, [20, 30])
    # A leaf in which nobody of the table is may hold somebody, for whoever does not know the sizes.
    unknown = numbers_of(by_h(is_sized=False, empty=True), ("h",))
    assert unknown.low.tolist() == [10, 10]
    assert unknown.high.tolist() == [30, 30]


def test_what_full_knowledge_could_not_join_proves_nothing():
    found = numbers_of(by_h(is_sized=True), ("h",), full=False)
    assert found.low.tolist() == [10, 10]
    assert found.reached_high.tolist() == [20, 30]
    assert found.left == (NO_MEANS,)


def exposure_of(request, model, people, audit):
    knowing = audit.full.evidence.knowledge
    return with_adversaries(audit, model, people, knowing, request, (), AuditOptions())


def test_checks_of_numbers_are_judged_of_each_adversary():
    pack = read_pack(
        PACK,
        "p.toml",
    )
    tree = by_h(is_sized=True)
    people = people_of(tree)
    audit = run(tree, people, Knowledge())
    seen = exposure_of(AdversaryRequest((Adversary("some", ("x",)),)), tree, people, audit)
    assert seen.adversaries[0].measured("value_width").reading.low == 20
    decision = judge(seen, pack)
    # Who knows h too knows that those of the second leaf have 30.
    assert {finding.of == "" for finding in decision.findings} == {True}
    assert decision.verdict is PolicyVerdict.FAIL


def test_a_secret_of_a_tree_of_numbers_is_decided_where_people_can_exchange_it():
    tree = by_h(is_sized=True)
    people = people_of(tree)
    secret = secret_of(people, "h", None, "here", ("h2",))
    view = model_view(forest_of(tree, people), people, Knowledge(), ("x",), ("h",))
    seen = infer_secret_by_exchanges(view, secret, knows_target=False)
    assert not seen.worlds.open_profiles.any()
    assert not seen.worlds.certain.any()
    # Whoever knows everybody's number can exchange people with the same number alone.
    told = infer_secret_by_exchanges(view, secret, knows_target=True)
    assert told.population.qi == ("x", "number")
    assert told.worlds.open_profiles.all()


def test_checks_of_numbers_do_not_apply_where_a_column_is_the_secret():
    tree = by_h(is_sized=True)
    people = people_of(tree)
    audit = of_model_alone(tree, people, Knowledge(), "h")
    request = AdversaryRequest(
        (Adversary("some", ("x",)),), secret_of(people, "h", None, "here", ("h2",))
    )
    seen = exposure_of(request, tree, people, audit)
    reading = seen.adversaries[0].measured("value_width").reading
    assert reading == Undetermined("the secret is “h”, not what the tree predicts")
