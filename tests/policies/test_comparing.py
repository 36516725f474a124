"""What is said of two clauses is true of every verdict they can have: brute force over small readings is the judge."""

import itertools
import random

import pytest

from tests.kit.rows import rows
from tests.kit.tiers import few
from treewarden.audit.measures import call
from treewarden.audit.reading import Interval
from treewarden.policies.comparing import Strictness, compared, part_as_strict, stricter
from treewarden.policies.pack import read_pack
from treewarden.policies.rules import rules
from treewarden.policies.verdict import PolicyVerdict

HEAD = 'name = "p"\nversion = "1"\ntitle = "P"\n'
EQUAL, STRICTER, LOOSER, DIFFERENT = Strictness


def pack(*clauses, head=HEAD):
    text = "\n".join(f'[[clause]]\nid = "{number}"\n{each}' for number, each in enumerate(clauses))
    return read_pack((head + text).encode(), "p.toml")


def clause(text):
    return pack(text).clauses[0]


def atom(measure, rule, limit, more=""):
    return f'measure = "{measure}"\nrule = "{rule}"\nlimit = {limit}\n{more}'


def inline(measure, rule, limit):
    return f'{{ measure = "{measure}", rule = "{rule}", limit = {limit} }}'


K = atom("k_anonymity", "at_least", 10)
CASES = [
    (K, K, EQUAL),
    (K, atom("k_anonymity", "at_least", 11), STRICTER),
    (K, atom("k_anonymity", "at_least", 9), LOOSER),
    (K, atom("k_anonymity", "above", 10), STRICTER),
    (atom("k_anonymity", "above", 10), K, LOOSER),
    (K, atom("k_anonymity", "above", 9), LOOSER),
    (atom("confidence", "at_most", 0.9), atom("confidence", "below", 0.9), STRICTER),
    (atom("confidence", "at_most", 0.9), atom("confidence", "at_most", 0.8), STRICTER),
    (atom("confidence", "at_most", 0.9), atom("confidence", "below", 0.95), LOOSER),
    (K, atom("confidence", "at_most", 0.8), DIFFERENT),
    (
        atom("cl_diversity", "below", 5, "parameters.l = 2"),
        atom("cl_diversity", "below", 5, "parameters.l = 3"),
        DIFFERENT,
    ),
    (atom("cl_diversity", "below", 5), atom("cl_diversity", "below", 5, "parameters.l = 2"), EQUAL),
    (K, atom("k_anonymity", "at_least", 10, 'severity = "warning"'), LOOSER),
    (atom("k_anonymity", "at_least", 10, 'severity = "note"'), K, STRICTER),
    (K, atom("k_anonymity", "at_least", 12, 'severity = "warning"'), DIFFERENT),
    (K, atom("k_anonymity", "at_least", 12, 'under = { leaf = "labels" }'), DIFFERENT),
    (K, atom("k_anonymity", "at_least", 12, 'when = { model = "tree" }'), DIFFERENT),
    (K, atom("k_anonymity", "at_least", 10, 'scope = "leaf"'), EQUAL),
    (
        atom("certain_disclosure", "at_most", 3),
        atom("certain_disclosure", "at_most", 3, 'scope = "profile"'),
        DIFFERENT,
    ),
]


@rows(("old", "new", "how"), CASES)
def test_two_clauses(old, new, how):
    assert stricter(clause(old), clause(new)) is how


LEAF_K, LEAF_L = inline("k_anonymity", "at_least", 10), inline("label_disclosure", "at_most", 0.9)
SCOPES = [
    (f"any = [ {LEAF_K}, {LEAF_L} ]", "leaf", "model", STRICTER),
    (f"any = [ {LEAF_K}, {LEAF_L} ]", "model", "leaf", LOOSER),
    (f"any = [ {LEAF_K}, {LEAF_L} ]", "leaf", "tree", STRICTER),
    (f"any = [ {LEAF_K}, {LEAF_L} ]", "leaf", "profile", DIFFERENT),
    (f"all = [ {LEAF_K}, {LEAF_L} ]", "leaf", "model", EQUAL),
    (f"not = {LEAF_K}", "leaf", "model", LOOSER),
    (f"any = [ {LEAF_K}, {{ not = {LEAF_L} }} ]", "leaf", "model", DIFFERENT),
    (f"any = [ {LEAF_K}, {inline('confidence', 'at_most', 0.9)} ]", "leaf", "model", DIFFERENT),
]


@pytest.mark.parametrize(("said", "old", "new", "how"), SCOPES)
def test_where_a_combination_is_judged(said, old, new, how):
    one, other = clause(f'{said}\nscope = "{old}"'), clause(f'{said}\nscope = "{new}"')
    assert stricter(one, other) is how


