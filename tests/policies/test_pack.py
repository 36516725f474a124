"""Reading policy packs: what is not understood is refused, with the choices named."""

import codecs
import json

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.small_audits import pack_of
from treewarden.policies.explain.sentences import toml
from treewarden.policies.pack import calls, json_schema, load_pack, measure_call, read_pack
from treewarden.policies.shipped import packs_of_tables, shipped_packs
from treewarden.ppdm_models.errors import PolicyError

BAD = places.DATA / "policies" / "bad"
GOOD = b"""
name = "mine"
version = "2"
title = "Mine"
[[clause]]
id = "a"
measure = "cl_diversity"
parameters = { l = 3 }
rule = "below"
limit = 5
"""


@rows("fault", sorted(path.stem for path in BAD.glob("*.toml")))
def test_a_bad_pack_is_refused_in_words(fault):
    with pytest.raises(PolicyError) as raised:
        read_pack((BAD / f"{fault}.toml").read_bytes(), "bad.toml")
    assert str(raised.value).startswith((BAD / f"{fault}.message").read_text().rstrip("\n"))


def test_parameters_not_given_have_their_defaults():
    clause = read_pack(GOOD, "mine.toml").clauses[0]
    assert measure_call(clause).parameters == (("basis", "real"), ("l", 3.0))
    assert clause.severity == "error"


def test_two_clauses_on_one_measure_ask_for_it_once():
    pack = pack_of(
        ("k_anonymity", "at_least", 5),
        ("k_anonymity", "at_least", 9, "warning"),
        ("confidence", "at_most", 1),
    )
    assert [each.measure for each in calls(pack)] == ["k_anonymity", "confidence"]


def test_the_digest_is_of_what_a_pack_says_and_not_of_its_layout():
    commented = b"# a comment\n" + GOOD.replace(b"limit = 5", b"limit   =   5.0")
    assert read_pack(GOOD, "a").digest == read_pack(commented, "b").digest
    assert read_pack(GOOD, "a").digest == read_pack(codecs.BOM_UTF8 + GOOD, "b").digest
    assert read_pack(GOOD, "a").digest != read_pack(GOOD.replace(b"= 5", b"= 6"), "a").digest
    assert len(read_pack(GOOD, "a").digest) == 64


def test_a_pack_is_loaded_by_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(GOOD)
    assert load_pack(str(path)).name == "mine"


@pytest.mark.parametrize("name", ["stric", "", "a\0b", "/"])
def test_a_pack_that_is_not_there_is_named_with_those_that_are(name):
    known = ", ".join([*shipped_packs(), *packs_of_tables()])
    with pytest.raises(
        PolicyError,
        match=f"unknown policy.*; built-in: {known}; for your own policy, give the path",
    ):
        load_pack(name)


@pytest.mark.parametrize("name", shipped_packs())
def test_a_shipped_pack_bears_its_file_name_and_gives_reasons_and_sources(name):
    pack = load_pack(name)
    assert pack.name == name
    assert pack.title
    assert pack.description
    assert all(clause.why and clause.source for clause in pack.clauses)


def test_a_table_of_a_check_has_two_names_and_a_policy_is_the_same_by_either():
    pack = read_pack(GOOD.replace(b"[[clause]]", b"[[check]]"), "mine.toml")
    assert pack == read_pack(GOOD, "mine.toml")
    assert pack.digest == read_pack(GOOD, "mine.toml").digest
    assert b"[[check]]" in toml(pack).encode()
    assert read_pack(toml(pack).encode(), "mine.toml") == pack


def test_a_policy_may_extend_one_that_uses_the_other_name(tmp_path):
    (tmp_path / "base.toml").write_bytes(GOOD)
    text = b'name = "n"\nversion = "1"\nextends = "base.toml"\n[[check]]\nid = "a"\nlimit = 4\n'
    assert read_pack(text, "n.toml", tmp_path).clauses[0].limit == 4


def test_both_names_in_one_file_are_refused():
    both = GOOD + GOOD[GOOD.index(b"[[clause]]") :].replace(b"[[clause]]", b"[[check]]")
    with pytest.raises(
        PolicyError, match=r"^mine.toml: uses both \[\[check\]\] and \[\[clause\]\]; write"
    ):
        read_pack(both, "mine.toml")


@pytest.mark.parametrize("table", ["check", "clause"])
def test_a_message_names_the_table_that_the_file_has(table):
    text = GOOD.replace(b"[[clause]]", f"[[{table}]]".encode()).replace(
        b"limit = 5", b'limit = "5"'
    )
    with pytest.raises(PolicyError, match=rf"{table} number 1: 'limit' is '5'"):
        read_pack(text, "mine.toml")


def test_the_schema_takes_either_name_and_not_both():
    jsonschema = pytest.importorskip("jsonschema", reason="the dev extra is not installed")
    schema = json.loads(json_schema())
    one = {"id": "a", "measure": "k_anonymity", "rule": "at_least", "limit": 5.0}
    head = {"name": "n", "version": "1", "title": "N"}
    for tables, is_valid in (
        (("check",), True),
        (("clause",), True),
        (("check", "clause"), False),
        ((), False),
    ):
        policy = {**head, **{table: [one] for table in tables}}
        problems = list(jsonschema.Draft202012Validator(schema).iter_errors(policy))
        assert (not problems) == is_valid, tables
