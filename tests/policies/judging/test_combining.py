"""Combined clauses, scopes, kinds of models and severities: a slow judge, written apart, says what each must give."""

import random
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import by_sex, forest, stump
from tests.kit.small_audits import audit_model, audit_of, bounds, evidence_of, flat_tree
from tests.kit.tiers import seeds
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.applicability import kinds_of
from treewarden.policies.judging.clause_evaluation import Clauses, leaves_of
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, read_pack
from treewarden.policies.remedies._pruning import met
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.methods.tpp.sanitise import RecordGroups
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Link

HEAD = 'name = "p"\nversion = "1"\ntitle = "P"\n'
PASS, UNDETERMINED, FAIL = PolicyVerdict
MEASURES = {
    "k_anonymity": ("at_least", (3, 6, 9)),
    "label_disclosure": ("at_most", (0.5, 0.7, 0.9)),
    "confidence": ("at_most", (0.6, 0.8)),
}
TREE = flat_tree([[14, 6], [1, 8], [3, 3], [2, 1]])
K5, K10 = (
    f'{{ measure = "k_anonymity", rule = "at_least", limit = {limit} }}' for limit in (5, 10)
)
LABEL = '{ measure = "label_disclosure", rule = "at_most", limit = 0.7 }'
SURE = '{ measure = "confidence", rule = "at_most", limit = 0.9 }'
SURE_ALONE = SURE.strip("{ }").replace(", ", "\n")


def pack(*clauses, head=HEAD):
    text = "\n".join(f'[[clause]]\nid = "{number}"\n{each}' for number, each in enumerate(clauses))
    return read_pack((head + text).encode(), "p.toml")


def found(clause, evidence):
    wanted = pack(clause)
    return judge(audit_of(evidence, wanted), wanted).findings[-1]


def drawn(rng, depth, names):
    if depth == 0 or rng.random() < 0.3:
        name = rng.choice(names)
        rule, limits = MEASURES[name]
        return f'{{ measure = "{name}", rule = "{rule}", limit = {rng.choice(limits)} }}'
    form = rng.choice(["all", "any", "not"])
    if form == "not":
        return f"{{ not = {drawn(rng, depth - 1, names)} }}"
    parts = ", ".join(drawn(rng, depth - 1, names) for _ in range(rng.choice([1, 2, 3])))
    return f"{{ {form} = [ {parts} ] }}"


def audited(rng):
    """Return evidence of some profiles in each of a few leaves, and what each measure reads at each place."""
    leaves, rows, leaf, low, high = [], [], [], [], []
    for number in range(rng.choice([1, 2, 4])):
        counts = [[rng.randint(0, 5), rng.randint(0, 5)] for _ in range(rng.choice([1, 2, 3]))]
        counts = [each for each in counts if sum(each)] or [[1, 2]]
        leaves.append([sum(column) for column in zip(*counts, strict=True)])
        for each in counts:
            rows.append(each)
            leaf.append(number + 1)
            a, b = sorted((rng.choice([0.5, 0.6, 0.7, 0.8, 0.9]), rng.choice([0.5, 0.7, 0.9])))
            low.append([a, 1 - b])
            high.append([b, 1 - a])
    tree = flat_tree(leaves)
    truth = np.array(rows, dtype=float)
    people = Population((), {}, truth.sum(axis=1), np.array(leaf, dtype=np.intp), truth)
    evidence = evidence_of(tree, people, posterior=bounds(low, high))
    own = {
        "k_anonymity": [(sum(each), sum(each)) for each in leaves],
        "label_disclosure": [(max(each) / sum(each),) * 2 for each in leaves],
    }
    sure = [(max(a), max(b)) for a, b in zip(low, high, strict=True)]
    per_leaf = [
        {
            **{name: ends[number] for name, ends in own.items()},
            "confidence": tuple(
                max(e[end] for e, at in zip(sure, leaf, strict=True) if at == number + 1)
                for end in (0, 1)
            ),
        }
        for number in range(len(leaves))
    ]
    per_profile = [
        {**{name: ends[at - 1] for name, ends in own.items()}, "confidence": each}
        for each, at in zip(sure, leaf, strict=True)
    ]
    worst = {
        name: tuple(
            (min if name == "k_anonymity" else max)(each[name][end] for each in per_leaf)
            for end in (0, 1)
        )
        for name in MEASURES
    }
    return evidence, {"leaf": per_leaf, "profile": per_profile, "model": [worst], "tree": [worst]}


