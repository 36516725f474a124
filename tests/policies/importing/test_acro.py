"""A risk appetite of ACRO becomes a pack that asks the same of a tree, and whatever is not one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.rows import rows
from tests.kit.small_audits import audit_of, evidence_of, flat_tree
from treewarden.policies.comparing import Strictness, compared
from treewarden.policies.importing.acro import LEFT_OUT, imported
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import load_pack, read_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import PolicyError

SMALLEST = "safe_threshold: 10\nsafe_dof_threshold: 12\n"
WHOLE = f"""---
# a comment
{SMALLEST}safe_nk_n: 2
safe_nk_k: 0.90
safe_pratio_p: 0.10
check_missing_values: False
survival_safe_threshold: 10
zeros_are_disclosive: True
safe_round_base: 5
federated: false
blocked_extensions:
  - .svg
...
"""


def made(text, where="acro.yaml"):
    data = imported(text if isinstance(text, bytes) else text.encode(), where)
    return data.decode(), read_pack(data, "acro.toml")


def limits(text):
    return {clause.id: (clause.measure, clause.limit) for clause in made(text)[1].clauses}


def problem(text):
    with pytest.raises(PolicyError) as caught:
        made(text)
    return str(caught.value)


def test_each_limit_becomes_the_clause_that_asks_it_of_a_tree():
    assert limits(WHOLE) == {
        "smallest-leaf": ("k_anonymity", 10),
        "small-groups": ("smallest_class", 10),
        "mixed-leaves": ("distinct_diversity", 2),
        "class-disclosure": ("absent_values", 0),
        "residual-freedom": ("residual_freedom", 12),
    }


def test_every_clause_says_which_key_it_is_from_and_why_it_is_asked():
    for clause in made(WHOLE)[1].clauses:
        assert clause.source.startswith("ACRO's risk appetite: ")
        assert clause.why


def test_what_has_no_meaning_for_a_tree_is_named_with_the_reason():
    text, _ = made(WHOLE)
    for key in ("check_missing_values", "survival_safe_threshold", "safe_round_base", "federated"):
        assert f"# - {key}: {LEFT_OUT[key]}." in text
    assert "safe_tests" not in text


def test_the_pack_that_ships_asks_for_no_less_than_the_limits_that_acro_ships():
    _, pack = made(WHOLE.replace("safe_dof_threshold: 12", "safe_dof_threshold: 10"))
    found = compared(pack, load_pack("research-output"))
    assert {each.strictness for each in found} == {Strictness.EQUAL, Strictness.STRICTER}


def test_zeros_that_are_not_disclosive_are_not_asked_for_and_a_pure_leaf_still_is():
    text, pack = made(SMALLEST + "zeros_are_disclosive: false")
    ids = [clause.id for clause in pack.clauses]
    assert "class-disclosure" not in ids
    assert "mixed-leaves" in ids
    assert "zeros_are_disclosive is off" in text


def test_where_it_is_not_said_zeros_are_disclosive():
    assert "class-disclosure" in limits(SMALLEST)


@given(st.integers(1, 60), st.integers(1, 99), st.integers(1, 80))
def test_dominance_counted_in_people_is_a_size_of_the_group(n, hundredths, size):
    """ACRO, sdcchecks: unsafe where the n largest of a cell make up k of it or more; each person counts one."""
    k = hundredths / 100
    found = limits(f"safe_threshold: 1\nsafe_dof_threshold: 1\nsafe_nk_n: {n}\nsafe_nk_k: {k}\n")
    asked = max(limit for measure, limit in found.values() if measure == "k_anonymity")
    assert (size >= asked) == (min(n, size) * 100 < hundredths * size)


def test_the_largest_must_not_be_all_but_the_whole_of_a_group():
    """ACRO, sdcchecks: unsafe where all but the two largest make up less than p of the largest."""
    found = limits("safe_threshold: 2\nsafe_dof_threshold: 1\nsafe_pratio_p: 0.1\n")
    assert found["dominance"] == ("k_anonymity", 3)
    assert "dominance" not in limits(WHOLE)


@pytest.mark.parametrize(
    ("leaves", "verdict", "clause"),
    [
        ([[60, 12], [12, 40]], PolicyVerdict.PASS, ""),
        ([[60, 12], [5, 4]], PolicyVerdict.FAIL, "smallest-leaf"),
        ([[60, 12], [12, 9]], PolicyVerdict.FAIL, "small-groups"),
        ([[60, 12], [12, 0]], PolicyVerdict.FAIL, "mixed-leaves"),
        ([[60, 12, 10], [12, 40, 0]], PolicyVerdict.FAIL, "class-disclosure"),
    ],
)
def test_the_pack_judges_trees_as_the_checks_judge_tables(leaves, verdict, clause):
    _, pack = made(WHOLE)
    found = judge(audit_of(evidence_of(flat_tree(leaves)), pack), pack)
    assert found.verdict is verdict
    assert clause in ["", *(finding.clause for finding in found.failing)]


@rows(
    ("text", "said"),
    [
        ("", "acro.yaml: not an ACRO configuration; give a file with lines of the form 'key: value'"),
        ("- safe_threshold", "acro.yaml: not an ACRO configuration; give a file with lines of the form 'key: value'"),
        ("safe_threshold: 10", "acro.yaml: safe_dof_threshold: it is missing; give the limit, as ACRO needs it"),
        (SMALLEST + "safe_treshold: 3", "acro.yaml: safe_treshold: ACRO has no such key; it has safe_threshold"),
        (SMALLEST + '"\\e[2J\\n": 3', "acro.yaml: '\\x1b[2J\\n': ACRO has no such key"),
        (SMALLEST + "safe_p_percent: 0.1", "ACRO does not read this key; write safe_pratio_p"),
        (SMALLEST + "safe_nk_n: 2", "acro.yaml: safe_nk_k: it is missing, but safe_nk_n is given; give both or none"),
        (SMALLEST + "safe_nk_n: 2\nsafe_nk_k: 90", "safe_nk_k: it is '90'; give a share above 0 and at most 1"),
        (SMALLEST + "safe_pratio_p: .nan", "safe_pratio_p: it is 'nan'; give a share above 0"),
        (SMALLEST + "zeros_are_disclosive: 1", "it is '1'; give true or false"),
        ("safe_threshold: 0\nsafe_dof_threshold: 1", "it is '0'; give a whole number from 1"),
        ("safe_threshold: true\nsafe_dof_threshold: 1", "it is 'True'; give a whole number from 1"),
        ("safe_threshold: '10'\nsafe_dof_threshold: 1", "it is '10'; give a whole number from 1"),
        ("safe_threshold: 9.5\nsafe_dof_threshold: 1", "it is '9.5'; give a whole number from 1"),
        ("safe_threshold:\nsafe_dof_threshold: 1", "it is 'None'; give a whole number from 1"),
        (f"safe_threshold: {'9' * 40}\nsafe_dof_threshold: 1", "give a whole number from 1 to 1,000,000,000"),
        (f"safe_threshold: {'9' * 9000}\nsafe_dof_threshold: 1", "acro.yaml: not a YAML file"),
        (SMALLEST + "safe_threshold: 3", "acro.yaml:3: the key 'safe_threshold' occurs twice; delete one of them"),
        (SMALLEST + "7: 3", "acro.yaml:3: the key '7' is not a text; correct or delete it"),
        (SMALLEST + "? [a, b]\n: 3", "acro.yaml:3: the key"),
        (SMALLEST + "<<: {a: 1}", "acro.yaml:3: the key '<<' is not a text"),
        (SMALLEST + "federated: &a 1\nsafe_tests: *a", "acro.yaml:4: YAML aliases (*a) are not supported"),
        (SMALLEST + "---\na: 1", "acro.yaml:3: the file contains several YAML documents; keep one"),
        (SMALLEST + "safe_tests: [[[[1]]]]", "acro.yaml:3: nested more than 4 deep"),
        (SMALLEST + f"safe_tests: [{'1,' * 3000}]", "acro.yaml:3: more than 2,000 parts"),
        (SMALLEST + "#" * 100_000, "bytes, at most 100,000); give ACRO's YAML file"),
        (SMALLEST + "safe_tests: !!python/object/apply:os.system [ls]", "acro.yaml: not a YAML file"),
        (SMALLEST + "safe_tests: 2001-99-99", "acro.yaml: not a YAML file"),
        (SMALLEST + "safe_tests: {", "acro.yaml: not a YAML file"),
        (b"\xff\xfe\x00", "acro.yaml: not text in UTF-8; save it as UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_risk_appetite_is_refused_with_what_to_do(text, said):
    assert said in problem(text)


@given(st.binary(max_size=60))
def test_odd_bytes_are_refused_with_the_program_s_own_error(data):
    with pytest.raises(PolicyError):
        imported(data, "acro.yaml")


def test_a_name_of_a_file_cannot_add_a_line_to_the_pack():
    text, pack = made(SMALLEST, 'a"\n[[clause]]\n\x00\x7f.yaml')
    assert len(pack.clauses) == 5
    assert not {"\x00", "\x7f"} & set(text)
