"""A glance reads what a full audit reads of leaves and file; a file alone passes what no table could show worse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.kit.small_audits import auditor, flat_tree, pack_of, people_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.leaf_only_audit import glance, glance_at_file
from treewarden.audit.measures import LeafMeasure, call, measures
from treewarden.audit.population.file_only_population import (
    MAYBE_WEIGHTS,
    MIXED_BY_WEIGHTS,
    NO_TABLE,
    NOT_ALL,
    STAY,
    said_of,
)
from treewarden.audit.reading import Interval, Undetermined
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Quality

counts = st.lists(
    st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=2, max_size=4
)


@given(counts, st.sampled_from(sorted(shipped_packs())))
@example([[0, 0, 1], [0, 0, 1]], "accurate")  # each value of the column is one person's
def test_what_it_reads_is_what_an_audit_reads(leaves, name):
    tree, pack = flat_tree(leaves), load_pack(name)
    people = people_of(tree)
    brief = glance(tree, people, Knowledge(), calls(pack), leaks=())
    whole = auditor(people, pack)(tree)
    assert brief.full.readings.items() <= whole.full.readings.items()
    if judge(brief, pack).verdict is PolicyVerdict.FAIL:
        assert judge(whole, pack).verdict is PolicyVerdict.FAIL


def test_nothing_passes_at_a_glance_where_an_estimate_is_asked_for():
    tree = flat_tree([[50, 50, 50], [60, 50, 40]])
    pack = pack_of(("k_anonymity", "at_least", 5), ("confidence", "at_most", 0.9))
    people = people_of(tree)
    assert judge(auditor(people, pack)(tree), pack).verdict is PolicyVerdict.PASS
    brief = glance(tree, people, Knowledge(), calls(pack), leaks=())
    assert judge(brief, pack).verdict is PolicyVerdict.UNDETERMINED


OF_LEAVES = sorted(name for name, each in measures().items() if isinstance(each, LeafMeasure))
LENIENT = pack_of(
    ("k_anonymity", "at_least", 5),
    ("distinct_diversity", "at_least", 2),
    ("label_disclosure", "at_most", 0.9),
    ("cl_diversity", "below", 10),
)
cells = st.lists(
    st.lists(st.integers(0, 30), min_size=2, max_size=3).filter(any), min_size=2, max_size=4
).filter(lambda leaves: len({len(leaf) for leaf in leaves}) == 1)


def counted(leaves):
    """Return a tree in a format that holds rows beside weights, so that its counts are people."""
    return replace(flat_tree(leaves), format="sklearn")


def alone(model, pack=LENIENT, leaks=()):
    return glance_at_file(model, Knowledge(), calls(pack), leaks)


def read(model, name):
    return alone(model).full.measured(name).reading


@given(cells)
@example([[20, 10], [30, 30]])
@example([[1, 1], [7, 0]])  # nothing that weights could have moved
def test_counts_of_people_are_read_as_with_their_table_but_for_mixed_leaves(leaves):
    tree = counted(leaves)
    with_table = glance(tree, people_of(tree), Knowledge(), calls(LENIENT), ()).full
    is_mixed = any(sum(leaf) != sum(map(bool, leaf)) > 1 for leaf in leaves)
    for name in OF_LEAVES:
        wanted, measure = call(name), measures()[name]
        known = with_table.readings.get(wanted)
        if known is None:
            continue
        taken = alone(tree).full.readings[wanted].reading
        if not is_mixed or name in ("k_anonymity", "distinct_diversity", "absent_values"):
            assert taken == known.reading
        else:
            assert taken.low <= known.reading.low
            assert known.reading.high <= taken.high
            at = (
                (taken.low, measure.limits[0])
                if measure.risk == "low"
                else (taken.high, measure.limits[1])
            )
            assert at[0] == at[1]


def test_weights_that_add_up_to_the_records_of_a_leaf_pass_no_check_of_its_classes():
    decision = judge(alone(counted([[17, 16], [16, 17]])), LENIENT)
    by_measure = {finding.clause.split("-")[1]: finding for finding in decision.findings}
    passed = {name for name, each in by_measure.items() if each.verdict is PolicyVerdict.PASS}
    assert passed == {"k_anonymity", "distinct_diversity"}
    assert by_measure["label_disclosure"].places[-1].note == MIXED_BY_WEIGHTS


@given(cells, st.randoms(use_true_random=False))
def test_sums_of_weights_are_never_read_as_better_than_their_people(leaves, chance):
    weighed = [[count * chance.choice((1, 2, 7)) for count in leaf] for leaf in leaves]
    file, people = flat_tree(weighed), flat_tree(leaves)
    truth = glance_at_file(replace(people, format="sklearn"), Knowledge(), ()).full.readings
    for asked, taken in glance_at_file(file, Knowledge(), ()).full.readings.items():
        known = truth[asked].reading
        if asked.measure in OF_LEAVES and isinstance(taken.reading, Interval):
            assert isinstance(known, Interval)
            assert taken.reading.low <= known.low
            assert known.high <= taken.reading.high


@given(cells, st.sampled_from(sorted(shipped_packs())))
def test_no_pack_that_ships_is_passed_without_people(leaves, name):
    pack = load_pack(name)
    verdict = judge(alone(counted(leaves), pack), pack).verdict
    asks_people = any(
        each.severity == "error" and not isinstance(measures()[each.measure], LeafMeasure)
        for each in pack.clauses
        if not measures()[each.measure].is_of_file
    )
    assert verdict is not PolicyVerdict.PASS or not asks_people


def test_a_leaf_of_one_fails_whatever_else_is_unknown():
    tree = flat_tree([[20, 20], [1, 0], [9, 8]])
    nodes = [
        replace(node, records=None, class_counts=None) if node.index == 3 else node
        for node in tree.nodes
    ]
    decision = judge(alone(replace(tree, nodes=tuple(nodes))), LENIENT)
    assert decision.verdict is PolicyVerdict.FAIL
    assert decision.findings[0].places[0].node == 2
    assert decision.findings[0].reading == Interval(1.0, 1.0)


def test_large_counts_that_may_be_weights_pass_nothing():
    decision = judge(alone(flat_tree([[200, 200], [300, 300]])), LENIENT)
    assert {each.verdict for each in decision.findings} == {PolicyVerdict.UNDETERMINED}


def test_large_leaves_of_people_pass_checks_of_their_sizes_and_of_which_classes_they_have():
    pack = pack_of(("k_anonymity", "at_least", 5), ("distinct_diversity", "at_least", 2))
    assert judge(alone(counted([[200, 200], [300, 300]]), pack), pack).verdict is PolicyVerdict.PASS


def test_a_pure_leaf_is_pure_under_any_weights():
    assert read(flat_tree([[60, 0], [30, 30]]), "distinct_diversity") == Interval(1.0, 1.0)
    assert read(flat_tree([[60, 0], [30, 30]]), "label_disclosure") == Interval(1.0, 1.0)


@pytest.mark.parametrize("quality", [each for each in Quality if each not in ("exact", "derived")])
def test_numbers_that_are_no_people_tell_nothing(quality):
    tree = replace(counted([[1, 0], [30, 30]]), quality=quality)
    assert isinstance(read(tree, "k_anonymity"), Undetermined)


def test_counts_that_were_derived_tell_sizes_but_no_classes():
    tree = replace(counted([[1, 0], [30, 30]]), quality=Quality.DERIVED)
    assert read(tree, "k_anonymity") == Interval(1.0, 1.0)
    assert isinstance(read(tree, "label_disclosure"), Undetermined)


def test_records_that_stop_above_the_leaves_leave_the_counts_open():
    tree = counted([[20, 20], [30, 30]])
    root = replace(tree.root, records=101.0, class_counts=(51.0, 50.0))
    said = said_of(replace(tree, nodes=(root, *tree.nodes[1:])))
    assert said.doubt == STAY


@pytest.mark.parametrize("resampled", [True, None])
def test_draws_of_a_sample_tell_nothing(resampled):
    tree = counted([[1, 0], [30, 30]])
    forest = _forest(tree, resampled)
    assert isinstance(read(forest, "k_anonymity"), Undetermined)


def test_trees_that_are_known_to_be_grown_on_everybody_are_read():
    forest = _forest(counted([[20, 10], [30, 30]]), False)
    assert read(forest, "k_anonymity") == Interval(30.0, 30.0)
    assert read(_forest(flat_tree([[1, 2], [30, 30]]), False), "k_anonymity") == Interval(1.0, 3.0)


@pytest.mark.parametrize("scope", ["leaf", "profile", "tree", "model"])
@pytest.mark.parametrize(
    "asked",
    [
        'measure = "k_anonymity"\nrule = "at_least"\nlimit = 5',
        'all = [ { measure = "k_anonymity", rule = "at_least", limit = 5 } ]',
    ],
)
def test_the_worst_leaf_fails_a_clause_wherever_that_is_judged(asked, scope):
    said = (
        f'name = "p"\nversion = "1"\ntitle = "P"\n[[clause]]\nid = "k"\n{asked}\nscope = "{scope}"'
    )
    pack = read_pack(said.encode(), "p.toml")
    finding = judge(alone(flat_tree([[2, 1], [200, 200]]), pack), pack).findings[0]
    assert finding.verdict is PolicyVerdict.FAIL
    is_atomic = finding.requirement.limit is not None
    assert finding.reading == (Interval(1.0, 3.0) if is_atomic else Interval(1.0, 1.0))
    assert judge(alone(flat_tree([[9, 8]] * 2), pack), pack).verdict is PolicyVerdict.UNDETERMINED


@pytest.mark.parametrize(
    ("form", "verdict"), [("any", PolicyVerdict.UNDETERMINED), ("all", PolicyVerdict.FAIL)]
)
def test_who_is_in_which_leaves_of_several_trees_is_not_known(form, verdict):
    parts = """[ { measure = "k_anonymity", rule = "at_least", limit = 10 },
        { measure = "distinct_diversity", rule = "at_least", limit = 2 } ]"""
    said = f'''name = "p"\nversion = "1"\ntitle = "P"\n[[clause]]\nid = "each"
        {form} = {parts}\nscope = "profile"'''
    pack = read_pack(said.encode(), "p.toml")
    large, mixed = counted([[20, 0], [20, 20]]), counted([[3, 2], [37, 18]])
    assert judge(alone(_forest(large, False), pack), pack).verdict is (
        PolicyVerdict.PASS if form == "any" else PolicyVerdict.FAIL
    )
    both = replace(_forest(large, False), members=(Member(large), Member(mixed)))
    assert judge(alone(both, pack), pack).verdict is verdict


def test_what_needs_people_says_so():
    audit = alone(counted([[20, 20], [30, 30]]))
    assert audit.full.measured("certain_disclosure").reading == Undetermined(NO_TABLE)


def test_what_stands_beside_the_trees_is_judged():
    pack = pack_of(("side_leaks", "at_most", 0))
    leak = Leak(LeakKind.PERSON, "line 2", "a name")
    assert judge(alone(flat_tree([[3, 3], [4, 4]]), pack), pack).verdict is PolicyVerdict.PASS
    assert (
        judge(alone(flat_tree([[3, 3], [4, 4]]), pack, (leak,)), pack).verdict is PolicyVerdict.FAIL
    )


def test_why_counts_are_not_believed_is_told():
    assert said_of(flat_tree([[20, 20], [30, 30]])).doubt == MAYBE_WEIGHTS
    tree = counted([[20, 20], [30, 30]])
    bare = tuple(replace(node, class_counts=None) for node in tree.nodes)
    assert said_of(replace(tree, nodes=bare)).doubt == NOT_ALL
    assert said_of(tree).doubt == ""
    assert np.array_equal(said_of(tree).population.counts, [40, 60])


def _forest(tree, resampled):
    return Ensemble(
        (Member(tree),),
        Combination.AVERAGE,
        tree.features,
        tree.target,
        tree.classes,
        sampling=TreeSampling(resampled),
    )


def test_what_is_not_known_is_a_place_of_its_own():
    tree = flat_tree([[1, 0], [200, 200]])
    finding = judge(alone(tree), LENIENT).findings[0]
    assert finding.reading == Interval(1.0, 1.0)
    assert [place.node for place in finding.places] == [1, 0]
    assert finding.places[1].note == MAYBE_WEIGHTS


def test_leaves_that_are_not_sure_are_no_evidence_for_anybody_else():
    assert isinstance(alone(flat_tree([[9, 9], [8, 8]])).full.evidence.leaves, Undetermined)
    assert not isinstance(alone(counted([[9, 9], [8, 8]])).full.evidence.leaves, Undetermined)