def verdict(part, values):
    if part.form == "atom":
        ends = Interval(*map(float, values[part.measure]))
        return rules()[part.rule].judge(ends, part.limit)
    each = [verdict(inner, values) for inner in part.parts]
    if part.form == "not":
        return {PASS: FAIL, FAIL: PASS, UNDETERMINED: UNDETERMINED}[each[0]]
    return max(each) if part.form == "all" else min(each)


@pytest.mark.parametrize("scope", ["leaf", "profile", "model", "tree"])
@pytest.mark.parametrize("seed", seeds(60, quick=15))
def test_a_combination_is_judged_at_every_place_of_its_scope_and_the_worst_counts(seed, scope):
    rng = random.Random(seed)
    evidence, values = audited(rng)
    said = drawn(rng, 3, list(MEASURES))
    clause = f"all = [ {said} ]\nscope = {scope!r}"
    each = [verdict(pack(clause).clauses[0], place) for place in values[scope]]
    finding = found(clause, evidence)
    assert finding.verdict is max(each)
    if scope in ("leaf", "profile"):
        broken = [
            place for place, what in zip(values[scope], each, strict=True) if what is not PASS
        ]
        assert len(finding.places) == len(broken)
        assert all(place.kind == scope for place in finding.places)


@pytest.mark.parametrize("seed", seeds(40, quick=10))
def test_an_atom_reads_the_same_wherever_its_worst_place_decides(seed):
    rng = random.Random(seed)
    evidence, _ = audited(rng)
    for name, (rule, limits) in MEASURES.items():
        atom = f'measure = "{name}"\nrule = "{rule}"\nlimit = {limits[0]}\n'
        plain = found(atom, evidence)
        for scope in ("leaf", "profile", "tree"):
            scoped = found(f"{atom}scope = {scope!r}", evidence)
            assert (scoped.verdict, scoped.reading) == (plain.verdict, plain.reading)


def test_a_small_leaf_may_be_mixed_and_a_pure_one_large_where_either_is_enough():
    clause = f'any = [ {K10}, {LABEL} ]\nscope = "leaf"'
    fine = flat_tree([[40, 0], [3, 3]])
    assert found(clause, evidence_of(fine)).verdict is PASS
    assert found(f"any = [ {K10}, {LABEL} ]", evidence_of(fine)).verdict is FAIL
    broken = found(clause, evidence_of(flat_tree([[40, 0], [3, 3], [5, 0]])))
    assert broken.verdict is FAIL
    (place,) = broken.places
    assert (place.kind, place.node) == ("leaf", 3)
    assert place.note == "k_anonymity 5 records, label_disclosure 100 %"
    assert broken.message.endswith("): 1 leaf fails.")
    assert broken.reading == Interval(1, 1)


def test_places_beyond_those_that_a_report_holds_count_too():
    many = [[3, 3]] * 1200
    clause = f'any = [ {K10}, {LABEL} ]\nscope = "leaf"'
    assert found(clause, evidence_of(flat_tree(many))).verdict is PASS
    # The last leaf is larger than all the others, so that no list of the smallest thousand holds it.
    finding = found(clause, evidence_of(flat_tree([*many, [9, 0]])))
    assert (finding.verdict, len(finding.places)) == (FAIL, 1)


def test_what_could_not_be_told_is_never_a_pass_and_stays_so_under_not():
    evidence = replace(evidence_of(TREE), posterior=Undetermined("the solver stalled"))
    for clause in (f"not = {SURE}", f"all = [ {K5}, {SURE} ]", f"any = [ {K10}, {SURE} ]"):
        finding = found(
            clause.replace(K5, '{ measure = "k_anonymity", rule = "at_least", limit = 3 }'),
            evidence,
        )
        assert finding.verdict is UNDETERMINED
        assert "the solver stalled" in finding.message
    assert found(f"all = [ {K10}, {SURE} ]", evidence).verdict is FAIL
    assert found(f"any = [ {LABEL.replace('0.7', '1')}, {SURE} ]", evidence).verdict is PASS


