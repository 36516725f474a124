"""An attestation holds for one model, one policy and what was assumed; whatever does not fit is refused."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.kit.run import run_command
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import Statement
from treewarden.jobs.attesting.attesting import PREDICATE, sealed
from treewarden.jobs.attesting.checking import CheckRequest, any_of, attested_entry, checked
from treewarden.jobs.attesting.keys import (
    ExpiredError,
    MalformedError,
    OtherModelError,
    OtherPolicyError,
    OtherQuestionError,
    SignatureError,
    make_pair,
    private_key,
)
from treewarden.policies.pack import load_pack


def said_in(envelope):
    return json.loads(base64.b64decode(json.loads(envelope)["payload"]))


def resealed(attesting, change):
    """Return the attestation with another statement, properly signed."""
    said = said_in(attesting.attest())
    change(said)
    key = private_key(attesting.key.read_bytes(), "key")
    return sealed(json.dumps(said).encode(), key)


def check(attesting, envelope, **more):
    given = {"public_key_pem": attesting.public, "model": attesting.model, "pack": attesting.pack}
    return checked(envelope, **{**given, **more})


def test_what_fits_is_believed(attesting):
    held = check(attesting, attesting.attest())
    assert held.verdict == "PASS"
    assert [(each.clause, each.verdict) for each in held.predicate.clauses] == [("the-one", "PASS")]


def test_a_fail_is_attested_too(attesting):
    envelope = attesting.attest(policy="harsh")
    held = check(attesting, envelope, pack=load_pack(attesting.files.policy("harsh")))
    entry = attested_entry(held, load_pack(attesting.files.policy("harsh")), "flu", "flu.pmml")
    assert (held.verdict, entry.outcome, entry.basis) == ("FAIL", "FAIL", "attestation")
    assert [each.clause for each in entry.results] == ["the-one"]
    assert entry.rules[0].asks == "at least 10 people"


def test_it_tells_neither_counts_nor_the_table(attesting):
    envelope = attesting.attest(policy="harsh")
    said = said_in(envelope)
    report = attesting.files.run("audit", "--format", "json", "--no-worlds")
    table = json.loads(report.stdout)["provenance"]["table"]["sha256"]
    assert table not in json.dumps(said)
    assert said["predicate"].keys() == {
        "version",
        "verdict",
        "fail_on",
        "clauses",
        "not_judged",
        "policy",
        "knowledge",
        "report",
        "issued",
        "expires",
    }
    assert said["predicate"]["clauses"] == [
        {"accepted": None, "clause": "the-one", "of": "", "severity": "error", "verdict": "FAIL"}
    ]


def test_another_key_is_refused(attesting):
    other = make_pair(attesting.files.folder / "other.pem").read_bytes()
    with pytest.raises(SignatureError):
        check(attesting, attesting.attest(), public_key_pem=other)


def test_another_model_is_refused(attesting):
    envelope = attesting.attest()
    attesting.model.write_bytes(attesting.model.read_bytes() + b"\n")
    with pytest.raises(OtherModelError):
        check(attesting, envelope)


def test_an_older_policy_is_refused(attesting):
    envelope = attesting.attest()
    path = attesting.files.folder / "lenient.toml"
    path.write_text(path.read_text().replace('version = "1"', 'version = "2"'))
    with pytest.raises(OtherPolicyError, match="'lenient' 1, but 'lenient' 2 is required"):
        check(attesting, envelope, pack=load_pack(str(path)))


def test_a_policy_that_says_something_else_under_the_same_version_is_refused(attesting):
    envelope = attesting.attest()
    path = attesting.files.folder / "lenient.toml"
    path.write_text(path.read_text().replace("limit = 5", "limit = 6"))
    with pytest.raises(OtherPolicyError, match="different content"):
        check(attesting, envelope, pack=load_pack(str(path)))


def test_what_expired_is_refused(attesting):
    day = (datetime.now(UTC) + timedelta(days=3)).strftime("%Y-%m-%d")
    envelope = attesting.attest("--expires", day)
    now = datetime.now(UTC)
    assert check(attesting, envelope, now=now).verdict == "PASS"
    with pytest.raises(ExpiredError, match="expired"):
        check(attesting, envelope, now=now + timedelta(days=4))


def test_what_is_yet_to_come_is_refused(attesting):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(ExpiredError, match="in the future"):
        check(attesting, attesting.attest(), now=yesterday)


@pytest.mark.parametrize(
    "asked",
    [
        {"knowledge": Knowledge(marginal=True)},
        {"knowledge": Knowledge(accuracy=True)},
        {"knowledge": Knowledge(leaf="counts")},
        {"knowledge": Knowledge(split="gini")},
        {"knowledge": Knowledge(min_leaf=3)},
        {"knowledge": Knowledge(strict_labels=True)},
        {"knowledge": Knowledge(learner="rpart")},
        {"knowledge": Knowledge(facts=(Statement(says="P(flu = yes) = 0.4"),))},
        {"strict_ties": True},
        {"qi": ("age", "sex")},
        {"fail_on": "warning"},
    ],
    ids=lambda asked: repr(asked)[:40],
)
def test_less_knowledge_than_is_asked_is_refused(attesting, asked):
    with pytest.raises(OtherQuestionError):
        check(attesting, attesting.attest(), **asked)


def test_more_knowledge_than_is_asked_will_do(attesting):
    assert check(attesting, attesting.attest("--marginal")).verdict == "PASS"
    labels = attesting.attest("--leaf", "counts")
    assert check(attesting, labels, knowledge=Knowledge(leaf="labels")).verdict == "PASS"


def test_chosen_quasi_identifiers_are_not_the_models_own(attesting):
    envelope = attesting.attest("--qi", "age,sex")
    assert check(attesting, envelope, qi=("age",)).verdict == "PASS"
    with pytest.raises(OtherQuestionError):
        check(attesting, envelope)


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(predicateType="urn:treewarden-attestation:2"),
        lambda said: said.update(_type="https://in-toto.io/Statement/v2"),
        lambda said: said.update(more=1),
        lambda said: said.update(subject=[]),
        lambda said: said["subject"].append(said["subject"][0]),
        lambda said: said["predicate"].update(verdict="FINE"),
        lambda said: said["predicate"].update(issued="today"),
        lambda said: said["predicate"].update(issued="2026-99-99T00:00:00+00:00"),
        lambda said: said["predicate"].update(clauses=[]),
        lambda said: said["predicate"]["clauses"][0].update(verdict="FAIL"),
        lambda said: said["predicate"].pop("expires"),
        lambda said: said["predicate"]["clauses"][0].update(verdict="FAIL", accepted="waiver"),
    ],
    ids=range(12),
)
def test_another_schema_is_refused_however_well_it_is_signed(attesting, change):
    with pytest.raises(MalformedError):
        check(attesting, resealed(attesting, change))


def test_a_statement_that_was_not_changed_can_be_sealed_again(attesting):
    assert PREDICATE in said_in(resealed(attesting, lambda said: None))["predicateType"]
    assert check(attesting, resealed(attesting, lambda said: None)).verdict == "PASS"


def mapped_attestation(attesting):
    """Attest with a table that calls a column otherwise than the model's file."""
    table, path = attesting.files.folder / "mapped.csv", attesting.files.folder / "m.json"
    text = (attesting.files.folder / "people.csv").read_text("utf-8")
    table.write_text(text.replace("age,sex", "years,sex", 1), encoding="utf-8")
    words = ["attest", attesting.model, "--data", table, "--sensitive", "flu", "--no-worlds"]
    words += ["--policy", attesting.files.policy("lenient"), "--columns", "age=years"]
    outcome = run_command(*map(str, (*words, "--key", attesting.key, "-o", path)))
    assert outcome.exit_code == 0, outcome.output
    return path.read_bytes()


