"""What noisy labels of several trees tell together is Bayes' rule over every table of people, to 1e-12."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from tests.judges.drawn_labels import (
    claim,
    exponential,
    flips,
    labelled_forest,
    merged,
    people_in,
)
from tests.kit.tiers import seeds
from treewarden.audit.claims import several_trees as module
from treewarden.audit.claims.judge_claim import judge_claim, relied_on
from treewarden.audit.claims.leaf_labels import LeafLabels, log_probabilities
from treewarden.audit.claims.several_trees import (
    LabelNoise,
    posterior_ends,
    posterior_of_trees,
    tables_under_noise,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.measures import call, measured
from treewarden.audit.population.forest import forest_of
from treewarden.audit.progress import work_clock
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.run import run
from treewarden.ppdm_models.tree.ensemble import Member, NonTreeModel, TreeSampling
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism

FOREST = "mechanism=permute-and-flip-monotonic, splits=independent, trees=all, bounds=public"
DRAWN = {
    LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC: (flips, False),
    LabelMechanism.PERMUTE_AND_FLIP: (flips, True),
    LabelMechanism.EXPONENTIAL_MONOTONIC: (exponential, False),
    LabelMechanism.EXPONENTIAL: (exponential, True),
}


def found(places, groups, labels, said):
    people = people_in(places)
    forest = forest_of(labelled_forest(places, groups, labels, said), people)
    return judge_claim(forest, people, ()), people


def by_bayes(sizes, groups, labels, prior, drawn):
    """Return P(class | labels) of a person of each place, over every table of people: their classes one by one."""
    places = [place for place, size in enumerate(sizes) for _ in range(size)]
    classes, weight = len(prior), np.zeros((len(sizes), len(prior)))
    for table in itertools.product(range(classes), repeat=len(places)):
        counts = [[0] * classes for _ in sizes]
        for place, code in zip(places, table, strict=True):
            counts[place][code] += 1
        chance = float(np.prod([prior[code] for code in table]))
        for of_place, of_tree, draw in zip(groups, labels, drawn, strict=True):
            for leaf, label in zip(merged(counts, of_place), of_tree, strict=True):
                chance *= draw(leaf)[label]
        for place, row in enumerate(counts):
            weight[place] += chance * np.array(row)
    return weight / weight.sum(axis=1, keepdims=True)


CASES = [
    ([[1, 1], [2, 0], [1, 2]], [(0, 1, 1), (0, 0, 1)], [(0, 1), (1, 0)], (0.5, 0.5)),
    ([[1, 1], [2, 0], [1, 1]], [(0, 1, 1), (0, 0, 1), (0, 1, 0)], [(0, 1), (1, 0), (1, 1)], (0.7, 0.3)),
    ([[1, 1, 0], [0, 0, 2], [1, 0, 1]], [(0, 1, 1), (0, 0, 1)], [(0, 2), (1, 0)], (0.5, 0.3, 0.2)),
    ([[1, 1], [2, 0], [0, 1], [2, 1]], [(0, 0, 1, 1), (0, 1, 0, 1)], [(0, 1), (1, 1)], (0.4, 0.6)),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", DRAWN)
@pytest.mark.parametrize(("places", "groups", "labels", "prior"), CASES)
def test_the_posterior_of_several_trees_is_bayes_rule_over_every_table(
    places, groups, labels, prior, mechanism
):
    findings, people = found(places, groups, labels, claim(1.4, f"{FOREST}, label_epsilon=0.7"))
    draw, halved = DRAWN[mechanism]
    noise = (LabelNoise(0.7, mechanism),) * len(groups)
    shares = np.array(prior)
    got = posterior_of_trees(findings.labels, people.counts, shares, noise)
    sizes = [sum(counts) for counts in places]
    drawn = [lambda counts: draw(counts, 0.7, halved=halved)] * len(groups)
    expected = by_bayes(sizes, groups, labels, prior, drawn)
    assert got == pytest.approx(expected, abs=1e-12)
    ends = posterior_ends(findings.labels, shares, noise)
    assert (ends.low <= got + 1e-12).all()
    assert (got <= ends.high + 1e-12).all()


def test_people_whom_a_tree_did_not_see_and_trees_of_other_noise():
    places, groups, labels = CASES[0][:3]
    findings, people = found(places, groups, labels, claim(1.4, f"{FOREST}, label_epsilon=0.7"))
    noise = (
        LabelNoise(0.3, LabelMechanism.EXPONENTIAL_MONOTONIC),
        LabelNoise(1.1, LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC),
    )
    prior = (0.6, 0.4)
    drawn = [lambda counts: exponential(counts, 0.3), lambda counts: flips(counts, 1.1)]
    got = posterior_of_trees(findings.labels, people.counts, np.array(prior), noise)
    sizes = [sum(counts) for counts in places]
    assert got == pytest.approx(by_bayes(sizes, groups, labels, prior, drawn), abs=1e-12)
    unseen = findings.labels.leaf_of_profile.copy()
    unseen[1] = -1
    alone = replace(findings.labels, leaf_of_profile=unseen)
    got = posterior_of_trees(alone, people.counts, np.array(prior), noise)
    expected = by_bayes(sizes, groups[:1], labels[:1], prior, drawn[:1])
    assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", seeds(40, quick=(0, 1, 2)))
@pytest.mark.parametrize("mechanism", DRAWN)
def test_one_record_moves_a_labels_chances_no_further_than_the_scale_and_never_against_it(
    mechanism, seed
):
    random = np.random.default_rng(seed)
    classes, epsilon = int(random.integers(2, 5)), float(random.choice([0.1, 0.7, 2.0]))
    counts = random.integers(0, 6, (1, classes)).astype(float)
    scale = LabelNoise(epsilon, mechanism).scale
    before = log_probabilities(counts, epsilon, mechanism)[0]
    for more in range(classes):
        after = log_probabilities(counts + np.eye(classes)[more], epsilon, mechanism)[0]
        shift = after - before
        assert -1e-12 <= shift[more] <= scale + 1e-12
        others = np.delete(shift, more)
        assert (others <= 1e-12).all()
        assert (others >= -scale - 1e-12).all()


def test_too_many_ways_leave_the_ends_that_every_table_of_the_others_has(monkeypatch):
    places, groups, labels, _ = CASES[0]
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    evidence = audited(places, groups, labels, 1.0)
    ends = evidence.posterior
    assert (ends.low < ends.high).any()
    two_votes = 1 / (1 + np.exp(-2.0))  # both trees say it, each with 2 * 0.5
    assert ends.high.max() == pytest.approx(two_votes)


def audited(places, groups, labels, epsilon, words=FOREST):
    people = people_in(places)
    said = claim(epsilon, f"{words}, label_epsilon={epsilon / len(groups)!r}")
    forest = labelled_forest(places, groups, labels, said)
    return run(forest, people, Knowledge(), leaks=()).full.evidence


def test_noisy_labels_of_a_forest_prove_nobodys_value_and_give_a_posterior():
    places, groups, labels, _ = CASES[0]
    evidence = audited(places, groups, labels, 1.4)
    assert measured(call("certain_disclosure"), evidence).reading == exactly(0)
    drawn = [lambda counts: flips(counts, 0.7)] * 2
    expected = by_bayes([2, 2, 3], groups, labels, (0.5, 0.5), drawn)
    assert evidence.posterior.values == pytest.approx(expected, abs=1e-12)
    assert measured(call("label_disclosure"), evidence).reading.high <= 1


def test_a_forest_whose_labels_may_be_no_noise_clears_nobody_whom_they_would_prove():
    evidence = audited([[1, 0], [3, 2], [2, 2]], [(0, 1, 1), (0, 1, 1)], [(0, 0), (0, 0)], 1.0)
    found = measured(call("certain_disclosure"), evidence).reading
    assert (found.low, found.high) == (0, 1)
    freed = audited([[1, 0], [3, 2], [2, 2]], [(0, 1, 1), (0, 1, 1)], [(1, 0), (1, 0)], 1.0)
    assert measured(call("certain_disclosure"), freed).reading == exactly(0)


@pytest.mark.parametrize(
    "words",
    [
        FOREST.replace("trees=all", "trees=parts"),
        FOREST.replace(", trees=all", ""),
        FOREST.replace("mechanism=permute-and-flip-monotonic, ", ""),
        f"{FOREST}, seed=known",
    ],
)
def test_a_forest_of_another_kind_is_left_open(words):
    evidence = audited(*CASES[0][:3], 1.4, words)
    assert isinstance(evidence.posterior, Undetermined)
    assert isinstance(measured(call("certain_disclosure"), evidence).reading, Undetermined)
    people = people_in(CASES[0][0])
    forest = forest_of(evidence.forest.model, people)
    assert relied_on(forest, judge_claim(forest, people, ())) is forest


def nested(around, inside):
    """Return an ensemble whose only member is another one."""
    return replace(around, members=(Member(inside),))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            lambda f: replace(f, sampling=TreeSampling(resampled=True)),
            "used a sample of the records",
        ),
        (
            lambda f: replace(f, sampling=TreeSampling(held_out=True)),
            "used a sample of the records",
        ),
        (lambda f: replace(f, base=(0.5, 0.2)), "a starting score"),
        (
            lambda f: replace(f, members=(replace(f.members[0], weight=2.0), f.members[1])),
            "weights other than 1",
        ),
        (
            lambda f: replace(f, members=tuple(replace(m, weight=147.0) for m in f.members)),
            "weights other than 1",
        ),
        (
            lambda f: nested(
                f, replace(f, members=tuple(replace(m, weight=0.5) for m in f.members))
            ),
            "weights other than 1",
        ),
        (lambda f: nested(f, replace(f, base=(0.25,))), "a starting score"),
        (
            lambda f: replace(f, members=(*f.members, Member(NonTreeModel("RegressionModel")))),
            "no decision tree (RegressionModel)",
        ),
        (
            lambda f: nested(
                f, replace(f, members=(*f.members, Member(NonTreeModel("Scorecard"))))
            ),
            "no decision tree (Scorecard)",
        ),
    ],
)
def test_what_a_forest_publishes_beside_labels_keeps_its_claim_open(changed, said):
    places, groups, labels, _ = CASES[0]
    people = people_in(places)
    whole = labelled_forest(places, groups, labels, claim(1.4, f"{FOREST}, label_epsilon=0.7"))
    forest = forest_of(changed(whole), people)
    findings = judge_claim(forest, people, ())
    assert any(said in doubt for doubt in findings.doubts)
    assert relied_on(forest, findings) is forest


def test_tables_under_noise_are_tables_of_people():
    places, groups, labels, _ = CASES[3]
    findings, people = found(places, groups, labels, claim(1.4, f"{FOREST}, label_epsilon=0.7"))
    worlds = tables_under_noise(findings.labels, people.counts, people.truth)
    assert (worlds.reached_low >= 0).all()
    assert (worlds.reached_high <= worlds.counts[:, None]).all()
    assert not worlds.certain.any()


@pytest.mark.parametrize(
    "known",
    [
        {"accuracy": True},
        {"accuracy": True, "marginal": True},
        {"leaf": LeafLevel.COUNTS},
        {"leaf": LeafLevel.RATES},
    ],
)
def test_a_known_accuracy_or_counts_of_leaves_prove_values_that_noisy_labels_alone_do_not(known):
    """Leaves are pure: whoever knows the accuracy (100 %) or their counts knows every value, and nobody is cleared."""
    places, groups = [[20, 0], [0, 20]], [(0, 1), (0, 1)]
    people = people_in(places)
    said = claim(1.0, f"{FOREST}, label_epsilon=0.5")
    forest = labelled_forest(places, groups, [(0, 1), (0, 1)], said)
    assert measured(
        call("certain_disclosure"), run(forest, people, Knowledge(), leaks=()).full.evidence
    ).reading == exactly(0)
    evidence = run(forest, people, Knowledge(**known), leaks=()).full.evidence
    assert isinstance(measured(call("certain_disclosure"), evidence).reading, Undetermined)
    assert isinstance(evidence.posterior, Undetermined)


def labels_of_parts(parts, size=4):
    """Return two trees over so many parts of the people, of which no leaf ties one to another."""
    places = [[size // 2, size // 2]] * (4 * parts)
    first = [2 * part + row for part in range(parts) for row in (0, 0, 1, 1)]
    second = [2 * part + column for part in range(parts) for column in (0, 1, 0, 1)]
    groups = [tuple(first), tuple(second)]
    drawn = [tuple(leaf % 2 for leaf in range(2 * parts))] * 2
    findings, people = found(places, groups, drawn, claim(1.0, f"{FOREST}, label_epsilon=0.5"))
    return findings.labels, people


def test_the_work_of_all_parts_counts_together():
    labels, people = labels_of_parts(30)
    noise = [LabelNoise(0.5, LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC)] * 2
    prior = np.full(2, 0.5)
    until = work_clock(10.0)
    whole = posterior_of_trees(labels, people.counts, prior, noise, until)
    assert not isinstance(whole, Undetermined)
    spent = until.meter.spent
    assert 0 < spent < 10
    short = posterior_of_trees(labels, people.counts, prior, noise, work_clock(spent / 2))
    assert short == module.OUT_OF_TIME
    ends = posterior_ends(labels, prior, noise)
    assert (whole >= ends.low - 1e-12).all()
    assert (whole <= ends.high + 1e-12).all()


def by_pairs(labels, prior, noise, open_shift):
    """Return the ends by the shift of every pair of classes, as each tree's label gives it: a loop over all of them."""
    classes, low, high = len(prior), [], []
    for leaves in labels.leaf_of_profile.T:
        for ends, sign in ((low, 1), (high, -1)):
            row = []
            for code in range(classes):
                total = prior[code]
                for other in range(classes):
                    if other == code:
                        continue
                    shift = sign * open_shift
                    for leaf, drawn in zip(leaves, noise, strict=True):
                        if leaf < 0:
                            continue
                        label = labels.labels[leaf]
                        gains = other if sign > 0 else code
                        loses = code if sign > 0 else other
                        steps = 2 if label == gains else 0 if label == loses else 1
                        shift += sign * steps * drawn.scale
                    total += prior[other] * np.exp(shift)
                row.append(prior[code] / total)
            ends.append(row)
    return np.array(low), np.array(high)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("open_shift", [0.0, 0.7])