def test_a_clause_judged_at_every_leaf_tells_what_each_broken_one_reads():
    evidence = evidence_of(TREE, posterior=bounds([[0.95, 0]] * 4, [[1, 0.05]] * 4))
    finding = found(f'{SURE_ALONE}\nscope = "leaf"', evidence)
    assert finding.verdict is FAIL
    assert {(place.low, place.high) for place in finding.places} == {(0.95, 1.0)}


def test_a_clause_judged_at_every_leaf_names_all_of_them_where_nothing_could_be_told():
    evidence = replace(evidence_of(TREE), posterior=Undetermined("the solver stalled"))
    finding = found(f'{SURE_ALONE}\nscope = "leaf"', evidence)
    assert (finding.verdict, len(finding.places)) == (UNDETERMINED, 4)
    assert {(place.low, place.high) for place in finding.places} == {(0.0, 1.0)}


def test_a_finding_of_a_combination_has_no_one_measure_and_names_all_it_was_judged_by():
    finding = found(f"any = [ {K10}, {{ all = [ {LABEL}, {SURE} ] }} ]", evidence_of(TREE))
    requirement = finding.requirement
    assert (requirement.measure, requirement.rule, requirement.limit) == ("any of", "", None)
    assert not finding.is_about_evidence
    assert [each.measure for each in finding.calls] == [
        "k_anonymity",
        "label_disclosure",
        "confidence",
    ]
    assert not finding.is_of_leaves
    assert found(f"all = [ {K10}, {LABEL} ]", evidence_of(TREE)).is_of_leaves
    assert " or (" in finding.requirement.asks
    assert " and (" in finding.requirement.asks


def certain_only_without_labels(clause):
    wanted = pack(clause)
    flat = bounds([[0.5, 0.5]] * 4, [[0.5, 0.5]] * 4)
    return judge(audit_of(evidence_of(TREE, posterior=flat), wanted), wanted)


def test_a_combination_that_rests_on_labels_not_being_believed_is_doubted_and_another_is_not():
    rests = certain_only_without_labels(f"any = [ {K10}, {SURE.replace('0.9', '0.8')} ]")
    assert rests.verdict is UNDETERMINED
    assert rests.findings[0].clause == "labels-believed"
    free = certain_only_without_labels(
        f"any = [ {K5.replace('5', '3')}, {SURE.replace('0.9', '0.8')} ]"
    )
    assert free.verdict is PASS
    told = certain_only_without_labels(
        f"all = [ {SURE.replace('0.9', '0.8')}, {LABEL.replace('0.7', '1')} ]"
    )
    assert told.verdict is PASS


def test_labels_that_are_believed_no_more_than_the_limit_allows_are_not_doubted():
    limit = 8 / 9  # of the second leaf's nine people eight carry its label
    assert certain_only_without_labels(SURE_ALONE.replace("0.9", repr(limit))).verdict is PASS
    below = certain_only_without_labels(SURE_ALONE.replace("0.9", repr(limit - 1e-9)))
    assert below.findings[0].clause == "labels-believed"


def test_labels_are_doubted_by_the_largest_share_that_sampling_weights_let_them_have():
    # Of the people of the leaf three of four have its label, of their weights 12 of 13.
    tree = flat_tree([[3, 1], [5, 5]])
    truth = np.array([[3.0, 0], [0, 1], [5, 5]])
    weight = np.array([4.0, 1.0, 1.0])
    people = Population((), {}, truth.sum(axis=1), np.array([1, 1, 2]), truth, weight=weight)
    flat = bounds([[0.5, 0.5]] * 3, [[0.5, 0.5]] * 3)
    wanted = pack(SURE_ALONE.replace("0.9", "0.8"))
    decision = judge(audit_of(evidence_of(tree, people, posterior=flat), wanted), wanted)
    assert decision.findings[0].clause == "labels-believed"


def test_a_leaf_that_passes_by_certainty_alone_is_doubted_though_another_leaf_would_pass_the_whole():
    # Of the model as a whole "not at least 5" holds by its smallest leaf; the large leaf passes for the estimate only.
    clause = f"any = [ {{ not = {K5} }}, {SURE.replace('0.9', '0.8')} ]\nscope = 'leaf'"
    assert certain_only_without_labels(clause).verdict is UNDETERMINED


K = 'measure = "k_anonymity"\nrule = "at_least"\n'