def drawn(rng, depth):
    if depth == 0 or rng.random() < 0.35:
        name, rule = rng.choice(
            [("k_anonymity", "at_least"), ("k_anonymity", "above"), ("confidence", "at_most")]
        )
        return inline(
            name, rule, rng.choice([0, 1]) if name == "confidence" else rng.choice([1, 2])
        )
    form = rng.choice(["all", "any", "not"])
    if form == "not":
        return f"{{ not = {drawn(rng, depth - 1)} }}"
    parts = ", ".join(drawn(rng, depth - 1) for _ in range(rng.choice([1, 2, 3])))
    return f"{{ {form} = [ {parts} ] }}"


ENDS = [Interval(a, b) for a, b in itertools.combinations_with_replacement((0, 1, 2, 3), 2)]
WORLDS = [
    {call("k_anonymity"): k, call("confidence"): c}
    for k in ENDS
    for c in (Interval(0, 0), Interval(0, 1), Interval(0.5, 0.5), Interval(1, 1))
]


def verdict(part, world):
    """Return the verdict of a part by its meaning, independently of how the project judges."""
    if part.form == "atom":
        return rules()[part.atom.rule].judge(world[part.atom.call], part.atom.limit)
    each = [verdict(inner, world) for inner in part.parts]
    if part.form == "not":
        return PolicyVerdict(2 - each[0])
    return max(each) if part.form == "all" else min(each)


@pytest.mark.in_both
def test_what_is_proved_stricter_never_has_a_better_verdict():
    rng = random.Random(5)
    proved = 0
    for _ in few(range(1500), 500):
        old, new = (clause(f"not = {{ not = {drawn(rng, 3)} }}") for _ in range(2))
        if part_as_strict(new, old):
            proved += 1
            assert all(verdict(new, world) >= verdict(old, world) for world in WORLDS)
    assert proved > 30


def test_a_clause_is_as_strict_as_itself_however_it_is_built():
    rng = random.Random(6)
    for _ in range(300):
        one = clause(f"not = {{ not = {drawn(rng, 3)} }}")
        assert part_as_strict(one, one)


def test_packs_are_compared_clause_by_clause():
    old = pack(
        K,
        atom("confidence", "at_most", 0.9, 'severity = "warning"'),
        atom("side_leaks", "at_most", 0),
    )
    new = pack(
        atom("k_anonymity", "at_least", 12),
        atom("confidence", "at_most", 0.9, 'severity = "warning"\nwhy = "now said"'),
        head=HEAD + "[waivers]\nlongest_days = 30\n",
    )
    found = {each.clause: each.strictness for each in compared(old, new)}
    assert found == {"0": STRICTER, "1": EQUAL, "2": LOOSER, "[waivers]": STRICTER}
    assert compared(old, old) == ()
    assert {each.clause: each.strictness for each in compared(new, old)}["2"] is STRICTER


def test_a_clause_that_ends_the_doubt_about_labels_for_some_models_is_not_shown_to_be_stricter():
    sure, label = atom("confidence", "at_most", 0.9), atom("label_disclosure", "at_most", 1)
    forests = atom("label_disclosure", "at_most", 1, 'when = { model = "forest" }')
    assert [each.strictness for each in compared(pack(sure), pack(sure, label))] == [DIFFERENT]
    assert [
        each.strictness for each in compared(pack(sure, forests), pack(sure, forests, label))
    ] == [DIFFERENT]
    assert [
        each.strictness for each in compared(pack(sure, label), pack(sure, label, forests))
    ] == [STRICTER]
    twice = f"not = {{ not = {inline('label_disclosure', 'at_most', 1)} }}"
    assert [each.strictness for each in compared(pack(sure, twice), pack(sure, label))] == [
        DIFFERENT
    ]
    assert [each.strictness for each in compared(pack(K), pack(K, label))] == [STRICTER]


SURE = [inline("confidence", "at_most", limit) for limit in (0.6, 0.8, 0.9)]


def test_a_clause_whose_lowest_limit_on_certainty_is_higher_is_not_shown_to_be_stricter():
    low, middle, high = SURE
    old, new = (f"any = [ {each}, {high} ]" for each in (low, middle))
    one, other = pack(f"any = [ {high}, {low} ]"), pack(f"any = [ {high} ]")
    assert stricter(one.clauses[0], other.clauses[0]) is EQUAL
    assert [each.strictness for each in compared(one, other)] == [DIFFERENT]
    assert [each.strictness for each in compared(pack(old), pack(f"any = [ {low} ]"))] == [STRICTER]
    assert [each.strictness for each in compared(pack(new), pack(old))] == [EQUAL]
    believed = atom("label_disclosure", "at_most", 1)
    found = compared(pack(old, believed), pack(f"any = [ {high} ]", believed))
    assert [each.strictness for each in found] == [EQUAL]


@pytest.mark.parametrize(
    "said",
    [f"not = {{ any = [ {{ not = {LEAF_K} }}, {{ not = {LEAF_L} }} ] }}", f"all = [{LEAF_K}]"],
)
def test_what_is_read_off_the_worst_leaf_is_the_same_anywhere_however_it_is_written(said):
    for scope in ("leaf", "profile", "tree"):
        assert stricter(clause(said), clause(f'{said}\nscope = "{scope}"')) is EQUAL
