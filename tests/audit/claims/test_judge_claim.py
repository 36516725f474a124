"""What voids a claim, what leaves it open, and what is never believed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.judges.drawn_labels import WORDS, claim, flips, labelled_tree, people_in
from tests.kit.small_audits import flat_tree
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.claims.reliance import posterior_of_labels, relied_on
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call, measured
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.table_counts import Weights
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.run import run
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import with_claim
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism, read_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

LEAVES = [[7, 5], [4, 4], [12, 3]]
LABELS = [0, 1, 0]


def findings(said, leaves=LEAVES, labels=LABELS, leaks=(), people=None):
    people = people_in(leaves) if people is None else people
    return judge_claim(forest_of(labelled_tree(leaves, labels, said), people), people, leaks)


def reading(found, measure="epsilon", **parameters):
    leaves = people_in(LEAVES)
    forest = forest_of(labelled_tree(LEAVES, LABELS), leaves)
    nothing = Undetermined("not asked")
    evidence = Evidence(forest, leaves, Knowledge(), nothing, nothing, claim=found)
    return measured(call(measure, parameters), evidence).reading


def test_a_claim_that_nothing_speaks_against_is_what_it_says():
    assert reading(findings(claim(0.5))) == exactly(0.5)
    assert reading(findings(claim(0.5)), "epsilon_realised").high <= 0.5


def test_a_file_that_was_not_looked_through_for_seeds_keeps_its_claim_open():
    unread = Undetermined("this format is not accounted for")
    found = findings(claim(0.5), leaks=unread)
    assert isinstance(reading(found), Undetermined)
    assert "seed" in reading(found).reason
    tree = labelled_tree(LEAVES, LABELS, claim(0.5))
    forest = forest_of(tree, people_in(LEAVES))
    assert relied_on(forest, found) is forest
    assert relied_on(forest, findings(claim(0.5))) is not forest


def test_a_model_without_a_claim_is_held_to_none():
    found = findings(None)
    assert isinstance(found, Undetermined)
    assert "claims no differential privacy" in reading(found).reason


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("seed=known", "random seed"),
        ("bounds=table", "read from the table"),
        ("delta=1", "infinite"),
    ],
)
def test_a_void_claim_reads_infinite(words, said):
    stated = WORDS.replace("bounds=public", words) if "bounds" in words else f"{WORDS}, {words}"
    found = findings(claim(0.5, stated))
    assert said in found.voids[0]
    assert reading(found) == exactly(np.inf)
    assert isinstance(reading(found, "epsilon_realised"), Undetermined)


def test_a_seed_beside_the_trees_voids_the_claim_and_one_that_may_be_there_does_not():
    leak = Leak(LeakKind.REPLAY, "random_state", "the seed 7")
    assert findings(claim(0.5), leaks=(leak,)).voids
    assert not findings(claim(0.5), leaks=(replace(leak, is_possible=True),)).voids


def test_counts_in_the_file_void_a_claim_about_labels():
    tree = with_claim(flat_tree(LEAVES), claim(0.5))
    people = people_in(LEAVES)
    found = judge_claim(forest_of(tree, people), people, ())
    assert "the numbers of records" in found.voids[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("splits=independent", "the mechanism that drew the labels is not"),
        ("mechanism=permute-and-flip", "the mechanism that chose the splits is not"),
        ("mechanism=exponential, splits=private", "the epsilon spent on the labels of each"),
        (
            "mechanism=exponential, splits=independent, label_epsilon=0.6",
            "the labels of all trees spend more epsilon",
        ),
    ],
)
def test_what_is_not_said_of_a_mechanism_is_never_assumed(words, said):
    found = findings(claim(0.5, words))
    assert any(said in doubt for doubt in found.doubts)
    assert isinstance(reading(found), Undetermined)


def test_a_delta_above_the_policys_is_not_compared():
    found = findings(claim(0.5, f"{WORDS}, delta=0.01"))
    assert "delta is 0.01" in reading(found).reason
    assert reading(found, delta=0.05) == exactly(0.5)


def test_weights_of_rows_are_not_what_a_mechanism_counts():
    people = replace(people_in(LEAVES), weights=Weights.FREQUENCIES)
    found = findings(claim(0.5), people=people)
    assert "rows have weights" in reading(found).reason


def numeric(values, said):
    people = people_in([[values.count(v), 1] for v in sorted(set(values))])
    columns = {**people.columns, "age": NumericColumn(np.array(sorted(set(values)), dtype=float))}
    people = replace(people, columns=columns)
    leaves = [[values.count(v), 1] for v in sorted(set(values))]
    return findings(said, leaves, [0] * len(leaves), people=people)


@pytest.mark.parametrize(
    ("low", "high", "is_doubted"), [(18, 90, True), (0, 90, False), (18, 91, False)]
)
def test_bounds_at_the_ends_of_the_table_are_doubted(low, high, is_doubted):
    stated = claim(0.5, WORDS.replace(", bounds=public", ""))
    said = replace(stated, bounds=(("age", float(low), float(high)),))
    found = numeric([18, 30, 30, 90], said)
    assert any("smallest and the largest" in doubt for doubt in found.doubts) is is_doubted
    public = replace(claim(0.5), bounds=(("age", 18.0, 90.0),))
    assert not numeric([18, 30, 90], public).doubts


def test_labels_that_are_too_true_refute_a_claim():
    leaves = [[4, 1]] * 60
    found = findings(claim(0.05), leaves, [0] * 60)
    assert found.p_value < 1e-6
    assert reading(found) == exactly(np.inf)
    held = findings(claim(0.05), leaves, [0, 1] * 30)
    assert reading(held) == exactly(0.05)


def test_words_that_contradict_the_file_are_refused():
    own = claim(1.0)
    assert read_claim("unit=person", "its owner", own).epsilon == 1.0
    with pytest.raises(ValueError, match="the file says 1"):
        read_claim("epsilon=2", "its owner", own)
    with pytest.raises(ValueError, match="one of permute-and-flip"):
        read_claim("epsilon=1, mechanism=laplace", "its owner")
    with pytest.raises(ValueError, match="no entry"):
        read_claim("eps=1", "its owner")
    for bad in (
        "epsilon=0",
        "epsilon=nan",
        "epsilon=-1",
        "epsilon=1, epsilon=1",
        "unit=record",
        "",
    ):
        with pytest.raises(ValueError, match=r"."):
            read_claim(bad, "its owner")


def test_the_words_of_a_claim_read_back():
    own = claim(0.1, f"{WORDS}, delta=1e-07, label_epsilon=0.05, seed=known")
    again = read_claim(own.words, "a test")
    assert again == own


# Labels as what they are: noise, where a claim holds.


def audited(said, leaves, labels):
    people = people_in(leaves)
    tree = labelled_tree(leaves, labels, said)
    return run(tree, people, Knowledge(), leaks=()).full.evidence


def test_noisy_labels_prove_nobodys_value_and_give_a_posterior():
    leaves, labels = [[1, 0], [6, 5], [9, 8]], [1, 0, 1]
    evidence = audited(claim(0.5), leaves, labels)
    assert measured(call("certain_disclosure"), evidence).reading == exactly(0)
    leaf_of_one = evidence.posterior.values[0]
    keep = flips([1, 0], 0.5)[0]
    assert leaf_of_one == pytest.approx([1 - keep, keep], abs=1e-12)


@pytest.mark.parametrize(
    "words",
    [f"{WORDS}, seed=known", "mechanism=permute-and-flip", "splits=independent", "delta=1"],
)
def test_labels_of_a_claim_that_is_void_or_not_known_prove_nothing_and_clear_nobody(words):
    evidence = audited(claim(0.5, words), [[1, 0], [6, 5], [9, 8]], [1, 0, 1])
    found = measured(call("certain_disclosure"), evidence).reading
    assert found.low == 0
    assert found.high > 0
    assert isinstance(evidence.posterior, Undetermined)


def test_a_claim_of_hardly_any_noise_is_not_relied_on():
    people = people_in(LEAVES)
    forest = forest_of(labelled_tree(LEAVES, LABELS, claim(9.0)), people)
    found = judge_claim(forest, people, ())
    assert not relied_on(forest, found).model.learner.has_known_noise


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_the_posterior_is_bayes_rule_over_every_table(prior):
    said = claim(0.7)
    leaves, labels = [[3, 2], [1, 0]], [1, 0]
    found = findings(said, leaves, labels)
    shares = np.array([prior, 1 - prior])
    got = posterior_of_labels(found.labels, shares, 0.7, LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC)
    for leaf, counts in enumerate(leaves):
        size, weight = sum(counts), np.zeros(2)
        for table in np.ndindex(*(2,) * size):
            counted = [table.count(0), table.count(1)]
            weight[table[0]] += np.prod(shares[list(table)]) * flips(counted, 0.7)[labels[leaf]]
        assert got[leaf] == pytest.approx(weight / weight.sum(), abs=1e-12)


def test_adversaries_who_know_some_columns_are_not_cleared_by_drawn_labels():
    data = writers()["treewarden_json"].write(labelled_tree([[1, 0], [5, 6]], [1, 0], claim(0.5)))
    table = pd.DataFrame(
        {"place": ["p0", *["p1"] * 11], "illness": ["c0", *["c0", "c1"] * 5, "c1"]}
    )
    result = tw.audit(data, table, sensitive="illness", knows=["place"], policy="standard")
    adversary = result.to_dict()["adversaries"][-1]
    assert adversary["readings"]["certain_disclosure"]["low"] is None
    assert "claims differential privacy" in adversary["readings"]["certain_disclosure"]["reason"]


def test_a_label_that_may_be_no_noise_clears_nobody_whom_it_would_prove():
    evidence = audited(claim(0.5), [[1, 0], [6, 5], [9, 8]], [0, 1, 1])
    found = measured(call("certain_disclosure"), evidence).reading
    assert (found.low, found.high) == (0, 1)