def test_the_ends_of_a_posterior_are_those_of_every_pair_of_classes(classes, open_shift):
    random = np.random.default_rng(classes)
    counts = random.integers(1, 4, (6, classes)).tolist()
    groups = [(0, 0, 1, 1, 2, 2), (0, 1, 0, 1, 0, 1), (0, 1, 2, 2, 1, 0)]
    drawn = [tuple(random.integers(0, classes, max(group) + 1).tolist()) for group in groups]
    findings, _ = found(counts, groups, drawn, claim(1.5, f"{FOREST}, label_epsilon=0.5"))
    labels = findings.labels
    labels = replace(
        labels, leaf_of_profile=np.where(np.eye(3, 6, dtype=bool), -1, labels.leaf_of_profile)
    )
    noise = [LabelNoise(epsilon, LabelMechanism.EXPONENTIAL) for epsilon in (0.5, 1.0, 0.25)]
    prior = random.dirichlet(np.ones(classes))
    ends = posterior_ends(labels, prior, noise, open_shift)
    low, high = by_pairs(labels, prior, noise, open_shift)
    assert ends.low == pytest.approx(low, rel=1e-12)
    assert ends.high == pytest.approx(high, rel=1e-12)


def test_ends_of_many_classes_take_room_for_each_class_and_not_for_each_pair():
    classes, people = 150, 2_000
    labels = LeafLabels(
        labels=np.arange(4),
        counts=np.ones((4, classes)),
        leaf_of_profile=np.arange(people)[None, :] % 4,
        trees=np.zeros(4, dtype=np.intp),
        nodes=np.arange(4),
    )
    noise = [LabelNoise(0.5, LabelMechanism.EXPONENTIAL)]
    tracemalloc.start()
    posterior_ends(labels, np.full(classes, 1 / classes), noise)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 8 * people * classes