def test_warnings_and_notes_count_only_for_whom_they_are_asked_of():
    wanted = pack(
        f"{K}limit = 3", f'{K}limit = 5\nseverity = "warning"', f'{K}limit = 30\nseverity = "note"'
    )
    audit = audit_of(evidence_of(TREE), wanted)
    verdicts = {
        severity: judge(audit, wanted.model_copy(update={"fail_on": severity})).verdict
        for severity in ("error", "warning", "note")
    }
    assert verdicts == {"error": PASS, "warning": FAIL, "note": FAIL}
    decision = judge(audit, wanted.model_copy(update={"fail_on": "warning"}))
    assert [each.clause for each in decision.failing] == ["1"]
    assert decision.fail_on == "warning"


def test_a_clause_about_other_models_is_not_judged_and_the_decision_says_why():
    wanted = pack(f"{K}limit = 3", f'{K}limit = 900\nwhen = {{ model = ["forest", "boosted"] }}',
                  f'{K}limit = 900\nwhen = {{ task = "regression" }}')  # fmt: skip
    decision = judge(audit_of(evidence_of(TREE), wanted), wanted)
    assert decision.verdict is PASS
    assert [each.clause for each in decision.findings] == ["0"]
    assert decision.not_judged == (
        ("1", "applies to forests or boosted models only"),
        ("2", "applies to regression models only"),
    )


@pytest.mark.parametrize(
    "other", ["", f'[[clause]]\nid = "w"\n{K}limit = 3\nseverity = "warning"\n']
)
def test_a_policy_in_which_nothing_that_counts_is_about_the_model_never_passes(other):
    wanted = pack(f'{K}limit = 1\nwhen = {{ model = "ensemble" }}\n{other}')
    decision = judge(audit_of(evidence_of(TREE), wanted), wanted)
    assert decision.verdict is UNDETERMINED
    (doubt,) = [each for each in decision.findings if each.is_about_evidence]
    assert doubt.clause == "nothing-judged"
    assert "No required check of the policy applies to" in doubt.message


def test_kinds_of_models_that_a_file_does_not_tell_apart_are_both():
    several = forest(by_sex("yes", "no"), by_sex("no", "yes"))
    averaged = replace(several, combination=Combination.AVERAGE)
    added = replace(several, combination=Combination.SUM)
    boosted = replace(added, link=Link.LOGISTIC)
    assert kinds_of(TREE) == {"tree"}
    assert kinds_of(averaged) == {"ensemble", "forest"}
    assert kinds_of(added) == {"ensemble", "forest", "boosted"}
    assert kinds_of(boosted) == {"ensemble", "boosted"}


def test_a_sum_that_starts_from_a_number_is_boosted():
    several = forest(by_sex("yes", "no"), by_sex("no", "yes"), combination=Combination.SUM)
    assert kinds_of(replace(several, base=(0.5,))) == {"ensemble", "boosted"}
    assert kinds_of(replace(several, base=(0.0,))) == {"ensemble", "forest", "boosted"}


def test_a_clause_that_assumes_knowledge_under_which_nobody_audited_is_undetermined():
    clause = 'measure = "confidence"\nrule = "at_most"\nlimit = 1\nunder = { leaf = "labels" }'
    wanted = pack(f"{K}limit = 3", clause)
    audit = audit_of(evidence_of(TREE), wanted)
    decision = judge(audit, wanted)
    assert decision.verdict is UNDETERMINED
    assert "no audit was made under leaf = labels" in decision.findings[-1].message
    known = replace(audit.full, under="leaf = labels")
    told = judge(Audit((audit.full, known)), wanted)
    assert told.findings[-1].verdict is PASS
    assert told.findings[-1].requirement.under == "leaf = labels"


def test_a_combination_of_leaf_measures_is_held_against_each_group_of_a_table():
    tree = flat_tree([[40, 0], [3, 3]])
    leaves = evidence_of(tree).leaves
    either = pack(f'any = [ {K10}, {LABEL} ]\nscope = "leaf"').clauses[0]
    assert met(either, leaves).tolist() == [True, True]
    both = pack(f"all = [ {K10}, {LABEL} ]").clauses[0]
    assert met(both, leaves).tolist() == [False, False]
    # Over the whole model all leaves have to meet the same: the first way is aimed at.
    whole = pack(f"any = [ {K10}, {LABEL} ]").clauses[0]
    assert met(whole, leaves).tolist() == [True, False]


