"""The grammar of packs: combinations, scope, knowledge, and what of it is refused, in words."""

import tomllib

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.schemas import validator_of
from treewarden.policies.clause import DEEPEST
from treewarden.policies.pack import calls, json_schema, pack_of, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import FindingKind
from treewarden.ppdm_models.errors import PolicyError

HEAD = 'name = "mine"\nversion = "1"\ntitle = "Mine"\n'
K = '{ measure = "k_anonymity", rule = "at_least", limit = 10 }'
SURE = '{ measure = "confidence", rule = "at_most", limit = 0.9 }'
LEAKS = '{ measure = "side_leaks", rule = "at_most", limit = 0 }'


def of(*lines, head=HEAD):
    text = head + '[[clause]]\nid = "a"\n' + "\n".join(lines)
    return read_pack(text.encode(), "mine.toml")


def refusal(*lines):
    with pytest.raises(PolicyError) as raised:
        of(*lines)
    return str(raised.value)


ATOM = ('measure = "k_anonymity"', 'rule = "at_least"', "limit = 10")


def nested(depth):
    return f"all = [ {'{ all = [ ' * (depth - 1)}{K}{' ] }' * (depth - 1)} ]"


def test_the_measures_of_a_combination_are_those_of_all_its_atoms_each_once():
    pack = of(f"any = [ {K}, {{ all = [ {SURE}, {{ not = {K} }} ] }} ]")
    assert [each.measure for each in calls(pack)] == ["k_anonymity", "confidence"]
    assert pack.clauses[0].form == "any"
    assert [part.form for part in pack.clauses[0].parts] == ["atom", "all"]


def test_combinations_stand_in_each_other_as_deep_as_is_allowed_and_no_deeper():
    assert len(of(nested(DEEPEST)).clauses[0].atoms) == 1
    assert refusal(nested(DEEPEST + 1)) == (
        "mine.toml: check 'a': combinations are nested more than 8 deep; use fewer levels"
    )


def test_very_deep_combinations_are_refused_and_not_looked_through():
    inner: dict = {"measure": "k_anonymity", "rule": "at_least", "limit": 10}
    for _ in range(100_000):
        inner = {"not": inner}
    said = {"name": "n", "version": "1", "title": "t", "clause": [{"id": "a", **inner}]}
    with pytest.raises(PolicyError, match="more than 8 deep"):
        pack_of(said, "deep")
    while "not" in inner:
        inner = inner.pop("not")


def test_what_every_way_of_meeting_a_clause_must_meet_is_what_all_joins():
    names = [
        a.call.measure for a in of(f"all = [ {K}, {{ any = [ {SURE} ] }} ]").clauses[0].demanded
    ]
    assert names == ["k_anonymity", "confidence"]
    assert of(f"any = [ {K}, {SURE} ]").clauses[0].demanded == ()
    assert of(f"not = {K}").clauses[0].demanded == ()


def test_knowledge_of_a_clause_reads_the_same_in_whatever_order_it_is_said():
    one = of(*ATOM, 'under = { split = "none", leaf = "labels", marginal = true }').clauses[0]
    other = of(*ATOM, 'under = { marginal = true, leaf = "labels", split = "none" }').clauses[0]
    assert one.under_words == other.under_words == "leaf = labels, split = none, marginal = true"


def test_a_clause_may_be_about_several_kinds_of_models():
    when = of(*ATOM, 'when = { model = ["tree", "forest"], task = "regression" }').clauses[0].when
    assert (when.model, when.task, when.format) == (("tree", "forest"), ("regression",), ())


