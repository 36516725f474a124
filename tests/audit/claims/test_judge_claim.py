"""What voids a claim, what leaves it open, and what is never believed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.judges.drawn_labels import (
    WORDS,
    claim,
    exponential,
    flips,
    labelled_tree,
    outputs,
    people_in,
)
from tests.kit.small_audits import flat_tree
from treewarden.audit.claims.judge_claim import judge_claim, posterior_of_labels, relied_on
from treewarden.audit.claims.result import ClaimOutcome, judge_findings
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call, measured
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import RecordOrder
from treewarden.audit.population.record_linkage import lookalike_ids
from treewarden.audit.population.table_counts import RowWeights, Weights
from treewarden.audit.population.target import Contributions
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.run import run
from treewarden.policies.pack import read_pack
from treewarden.ppdm_models.errors import PolicyError
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
    people = replace(people_in(LEAVES), rows=RowWeights(Weights.FREQUENCIES))
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
    assert any("look taken from this table" in doubt for doubt in found.doubts) is is_doubted
    public = replace(claim(0.5), bounds=(("age", float(low), float(high)),))
    doubts = numeric([18, 30, 90], public).doubts
    assert any("said to be public" in doubt for doubt in doubts) is is_doubted
    assert len(doubts) == is_doubted


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
    with pytest.raises(ValueError, match="unknown key"):
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
    own = claim(0.1, f"{WORDS}, unit=record, delta=1e-07, label_epsilon=0.05, seed=known")
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


@pytest.mark.parametrize(
    ("prior", "leaves", "labels"),
    [
        ((0.5, 0.5), [[3, 2], [1, 0]], [1, 0]),
        ((0.8, 0.2), [[3, 2], [1, 0]], [1, 0]),
        ((0.5, 0.3, 0.2), [[2, 1, 1], [1, 0, 0], [0, 2, 1]], [2, 0, 1]),
        ((0.1, 0.2, 0.3, 0.4), [[2, 1, 1, 0]], [3]),
    ],
)
@pytest.mark.parametrize(
    ("mechanism", "drawn"),
    [
        (LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC, flips),
        (LabelMechanism.EXPONENTIAL_MONOTONIC, exponential),
    ],
)
def test_the_posterior_is_bayes_rule_over_every_table(prior, leaves, labels, mechanism, drawn):
    found = findings(claim(0.7), leaves, labels)
    shares = np.array(prior)
    got = posterior_of_labels(found.labels, shares, 0.7, mechanism)
    for leaf, counts in enumerate(leaves):
        size, weight = sum(counts), np.zeros(len(shares))
        for table in np.ndindex(*(len(shares),) * size):
            counted = [table.count(code) for code in range(len(shares))]
            weight[table[0]] += np.prod(shares[list(table)]) * drawn(counted, 0.7)[labels[leaf]]
        assert got[leaf] == pytest.approx(weight / weight.sum(), abs=1e-12)


def test_a_leaf_of_too_many_people_of_three_classes_has_the_bounds_of_the_claim():
    leaves = [[900, 500, 300], [5, 4, 3]]
    evidence = audited(claim(0.5), leaves, [0, 1])
    label = 1 / (1 + 2 * np.exp(-2 * 0.5))  # the label against the two others, all alike before
    other = 1 / (
        1 + 1 + np.exp(-0.5)
    )  # never likelier than the label, e^0.5 times as likely as the third
    assert evidence.posterior.high[0] == pytest.approx([label, other, other])
    small = audited(claim(0.5), [[9, 5, 3], [5, 4, 3]], [0, 1]).posterior
    assert small.high == pytest.approx(small.low)


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


# Claims whose parts contradict each other, or the table.


PRIVATE = "mechanism=permute-and-flip-monotonic, splits=private, bounds=public"


@pytest.mark.parametrize(("spent", "is_open"), [(0.5, True), (0.4, False)])
def test_splits_chosen_from_records_need_a_part_of_epsilon(spent, is_open):
    found = findings(claim(0.5, f"{PRIVATE}, label_epsilon={spent}"))
    assert any("nothing is left for the splits" in doubt for doubt in found.doubts) is is_open
    assert isinstance(reading(found), Undetermined) is is_open


def test_labels_of_independent_splits_spend_all_of_epsilon():
    found = findings(claim(0.5, f"{WORDS}, label_epsilon=0.01"))
    assert "the labels spend 0.01 of the epsilon of 0.5" in reading(found).reason
    assert reading(findings(claim(0.5, f"{WORDS}, label_epsilon=0.5"))) == exactly(0.5)


@pytest.mark.parametrize(
    ("leaves", "labels"),
    [
        ([[160, 0], [3, 160]], [1, 0]),
        # one impossible label among many whose losses hide it in the sum
        ([[40, 0], *[[3, 1]] * 900], [1, *[0] * 800, *[1] * 100]),
    ],
)
def test_labels_that_the_mechanism_would_hardly_draw_leave_a_claim_open(leaves, labels):
    found = findings(claim(1.0), leaves, labels)
    assert not found.is_refuted_by_test(0.001)
    assert "the table is not the training table" in reading(found).reason
    forest = forest_of(labelled_tree(leaves, labels, claim(1.0)), people_in(leaves))
    assert relied_on(forest, found) is forest
    said = reading(findings(claim(1.0), leaves, labels), level=0.0)
    assert isinstance(said, Undetermined)


def test_what_is_not_said_of_the_unit_may_be_stated_and_what_is_said_may_not():
    own = read_claim(claim(1.0, f"unit=record, {WORDS}").words, "the file")
    with pytest.raises(ValueError, match="the file says record"):
        read_claim("unit=person", "its owner", own)
    assert read_claim("unit=record", "its owner", own).words == own.words
    assert "unit=record" in claim(1.0).words  # what is not said is judged as a record


def by_person(persons, said):
    """Return what is found of records of these persons, which follow the leaves and classes in order."""
    people = people_in(LEAVES)
    truth = people.truth.astype(int)
    profiles = np.repeat(np.arange(len(truth)), truth.sum(axis=1))
    codes = np.concatenate([np.repeat(np.arange(truth.shape[1]), row) for row in truth])
    if persons is not None:
        ones = np.ones(len(profiles))
        contributions = Contributions(
            np.arange(len(profiles)), profiles, ones, None, None, np.asarray(persons)
        )
        order = RecordOrder(profiles, codes)
        people = replace(people, contributions=contributions, order=order)
    return findings(said, people=people)


def test_a_promise_to_persons_is_not_kept_by_noise_for_one_record():
    many, each = np.arange(35) // 4, np.arange(35)
    of_person = f"unit=person, {WORDS}"
    assert "add --id" in reading(by_person(None, claim(0.5, of_person))).reason
    assert reading(by_person(each, claim(0.5, of_person))) == exactly(0.5)
    found = by_person(many, claim(0.5, of_person))
    assert "one person has 4 records" in found.doubts[0]
    assert judge_findings(found).outcome is ClaimOutcome.REFUTED
    covered = by_person(many, claim(0.5, f"{of_person}, label_epsilon=0.125"))
    assert reading(covered) == exactly(0.5)
    private = of_person.replace("independent", "private")
    spent = by_person(many, claim(0.5, f"{private}, label_epsilon=0.125"))
    assert "nothing is left for the splits" in reading(spent).reason


def test_a_person_with_several_records_loses_what_they_cost_together():
    found = by_person(np.arange(35) // 4, claim(0.5))
    assert reading(found) == exactly(0.5)
    alone = by_person(np.arange(35), claim(0.5))
    lost = reading(found, "epsilon_realised").high
    assert lost > 1 > 0.5 >= reading(alone, "epsilon_realised").high
    first = [LEAVES[0][0] - 4, LEAVES[0][1]]
    label = np.log(flips(LEAVES[0], 0.5)[0] / flips(first, 0.5)[0])
    assert lost >= abs(label)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-10, 1e-12, 1e-15])
def test_rounding_never_refutes_a_small_epsilon(epsilon):
    leaves = [[17, 14], [4, 9], [8, 3], [6, 6]]
    for labels in ([1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 1]):
        found = findings(claim(epsilon), leaves, labels)
        assert not found.is_refuted_by_loss
        assert judge_findings(found).outcome is not ClaimOutcome.REFUTED
    too_much = findings(claim(epsilon, f"{WORDS}, label_epsilon=0.01"), leaves, [1, 0, 1, 0])
    assert too_much.is_refuted_by_loss


def test_what_a_person_lost_is_that_of_the_table_without_all_their_records():
    persons = np.arange(35) // 4
    rows = [
        (leaf, code)
        for leaf, counts in enumerate(LEAVES)
        for code, count in enumerate(counts)
        for _ in range(count)
    ]

    def chance(held):
        found = 1.0
        for leaf, label in enumerate(LABELS):
            counts = [held.count((leaf, code)) for code in range(2)]
            found *= flips(counts, 0.5)[label]
        return found

    lost = [
        abs(
            np.log(
                chance(rows)
                / chance([row for row, of in zip(rows, persons, strict=True) if of != who])
            )
        )
        for who in range(9)
    ]
    found = by_person(persons, claim(0.5)).loss
    assert found.of_persons == pytest.approx(max(lost), abs=1e-12)
    assert found.most_records == 4


@pytest.mark.parametrize("leaves", [[[3, 1], [2, 0]], [[2, 1, 0], [1, 3, 1]]])
def test_labels_that_contradict_a_true_claim_are_as_rare_as_is_said(leaves):
    chances = [
        (findings(claim(0.7), leaves, list(labels)).p_value_of_contradiction, chance)
        for labels, chance in outputs(leaves, 0.7)
    ]
    assert min(p for p, _ in chances) < 0.7
    for level in sorted({p for p, _ in chances}):
        assert sum(chance for p, chance in chances if p <= level) <= level + 1e-12


@pytest.mark.parametrize("measure", ["epsilon_realised", "epsilon_used"])
@pytest.mark.parametrize(
    ("leaves", "labels", "epsilon", "outcome"),
    [
        ([[30, 1]] * 30, [0] * 30, 0.01, ClaimOutcome.REFUTED),
        ([[30, 1]] * 8, [1] * 8, 1.0, ClaimOutcome.UNDETERMINED),
    ],
)
def test_of_a_claim_that_is_false_or_open_nothing_is_measured(
    measure, leaves, labels, epsilon, outcome
):
    found = findings(claim(epsilon), leaves, labels)
    assert judge_findings(found).outcome is outcome
    measured_of = reading(found, measure)
    assert isinstance(measured_of, Undetermined)
    assert measured_of.reason == judge_findings(found).reason


def test_a_delta_above_the_usual_one_does_not_change_what_was_drawn():
    found = findings(claim(0.5, f"{WORDS}, delta=0.01"))
    assert reading(found, "epsilon_realised").high <= 0.5


@pytest.mark.parametrize("level", [0, -1, 1e-300, 1e-9, 0.06, 1, 2, float("nan"), True, "0"])
def test_a_level_that_switches_the_test_off_or_refutes_everything_is_no_policy(level):
    with pytest.raises(PolicyError, match="level"):
        read_pack(policy_of({"level": level}), "p")


@pytest.mark.parametrize("delta", [-1, 0.5, 1, 1.5, float("nan")])
def test_a_delta_that_is_no_probability_is_no_policy(delta):
    with pytest.raises(PolicyError, match="delta"):
        read_pack(policy_of({"delta": delta}), "p")


def test_a_usual_level_is_a_policy():
    for level in (1e-4, 0.01, 0.05):
        assert read_pack(policy_of({"level": level}), "p").clauses


def policy_of(parameters):
    check = {"id": "e", "measure": "epsilon", "rule": "at_most", "limit": 1}
    words = ", ".join(
        f"{name} = {str(value).lower() if isinstance(value, bool | float) else repr(value)}"
        for name, value in parameters.items()
    )
    lines = "\n".join(f"{name} = {value!r}" for name, value in check.items())
    head = 'name = "p"\nversion = "1"\ntitle = "p"\n\n[[check]]\n'
    return f"{head}{lines}\nparameters = {{ {words} }}\n".encode()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("p7", " P7 "),
        ("p7", "p 7"),
        ("01", "1"),
        ("1.0", "1"),
        ("p\u00e9", "pe\u0301"),
        ("p7", "p7\u200b"),
        ("p\uff17", "p7"),
        ("1e0", "1"),
        ("12E+1", "120"),
        ("+1", "1"),
        ("1,001", "1001"),
        ("1'001.50", "1001.5"),
        ("\u0661\u0662", "12"),
        ("p\u0967", "p1"),
        ("7\ufe0f", "7"),
        ("a\u034fb", "ab"),
        ("a\u3164b", "ab"),
        ("a\u2013b", "a-b"),
        ("a\u2212b", "a-b"),
        ("a-b", "ab"),
        ("12-34", "1234"),
        ("12/34", "12-34"),
        ("p0077", "p77"),
        ("p_77", "p77"),
        ("'77", "77"),
        ("Jos\u00e97", "Jose7"),
    ],
)
def test_ids_that_differ_only_in_how_they_are_written_may_be_one_person(one, other):
    rows = [(f"x{n}", f"p{n % 2}", "c0" if n % 3 else "c1") for n in range(40)]
    ids = [one, other, *(row[0] for row in rows[2:])]
    table = pd.DataFrame(rows, columns=["id", "place", "illness"]).assign(id=ids)
    counts = [[0, 0], [0, 0]]
    for _, place, code in rows:
        counts[int(place[1])][int(code[1])] += 1
    model = writers()["treewarden_json"].write(labelled_tree(counts, [0, 0]))
    words = f"epsilon=0.5, unit=person, {WORDS}"
    settings = {
        "sensitive": "illness",
        "policy": "differential-privacy",
        "claims": words,
        "id": "id",
    }
    found = tw.audit(model, table, **settings).to_dict()["claims"][0]
    assert found["outcome"] == "undetermined"
    assert "differ only in how they are written" in found["reason"]
    plain = table.assign(id=[f"x{n}" for n in range(40)])
    assert tw.audit(model, plain, **settings).to_dict()["claims"][0]["outcome"] == "not refuted"


@pytest.mark.parametrize(
    ("one", "other"), [("1e1", "1"), ("-1", "1"), ("1-23", "12-3"), ("p1", "p2"), ("p10", "p1")]
)
def test_ids_of_two_people_are_told_apart(one, other):
    assert lookalike_ids([one, other]) is None
    many = "9" * 40
    assert lookalike_ids([many, f"{many[:-1]}8"]) is None