def test_pruning_asks_of_leaves_what_is_enough_or_what_it_can_do():
    leaves = evidence_of(flat_tree([[40, 0], [3, 3]])).leaves
    enough = pack(f'any = [ {K10}, {SURE} ]\nscope = "leaf"').clauses[0]
    part = pack(f'all = [ {K10}, {SURE} ]\nscope = "leaf"').clauses[0]
    other = pack(f'not = {SURE}\nscope = "leaf"').clauses[0]
    assert met(enough, leaves).tolist() == [True, False]
    assert met(part, leaves).tolist() == [True, False]
    assert met(other, leaves) is None


def test_a_policy_needs_the_measures_of_every_atom():
    wanted = pack(f"any = [ {K10}, {SURE} ]", f"not = {LABEL}")
    assert [each.measure for each in calls(wanted)] == [
        "k_anonymity",
        "confidence",
        "label_disclosure",
    ]


class_groups = [np.array([[40.0, 0.0], [3.0, 3.0]]), np.array([[40.0, 0.0], [5.0, 0.0]])]


@pytest.mark.parametrize(
    ("classes", "lacks"), [(class_groups[0], ""), (class_groups[1], "a group does not meet that")]
)
def test_groups_of_a_table_meet_a_combination_group_by_group(classes, lacks):
    wanted = Clauses(pack(f'any = [ {K10}, {LABEL} ]\nscope = "leaf"', f"any = [ {K10}, {SURE} ]"))
    assert [each.id for each in wanted.judged] == ["0"]
    assert wanted.not_judged == ("1",)
    groups = RecordGroups(classes.sum(axis=1), classes, ("a", "b"), np.arange(2, dtype=np.intp))
    assert leaves_of(groups).records.tolist() == classes.sum(axis=1).tolist()
    assert wanted.lack(groups).endswith(lacks)
    assert bool(wanted.lack(groups)) == bool(lacks)


AGES = [20, 25, 30, 35, 45, 45, 55, 60, 60, 80]
FLU = ["no", "no", "yes", "no", "yes", "yes", "yes", "no", "yes", "yes"]
TABLE = table_of({"age": AGES, "sex": list("FMFMFMFMFM"), "flu": FLU})
MIXED = LABEL.replace("0.7", "0.55")
"""Leaves of the first tree have 5 people, a label true of 60 %; those of the second 6 and 4, one of 50 and 25 %."""


@pytest.mark.parametrize(
    ("scope", "verdict"), [("leaf", PASS), ("tree", PASS), ("model", FAIL), ("profile", FAIL)]
)
def test_in_an_ensemble_every_leaf_tree_and_person_is_a_place_of_its_own(scope, verdict):
    model = forest(by_sex("yes", "no"), stump(50.0, "no", "no"))
    wanted = pack(f"any = [ {K5}, {MIXED} ]\nscope = {scope!r}")
    audit = audit_model(model, TABLE, "flu", calls(wanted), leaks=())
    (finding,) = judge(audit, wanted).findings
    assert finding.verdict is verdict
    if scope == "profile":
        older = np.flatnonzero(audit.full.evidence.stops[1] == 2)
        assert sorted(place.index for place in finding.places) == older.tolist()


def test_a_tree_of_an_ensemble_that_breaks_a_clause_is_its_place():
    model = forest(by_sex("yes", "no"), stump(24.0, "no", "yes"))
    wanted = pack(f"any = [ {K5}, {MIXED} ]\nscope = 'tree'", f"not = {SURE}\nscope = 'tree'")
    audit = audit_model(model, TABLE, "flu", calls(wanted), leaks=())
    broken, unknown = judge(audit, wanted).findings
    (place,) = broken.places
    assert (place.kind, place.index, place.name, place.leaf) == ("tree", 1, "tree 2", "")
    assert place.note.startswith("k_anonymity 1 record, label_disclosure 100 %")
    assert broken.message.endswith("): 1 tree fails.")
    assert unknown.verdict is UNDETERMINED


def test_a_finding_says_of_what_its_clause_asks():
    evidence = evidence_of(TREE)
    scopes = {
        scope: found(f'all = [ {K5} ]\nscope = "{scope}"', evidence).requirement.scope
        for scope in ("leaf", "model")
    }
    assert scopes == {"leaf": "leaf", "model": "model"}
    assert found(f"all = [ {K5} ]", evidence).requirement.scope == ""