REFUSED = {
    "both atomic and combined": (
        [*ATOM, f"any = [ {SURE} ]"],
        "mine.toml: clause number 1: has 'any' and 'measure' and 'rule' and 'limit'; keep one of them",
    ),
    "two combinations": (
        [f"any = [ {SURE} ]", f"all = [ {K} ]"],
        "mine.toml: clause number 1: has 'all' and 'any'; keep one of them",
    ),
    "empty any": (["any = []"], "mine.toml: clause number 1: 'any' is []: "),
    "empty all": (["all = []"], "mine.toml: clause number 1: 'all' is []: "),
    "nothing asked": (
        ["severity = 'note'"],
        "mine.toml: clause number 1: 'measure' is missing; add it",
    ),
    "an atom without a limit": (
        ['any = [ { measure = "confidence", rule = "at_most" } ]'],
        "mine.toml: clause number 1: 'any.0.limit' is missing; add it",
    ),
    "unknown key of an atom": (
        ['any = [ { measure = "confidence", rule = "at_most", limit = 1, why = "" } ]'],
        "mine.toml: clause number 1: unknown key 'any.0.why'; use measure, parameters, rule, limit, all, any, not",
    ),
    "unknown measure inside": (
        ['not = { measure = "size", rule = "at_most", limit = 1 }'],
        "mine.toml: check 'a': no metric 'size'; list them: treewarden list metrics",
    ),
    "limit out of range inside": (
        ['not = { measure = "confidence", rule = "at_most", limit = 2 }'],
        "mine.toml: check 'a': the limit 2 is out of range; confidence takes 0 to 1",
    ),
    "unknown knowledge": (
        [*ATOM, 'under = { leafs = "labels" }'],
        "mine.toml: clause number 1: unknown key 'under.leafs' (did you mean 'leaf' or 'min_leaf'?); "
        "use leaf, split, marginal, accuracy, strict_labels, min_leaf",
    ),
    "unknown value of knowledge": (
        [*ATOM, 'under = { leaf = "label" }'],
        "mine.toml: clause number 1: 'under.leaf' is 'label': must be 'labels', 'rates'",
    ),
    "empty knowledge": (
        [*ATOM, "under = {}"],
        "mine.toml: clause number 1: 'under' is empty; leave it out",
    ),
    "knowledge that is no truth": (
        [*ATOM, 'under = { marginal = "yes" }'],
        "mine.toml: clause number 1: 'under.marginal' is 'yes': ",
    ),
    "unknown kind of model": (
        [*ATOM, 'when = { model = "shrub" }'],
        "mine.toml: clause number 1: 'when.model.0' is 'shrub': "
        "must be 'tree', 'ensemble', 'forest' or 'boosted'",
    ),
    "unknown task": (
        [*ATOM, 'when = { task = "ranking" }'],
        "mine.toml: clause number 1: 'when.task.0' is 'ranking': ",
    ),
    "unknown format": (
        [*ATOM, 'when = { format = "word" }'],
        "mine.toml: check 'a': when: no format 'word'; list them: treewarden list formats",
    ),
    "unknown key of when": (
        [*ATOM, 'when = { kind = "tree" }'],
        "mine.toml: clause number 1: unknown key 'when.kind'; use model, task, format",
    ),
    "empty when": (
        [*ATOM, "when = {}"],
        "mine.toml: clause number 1: 'when' is empty; leave it out",
    ),
    "no kind of model": (
        [*ATOM, "when = { model = [] }"],
        "mine.toml: clause number 1: 'when.model' is []: ",
    ),
    "unknown scope": ([*ATOM, 'scope = "node"'], "mine.toml: clause number 1: 'scope' is 'node': "),
    "no value per leaf": (
        [f"any = [ {K}, {LEAKS} ]", 'scope = "leaf"'],
        "mine.toml: check 'a': scope 'leaf': the metric 'side_leaks' has no value per leaf; use scope 'model', or one ",
    ),
    "loosening nothing": (
        [*ATOM, 'loosen = "we like it"'],
        "mine.toml: check 'a': loosen: the policy extends no other, so there is nothing to loosen; leave it out",
    ),
    "dropping nothing": (
        [*ATOM, "drop = true"],
        "mine.toml: check 'a': drop: the policy extends no other, so there is nothing to loosen; leave it out",
    ),
    "unknown key of guidance": (
        [*ATOM, 'guidance = [ { document = "law", paragraph = "1", page = "2" } ]'],
        "mine.toml: clause number 1: unknown key 'guidance.0.page'; use document, paragraph, says",
    ),
    "waivers of a wrong kind": (
        [*ATOM, "[waivers]", "longest_days = 0"],
        "mine.toml: 'waivers.longest_days' is 0: ",
    ),
    "unknown key of waivers": (
        [*ATOM, "[waivers]", "longest = 10"],
        "mine.toml: unknown key 'waivers.longest' (did you mean 'longest_days'?); "
        "use longest_days, undetermined, unused, loosen",
    ),
}


