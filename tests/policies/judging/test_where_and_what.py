"""Where a clause is judged, of which models, and what is written of the place: the parts by themselves."""

from dataclasses import replace

import numpy as np

from tests.kit.forests import by_sex, forest
from tests.kit.small_audits import evidence_of, flat_tree, pack_of, people_of
from treewarden.audit.measures import MeasureCall, PerPlace
from treewarden.audit.reading import Spot, exactly
from treewarden.policies.judging import clause_evaluation
from treewarden.policies.judging.applicability import kinds_of, why_not
from treewarden.policies.judging.clause_evaluation import Locations
from treewarden.policies.judging.decision import Decision, LeafNames
from treewarden.policies.judging.finding import FindingKind, _nowhere, _place, doubt, of_atom
from treewarden.policies.pack import read_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.ensemble import Combination, Member
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Node, Tree

TREE = flat_tree([[14, 6], [1, 8]])


def clauses(*measures):
    text = "\n".join(
        f'[[clause]]\nid = "{name}"\nmeasure = "{name}"\nrule = "at_most"\nlimit = {limit}'
        for name, limit in measures
    )
    return read_pack(f'name = "p"\nversion = "1"\ntitle = "P"\n{text}'.encode(), "p.toml").clauses


def test_an_average_of_sums_may_be_a_forest_or_boosted():
    summed = forest(by_sex("yes", "no"), by_sex("no", "yes"), combination=Combination.SUM)
    outer = replace(summed, members=(Member(summed),), combination=Combination.AVERAGE)
    assert kinds_of(outer) == {"ensemble", "forest", "boosted"}


def test_of_another_secret_what_is_about_the_target_alone_does_not_apply():
    disclosed, file = clauses(("label_disclosure", 0.9), ("side_leaks", 0))
    assert "the secret is 'age'" in why_not(disclosed, TREE, "age")
    assert why_not(disclosed, TREE) == ""
    assert why_not(file, TREE, "age") == ""
    (number,) = clauses(("value_disclosure", 0.9))
    assert "the secret is 'age'" in why_not(number, TREE, "age")


def test_a_person_is_placed_in_the_first_tree_in_which_they_stop_also_at_its_root():
    stops = np.array([[-1, 0, 5, -1], [3, 2, -1, -1]])
    assert clause_evaluation._first_trees(stops, np.arange(4)).tolist() == [1, 0, 0, 0]


def leaves_read(stops, counts):
    """Return whether what is read of people can be gathered by leaf, where they stop so and are so many."""
    people = people_of(TREE)
    evidence = evidence_of(TREE, people)
    evidence = replace(
        evidence,
        forest=replace(evidence.forest, stops=np.array([stops])),
        population=replace(people, counts=np.array(counts)),
    )
    both = np.arange(2)
    places = Locations("leaf", np.array([1, 2]), np.zeros(2, dtype=np.intp))
    read = PerPlace(both, np.array([0.1, 0.2]), np.array([0.3, 0.4]))
    worst = clause_evaluation._Worst(2, is_low=False)
    return clause_evaluation._from_profiles(read, evidence, places, worst)


def test_leaves_are_judged_by_people_only_where_everybody_who_is_there_stops_in_one():
    assert leaves_read([1, 2], [20.0, 9.0])
    assert not leaves_read([-1, 2], [1.0, 9.0])
    assert leaves_read([-1, 2], [0.0, 9.0])


def test_without_a_table_the_people_of_one_tree_are_judged_by_their_own_leaf():
    evidence = evidence_of(TREE, replace(people_of(TREE), is_absent=True))
    places = clause_evaluation.places_of("profile", evidence)
    low, high = clause_evaluation.ends_at(MeasureCall("k_anonymity"), evidence, places)
    assert low.tolist() == high.tolist() == [20, 9]


def test_a_tree_of_one_leaf_has_people_in_it_for_a_waiver_to_name():
    root = Node(0, "root", None, (), score="c0", records=5.0, class_counts=(4.0, 1.0))
    evidence = evidence_of(Tree((root,), (), "illness", ("c0", "c1")))
    names = LeafNames(evidence)
    assert names.with_people == {names.fingerprint_of(Spot("leaf", 0, 0.0, 1.0))} != {""}


def test_a_requirement_says_where_it_is_judged():
    (clause,) = clauses(("confidence", 0.5))
    found = clause_evaluation.ClauseEvaluation(PolicyVerdict.PASS, exactly(0.25))
    assert of_atom(clause, found, ()).requirement.scope == ""
    assert (
        of_atom(clause.model_copy(update={"scope": "leaf"}), found, ()).requirement.scope == "leaf"
    )


def test_findings_of_other_releases_are_not_those_of_the_model():
    own = doubt(FindingKind.NOTHING_JUDGED, "something is wrong")
    pack = pack_of(("k_anonymity", "at_least", 5))
    decision = Decision(PolicyVerdict.FAIL, (own, replace(own, of="release 2")), pack)
    assert decision.own_findings == (own,)


def test_the_place_of_a_leak_has_both_ends_of_what_was_read():
    leak = Leak(LeakKind.RAW_RECORDS, "line 3", "records", 3.0)
    evidence = replace(evidence_of(TREE), leaks=(leak,))
    place = _place(evidence, Spot("file", 0, 0.0, 1.0, "a note"), LeafNames(evidence))
    assert (place.kind, place.index, place.low, place.high) == ("file", 0, 0.0, 1.0)
    assert (place.path, place.note, place.line) == ("line 3", "a note", None)


def test_people_who_stop_nowhere_known_are_placed_at_the_root_without_a_path():
    place = _nowhere(evidence_of(TREE), Spot("profile", 1, 0.25, 0.75, tree=1))
    assert (place.kind, place.index, place.node, place.tree) == ("profile", 1, 0, 1)
    assert (place.low, place.high, place.name, place.path) == (0.25, 0.75, "", "")