def test_an_attestation_states_for_which_columns_features_were_taken(attesting):
    envelope = mapped_attestation(attesting)
    assert said_in(envelope)["predicate"]["knowledge"]["columns"] == {"age": "years"}
    held, refused = any_of(
        [("m", envelope)], (attesting.public,), attesting.model, mapping_question(attesting)
    )
    assert (held.verdict, refused) == ("PASS", ())
    entry = attested_entry(held, attesting.pack)
    assert "with the columns age=years" in entry.headline


def mapping_question(attesting, **columns):
    columns = columns or {"age": "years"}
    return CheckRequest(attesting.pack, Knowledge(), None, "error", columns=columns)


@pytest.mark.parametrize("columns", [{"age": "sex"}, {"age": "years", "sex": "gender"}])
def test_an_attestation_for_other_columns_than_are_required_is_refused(attesting, columns):
    question = mapping_question(attesting, **columns)
    envelopes = [("m", mapped_attestation(attesting)), ("plain", attesting.attest())]
    held, refused = any_of(envelopes, (attesting.public,), attesting.model, question)
    assert held is None
    assert "took features for other columns (age=years) than are required" in refused[0]
    assert "took features for other columns (none)" in refused[1]


def sensitive_question(attesting, sensitive):
    return CheckRequest(attesting.pack, Knowledge(), None, "error", sensitive=sensitive)


