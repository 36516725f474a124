"""Claims of several releases: epsilons add up, and so do the losses of each person, over all outputs and neighbours."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import treewarden as tw
from tests.judges.drawn_labels import WORDS, claim, flips, labelled_tree
from tests.kit.tiers import seeds
from treewarden.audit.claims.result import (
    ClaimOutcome,
    ComposedClaim,
    ReleaseClaim,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.tree.privacy_claim import ClaimUnit

POLICY = """name = "p"
version = "1"
title = "p"

[[check]]
id = "epsilon"
measure = "epsilon"
rule = "at_most"
limit = {limit}
"""


def counted(rows, places, classes=2):
    """Return how many of each class are in each place."""
    leaves = [[0] * classes for _ in range(places)]
    for _, place, code in rows:
        leaves[place][code] += 1
    return leaves


def released(tmp_path, releases, *, claims=None, limit=1, has_key=True, worlds=False, **others):
    """Audit releases, each its rows (person, place, class), labels and the claim of the file, which may be none."""
    models, tables = [], []
    for number, (rows, labels, said) in enumerate(releases):
        leaves = counted(rows, len(labels))
        model, table = tmp_path / f"m{number}.json", tmp_path / f"t{number}.csv"
        model.write_bytes(writers()["treewarden_json"].write(labelled_tree(leaves, labels, said)))
        text = "".join(f"{person},p{place},c{code}\n" for person, place, code in rows)
        table.write_text(f"id,place,illness\n{text}")
        models.append(model)
        tables.append(table)
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(limit=limit))
    earlier = list(zip(models[:-1], tables[:-1], strict=True))
    settings = {"earlier": earlier, "claims": claims, "worlds": worlds, "policy": policy, **others}
    settings |= {"id": "id"} if has_key else {}
    return tw.audit(models[-1], tables[-1], sensitive="illness", **settings)


def people(seed, size=9):
    random = np.random.default_rng(seed)
    classes = [*random.integers(0, 2, size - 2).tolist(), 0, 1]
    return [(n, int(random.integers(2)), code) for n, code in enumerate(classes)]


@pytest.mark.parametrize("seed", seeds(8, quick=(0, 1)))
def test_the_largest_loss_is_that_of_both_files_over_all_who_can_be_missing(tmp_path, seed):
    first, labels = people(seed), ([0, 1], [1, 1])
    moved = [(person, 1 - place, code) for person, place, code in first[4:]]
    result = released(tmp_path, [(first, labels[0], claim(0.5)), (moved, labels[1], claim(0.25))])

    losses = []
    for person, _, _ in first:
        lost = 0.0
        for rows, drawn, epsilon in ((first, labels[0], 0.5), (moved, labels[1], 0.25)):
            without = [row for row in rows if row[0] != person]
            counts = counted(without, 2)
            chances = [flips(c, epsilon)[label] for c, label in zip(counts, drawn, strict=True)]
            whole = [
                flips(c, epsilon)[label] for c, label in zip(counted(rows, 2), drawn, strict=True)
            ]
            lost += math.log(math.prod(whole) / math.prod(chances))
        losses.append(abs(lost))
    found = result.to_dict()["claims"][-1]
    assert found["of"] == "all releases"
    assert found["outcome"] == "not refuted", found["reason"]
    assert found["largest_loss"]["high"] == pytest.approx(max(losses), abs=1e-11)
    assert max(losses) <= 0.75 + 1e-12


def test_epsilons_of_the_same_people_add_up_and_break_a_limit_that_each_meets(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1)), (rows, [1, 1], claim(0.2))]
    assert str(released(tmp_path, files, limit=0.3).verdict) == "PASS"
    result = released(tmp_path, files, limit=0.25)
    assert str(result.verdict) == "FAIL"
    claims = result.to_dict()["claims"]
    assert [(found["of"], found["outcome"]) for found in claims] == [
        ("m0.json", "not refuted"),
        ("m1.json", "not refuted"),
        ("all releases", "not refuted"),
    ]
    assert claims[-1]["words"] == "epsilon=0.3, unit=record"


def test_the_claim_of_each_release_is_stated_in_their_order(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], None), (rows, [1, 1], None)]
    one = released(tmp_path, files, claims=f"epsilon=0.25, {WORDS}")
    assert one.to_dict()["claims"][-1]["words"] == "epsilon=0.5, unit=record"
    each = released(tmp_path, files, claims=f"epsilon=0.25, {WORDS}; epsilon=1, {WORDS}")
    assert each.to_dict()["claims"][-1]["words"] == "epsilon=1.25, unit=record"
    assert str(each.verdict) == "FAIL"
    with pytest.raises(KnowledgeError, match="3 claims for 2 models"):
        released(tmp_path, files, claims="epsilon=1; epsilon=1; epsilon=1")


def test_one_release_without_a_claim_or_a_mechanism_leaves_all_of_them_open(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1)), (rows, [1, 1], None)]
    result = released(tmp_path, files)
    assert str(result.verdict) == "UNDETERMINED"
    last = result.to_dict()["claims"][-1]
    assert last["outcome"] == "undetermined"
    assert last["reason"].startswith("m1.json: the file claims no differential privacy")
    result = released(tmp_path, files, claims="; epsilon=0.1, splits=independent")
    assert "m1.json: the mechanism that drew the labels" in result.to_dict()["claims"][-1]["reason"]


def test_one_void_release_voids_all_of_them(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1)), (rows, [1, 1], claim(0.1, f"{WORDS}, seed=known"))]
    result = released(tmp_path, files, limit=100)
    assert str(result.verdict) == "FAIL"
    assert result.to_dict()["claims"][-1]["outcome"] == "void"
    assert result.to_dict()["readings"]["epsilon"]["high"] == "inf"


def test_without_ids_the_sum_is_only_the_most_that_it_can_be(tmp_path):
    first, other = people(3), people(4)
    files = [(first, [0, 1], claim(0.1)), (other, [1, 1], claim(0.2))]
    result = released(tmp_path, files, has_key=False)
    assert str(result.verdict) == "UNDETERMINED"
    reading = result.to_dict()["readings"]["epsilon"]
    assert (reading["low"], reading["high"]) == (0.2, 0.3)


def test_deltas_add_up_too():
    from tests.audit.claims.test_judge_claim import findings

    found = findings(claim(0.5, f"{WORDS}, delta=6e-07"))
    both = ComposedClaim(
        (ReleaseClaim("a", found), ReleaseClaim("b", found)), Undetermined("-"), is_linked=True
    )
    assert both.judge().outcome is ClaimOutcome.UNDETERMINED
    assert "add up to 1.2e-06" in both.judge().reason
    assert both.judge(delta=2e-6).outcome is ClaimOutcome.NOT_REFUTED


def test_the_posterior_of_all_releases_is_bayes_rule_over_every_table(tmp_path):
    first = people(5, 7)
    second = [(person, (person // 2) % 2, code) for person, _, code in first[1:]]
    labels, epsilons = ([0, 1], [1, 1]), (0.5, 1.5)
    files = [
        (rows, drawn, claim(epsilon))
        for rows, drawn, epsilon in zip((first, second), labels, epsilons, strict=True)
    ]
    result = released(tmp_path, files, limit=2, worlds=True)
    readings = result.to_dict()["readings"]
    assert readings["certain_disclosure"]["low"] == 0
    moved = {person: place for person, place, _ in second}
    places = [(place, moved.get(person, -1)) for person, place, _ in first]
    weight = np.zeros((len(first), 2))
    for table in itertools.product(range(2), repeat=len(first)):
        chance = 1.0
        for release, (drawn, epsilon) in enumerate(zip(labels, epsilons, strict=True)):
            for leaf, label in enumerate(drawn):
                here = [c for c, where in zip(table, places, strict=True) if where[release] == leaf]
                chance *= flips([here.count(0), here.count(1)], epsilon)[label]
        weight[np.arange(len(first)), table] += chance
    posterior = weight / weight.sum(axis=1, keepdims=True)
    true = [float(posterior[person, code]) for person, _, code in first if person in moved]
    assert readings["disclosure"]["high"] == pytest.approx(max(true), abs=1e-9)


def test_releases_that_claim_nothing_are_held_to_nothing(tmp_path):
    rows = people(3)
    result = released(tmp_path, [(rows, [0, 1], None), (rows, [1, 1], None)])
    document = result.to_dict()
    assert document["claims"] == []
    assert document["readings"]["epsilon"]["reason"].startswith("the file claims no differential")


PERSON = f"unit=person, {WORDS}"


def test_promises_to_persons_add_up_where_each_person_has_one_record_in_a_table(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1, PERSON)), (rows[2:], [1, 1], claim(0.2, PERSON))]
    result = released(tmp_path, files, limit=0.3)
    assert str(result.verdict) == "PASS"
    assert result.to_dict()["claims"][-1]["outcome"] == "not refuted"
    assert str(released(tmp_path, files, limit=0.25).verdict) == "FAIL"


def test_promises_to_persons_stay_open_without_ids(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1, PERSON)), (rows, [1, 1], claim(0.2, PERSON))]
    result = released(tmp_path, files, limit=0.3, has_key=False)
    assert str(result.verdict) == "UNDETERMINED"
    assert "add id=COLUMN" in result.to_dict()["claims"][-1]["reason"]


def test_one_file_that_is_given_twice_counts_twice_and_is_named(tmp_path):
    rows = people(3)
    file = (rows, [0, 1], claim(0.1))
    result = released(tmp_path, [file, file], limit=0.3)
    assert result.to_dict()["claims"][-1]["words"] == "epsilon=0.2, unit=record"
    warning = "m0.json and m1.json are the same model: its epsilon counts twice; give it once"
    assert any(warning in said for said in result.warnings)
    other = released(tmp_path, [file, (rows, [1, 1], claim(0.1))], limit=0.3)
    assert not any("the same model" in said for said in other.warnings)


@pytest.mark.parametrize(
    ("leaf", "is_known"), [("labels", True), ("counts", False), ("rates", False)]
)
def test_whoever_knows_counts_of_leaves_knows_more_than_the_noise_of_releases(
    tmp_path, leaf, is_known
):
    rows = people(5, 7)
    files = [(rows, [0, 1], claim(0.5)), (rows, [1, 1], claim(1.5))]
    result = released(tmp_path, files, limit=2, worlds=True, leaf=leaf)
    for name in ("certain_disclosure", "disclosure"):
        assert (result.to_dict()["readings"][name]["low"] is not None) == is_known


def test_promises_to_persons_and_records_add_up_only_where_each_person_has_one_record(tmp_path):
    rows = people(3)
    files = [(rows, [0, 1], claim(0.1, PERSON)), (rows[2:], [1, 1], claim(0.2))]
    result = released(tmp_path, files, limit=0.3)
    assert str(result.verdict) == "PASS"
    assert result.to_dict()["claims"][-1]["words"] == "epsilon=0.3"
    same = [(rows, [0, 1], claim(0.1, PERSON)), (rows, [1, 1], claim(0.2, PERSON))]
    words = released(tmp_path, same, limit=0.3).to_dict()["claims"][-1]["words"]
    assert words == "epsilon=0.3, unit=person"


@pytest.mark.parametrize(
    ("other", "is_one_each", "is_linked", "is_open"),
    [
        (WORDS, True, True, False),
        (WORDS, False, True, True),
        (WORDS, True, False, True),
        (PERSON, False, True, False),
    ],
)
def test_units_that_differ_stay_open_where_persons_may_have_several_records(
    other, is_one_each, is_linked, is_open
):
    from tests.audit.claims.test_judge_claim import findings

    record = findings(claim(0.5))
    person = replace(record, claim=replace(record.claim, unit=ClaimUnit.PERSON))
    second = person if other == PERSON else record
    both = ComposedClaim(
        (ReleaseClaim("a", person, is_one_each), ReleaseClaim("b", second)),
        Undetermined("-"),
        is_linked=is_linked,
    )
    outcome = ClaimOutcome.UNDETERMINED if is_open else ClaimOutcome.NOT_REFUTED
    assert both.judge().outcome is outcome
    assert ("about persons and others about records" in both.judge().reason) is is_open
