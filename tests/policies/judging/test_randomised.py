"""What a policy says of a table of noisy records."""

import numpy as np
import pytest

from tests.kit.randomised_cases import even, hidden, randomised
from tests.kit.small_audits import audit_of, evidence_of, flat_tree
from treewarden.audit.measures import NoiseMeasure, measures
from treewarden.audit.reading import Spot
from treewarden.policies.judging.judge import judge
from treewarden.policies.judging.randomised import _noise_place, judge_randomised
from treewarden.policies.pack import load_pack, read_pack
from treewarden.policies.shipped import packs_of_tables, shipped_packs
from treewarden.policies.verdict import PolicyVerdict

PACK = load_pack("randomised")


def pack(clauses):
    head = 'name = "own"\nversion = "1"\ntitle = "t"\ndescription = "d"\n'
    return read_pack((head + clauses).encode(), "own.toml")


def clause(name, measure, rule, limit, more=""):
    return f'[[clause]]\nid = "{name}"\nmeasure = "{measure}"\nrule = "{rule}"\nlimit = {limit}\n{more}\n'


def verdicts(made):
    return {each.clause: each.verdict for each in made.findings}


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
def test_a_nominal_level_of_a_whole_domain_passes_on_independent_columns(noise):
    made = judge_randomised(even(1.0, noise), PACK)
    assert made.verdict is PolicyVerdict.PASS


@pytest.mark.parametrize("noise", ["gaussian", "uniform", "discretize"])
def test_a_quarter_fails_and_the_columns_are_named(noise):
    made = judge_randomised(even(0.25, noise), PACK)
    assert made.verdict is PolicyVerdict.FAIL
    found = next(each for each in made.findings if each.clause == "left-on-average")
    assert {place.name for place in found.places} == {"c0", "c1", "c2"}
    assert "3 columns fail" in found.message


def test_a_column_in_clear_is_never_a_pass_and_one_that_is_vouched_for_may_be():
    assert judge_randomised(even(clear=("name",)), PACK).verdict is PolicyVerdict.UNDETERMINED
    assert judge_randomised(even(harmless=("year",)), PACK).verdict is PolicyVerdict.PASS


@pytest.mark.parametrize("noise", ["gaussian", "uniform"])
@pytest.mark.parametrize("share", [0.5, 0.04])
def test_a_column_of_two_values_is_hardly_hidden_by_noise_as_wide_as_its_domain(noise, share):
    random = np.random.default_rng(5)
    true = (random.random((20_000, 1)) < share).astype(float)
    found = randomised((hidden("ill", noise, is_whole=True),), true, random)
    made = judge_randomised(found, PACK)
    assert made.verdict is PolicyVerdict.FAIL
    assert verdicts(made)["left-on-average"] is PolicyVerdict.FAIL


@pytest.mark.parametrize("name", shipped_packs())
def test_a_pack_about_models_never_passes_a_table(name):
    assert judge_randomised(even(), load_pack(name)).verdict is PolicyVerdict.UNDETERMINED


@pytest.mark.parametrize("name", packs_of_tables())
def test_a_pack_about_tables_never_passes_a_model(name):
    found = load_pack(name)
    audit = audit_of(evidence_of(flat_tree([[88, 12], [5, 5]])), found)
    made = judge(audit, found)
    assert made.verdict is PolicyVerdict.UNDETERMINED
    assert all(each.verdict is PolicyVerdict.UNDETERMINED for each in made.findings)


@pytest.mark.parametrize("name", packs_of_tables())
def test_a_pack_about_tables_reads_noise_alone(name):
    read = {atom.call.measure for each in load_pack(name).clauses for atom in each.atoms}
    assert all(isinstance(measures()[each], NoiseMeasure) for each in read)


def test_a_clause_for_models_of_a_kind_is_not_judged_and_any_other_about_models_undetermined():
    own = pack(
        clause("level", "randomisation_level", "at_least", 0.5)
        + clause("k", "k_anonymity", "at_least", 5, 'when = { model = "tree" }')
        + clause("leaf", "k_anonymity", "at_least", 5, 'severity = "warning"')
    )
    made = judge_randomised(even(), own)
    assert made.verdict is PolicyVerdict.PASS
    assert verdicts(made) == {"level": PolicyVerdict.PASS, "leaf": PolicyVerdict.UNDETERMINED}
    assert [name for name, _ in made.not_judged] == ["k"]


def test_where_nothing_counts_nothing_was_shown():
    own = pack(clause("k", "k_anonymity", "at_least", 5, 'when = { model = "tree" }'))
    made = judge_randomised(even(), own)
    assert made.verdict is PolicyVerdict.UNDETERMINED
    assert verdicts(made) == {"nothing-judged": PolicyVerdict.UNDETERMINED}


def test_clauses_combine_over_the_table_as_a_whole():
    text = """[[clause]]
id = "either"
any = [
    { measure = "randomisation_level", rule = "at_least", limit = 5 },
    { measure = "randomisation_width", rule = "at_least", limit = 0.4 },
]
"""
    assert judge_randomised(even(), pack(text)).verdict is PolicyVerdict.PASS
    assert judge_randomised(even(0.25), pack(text)).verdict is PolicyVerdict.FAIL
    with_model = text.replace("randomisation_width", "k_anonymity").replace("0.4", "2")
    assert judge_randomised(even(), pack(with_model)).verdict is PolicyVerdict.UNDETERMINED


def test_a_finding_of_a_table_says_of_what_its_clause_asks():
    level = '{ measure = "randomisation_level", rule = "at_least", limit = 0.5 }'
    asked = [
        f'[[clause]]\nid = "{number}"\nall = [ {level} ]\n{more}\n'
        for number, more in enumerate(("", 'scope = "model"'))
    ]
    scopes = [
        each.requirement.scope for each in judge_randomised(even(), pack("".join(asked))).findings
    ]
    assert scopes[:2] == ["", "model"]


def test_a_column_of_which_a_range_is_read_is_told_with_both_ends():
    place = _noise_place(Spot("column", 1, 0.25, 0.75, "age"))
    assert (place.name, place.low, place.high) == ("age", 0.25, 0.75)