@pytest.mark.parametrize(
    "name", [*(kind.value for kind in FindingKind), "waiver-of-a-later-version"]
)
def test_no_clause_is_called_as_a_finding_that_is_about_none(name):
    said = f'{HEAD}[[clause]]\nid = "{name}"\n' + "\n".join(ATOM)
    with pytest.raises(PolicyError, match="id: reserved for findings of treewarden itself"):
        read_pack(said.encode(), "mine.toml")


@rows("fault", REFUSED)
def test_what_cannot_be_asked_is_refused_in_words(fault):
    lines, said = REFUSED[fault]
    assert refusal(*lines).startswith(said)


def test_a_checksum_covers_what_is_new_and_stays_where_nothing_new_is_said():
    plain = of(*ATOM).digest
    assert of(*ATOM, 'severity = "error"').digest == plain
    for more in (
        'scope = "leaf"',
        'under = { leaf = "labels" }',
        'when = { task = "regression" }',
        'severity = "note"',
    ):
        assert of(*ATOM, more).digest != plain
    assert of(*ATOM, "[waivers]", "longest_days = 30").digest != plain
    assert of(f"any = [ {K} ]").digest != of(f"all = [ {K} ]").digest


def test_who_asks_that_warnings_are_met_too_makes_them_count_and_no_other_checksum():
    pack = of(*ATOM, 'severity = "warning"')
    harder = pack.model_copy(update={"fail_on": "warning"})
    assert (pack.counting, harder.counting) == ((), pack.clauses)
    assert pack.digest == harder.digest


@pytest.mark.parametrize("name", shipped_packs())
def test_the_schema_takes_every_pack_that_ships(name):
    pack = tomllib.loads(shipped_packs()[name].read_text("utf-8"))
    validator_of(json_schema()).validate(pack)


def valid(text):
    return validator_of(json_schema()).is_valid(tomllib.loads(text))


def test_the_schema_takes_what_is_read():
    for lines in (
        [f"any = [ {K}, {{ all = [ {SURE}, {{ not = {K} }} ] }} ]", 'scope = "leaf"'],
        [*ATOM, 'under = { leaf = "labels" }', 'when = { model = ["tree"], format = "pmml" }'],
        [*ATOM, "[waivers]", "longest_days = 30"],
    ):
        text = HEAD + '[[clause]]\nid = "a"\n' + "\n".join(lines)
        assert read_pack(text.encode(), "mine.toml")
        assert valid(text)
    assert valid(
        'name = "x"\nversion = "1"\nextends = "standard"\n[[clause]]\nid = "label"\ndrop = true\nloosen = "no"'
    )


TOLD_BY_NO_SCHEMA = {
    "limit out of range inside",
    "unknown format",
    "no value per leaf",
    "loosening nothing",
}


@rows("fault", sorted({*REFUSED} - TOLD_BY_NO_SCHEMA))
def test_the_schema_refuses_what_is_refused(fault):
    assert not valid(HEAD + '[[clause]]\nid = "a"\n' + "\n".join(REFUSED[fault][0]))


@pytest.mark.parametrize(
    "name", ["unknown_key", "unknown_key_of_a_clause", "unknown_measure", "unknown_rule"]
)
def test_the_schema_refuses_what_is_not_known(name):
    assert not valid((places.DATA / "policies" / "bad" / f"{name}.toml").read_text())