def test_an_attestation_stands_for_the_protected_column_alone(attesting):
    # Of a file that names no target, what its classes are of is the word of whoever attests it.
    def protecting(said):
        said["predicate"]["knowledge"]["sensitive"] = "ill"

    envelopes = [("named", resealed(attesting, protecting)), ("unnamed", attesting.attest())]
    ask = (attesting.public,), attesting.model
    held, _ = any_of(envelopes[:1], *ask, sensitive_question(attesting, "ill"))
    assert held.verdict == "PASS"
    assert "for the column ill" in attested_entry(held, attesting.pack).headline
    held, refused = any_of(envelopes, *ask, sensitive_question(attesting, "weight"))
    assert held is None
    assert "protected ill, but weight is required" in refused[0]
    assert "the target that the file names, but weight is required" in refused[1]
    # A gate that names no column takes none for a column that the file does not name.
    held, refused = any_of(envelopes[:1], *ask, sensitive_question(attesting, None))
    assert held is None
    assert "protected ill, but the target that the file names is required" in refused[0]


def test_a_statement_says_which_column_was_protected_where_the_file_names_none(attesting):
    assert "sensitive" not in said_in(attesting.attest())["predicate"]["knowledge"]


def test_a_statement_without_a_mapping_has_no_key_for_one(attesting):
    assert "columns" not in said_in(attesting.attest())["predicate"]["knowledge"]


def test_of_several_the_worst_counts_and_the_others_are_told(attesting):
    good, other = attesting.attest(), attesting.attest(policy="harsh")
    question = CheckRequest(attesting.pack, Knowledge(), None, "error")
    wrong = make_pair(attesting.files.folder / "other.pem").read_bytes()
    several = [("bad", b"{}"), ("other", other), ("good", good)]
    held, refused = any_of(several, (wrong, attesting.public), attesting.model, question)
    assert held is not None
    assert (held.where, held.verdict) == ("good", "PASS")
    assert [each.partition(":")[0] for each in refused] == ["bad", "other"]
    assert "'harsh' 1" in refused[1]

    def fails(said):
        said["predicate"]["verdict"] = "FAIL"

    several = [("good", good), ("worse", resealed(attesting, fails))]
    held, refused = any_of(several, (attesting.public,), attesting.model, question)
    assert held is not None
    assert (held.where, held.verdict, refused) == ("worse", "FAIL", ())


def test_without_a_key_nothing_is_trusted(attesting):
    held, refused = any_of([("a", attesting.attest())], (), attesting.model, CheckRequest())
    assert held is None
    assert "no public key was given" in refused[0]