def tables_of_true_labels(places, groups, labels):
    """Yield every table of people, by place and class, that keeps the labels which are the commonest in this one."""
    sizes, classes = [sum(counts) for counts in places], len(places[0])
    ways = [
        [way for way in itertools.product(range(size + 1), repeat=classes) if sum(way) == size]
        for size in sizes
    ]
    true = [
        (of_place, leaf, drawn[leaf])
        for of_place, drawn in zip(groups, labels, strict=True)
        for leaf, counts in enumerate(merged(places, of_place))
        if counts[drawn[leaf]] == max(counts)
    ]
    for table in itertools.product(*ways):
        if all(
            merged(table, of_place)[leaf][label] == max(merged(table, of_place)[leaf])
            for of_place, leaf, label in true
        ):
            yield np.array(table)


@pytest.mark.parametrize("seed", seeds(40, quick=range(6)))
def test_what_is_possible_otherwise_is_so_in_a_table_that_keeps_true_labels(seed):
    random = np.random.default_rng(seed)
    classes = 2 + seed % 2
    places = [
        random.multinomial(3 - seed % 2, np.ones(classes) / classes).tolist() for _ in range(4)
    ]
    groups = [(0, 0, 1, 1), (0, 1, 0, 1)]
    labels = [tuple(int(np.argmax(c)) for c in merged(places, of_place)) for of_place in groups]
    findings, people = found(places, groups, labels, claim(1.0, f"{FOREST}, label_epsilon=0.5"))
    worlds = tables_under_noise(findings.labels, people.counts, people.truth)
    every = np.array(list(tables_of_true_labels(places, groups, labels)))
    assert (worlds.reached_low >= every.min(axis=0)).all()
    assert (worlds.reached_high <= every.max(axis=0)).all()


def test_a_tied_leaf_is_kept_by_somebody_else_who_changes_too():
    """Nobody of the first place can change alone, as leaf (0, 3) is tied; with one of the last place it stays tied."""
    places, groups = [[2, 0], [6, 3], [6, 3], [2, 4]], [(0, 0, 1, 1), (0, 1, 1, 0)]
    labels = [(0, 0), (0, 0)]
    assert merged(places, groups[1])[0] == [4, 4]
    findings, people = found(places, groups, labels, claim(0.2, f"{FOREST}, label_epsilon=0.1"))
    worlds = tables_under_noise(findings.labels, people.counts, people.truth)
    assert worlds.reached_low[0].tolist() == [1, 0]
    assert worlds.reached_high[0].tolist() == [2, 1]
