"""Packs that combine, assume, apply and extend, from the command line: what counts, what is shown, what is left out."""

import json
import re

import pytest

import treewarden as tw
from tests.kit.schemas import validator_of
from treewarden.api.requests import ArgumentError
from treewarden.audit.measures import measures
from treewarden.reports.document.packing import unpack
from treewarden.reports.document.schema import SCHEMA_FILE

HEAD = 'name = "ours"\nversion = "1"\ntitle = "Ours"\n'
SMALL = '[[clause]]\nid = "small"\nmeasure = "k_anonymity"\nrule = "at_least"\nlimit = 2\n'
LARGE = '[[clause]]\nid = "large"\nmeasure = "k_anonymity"\nrule = "at_least"\nlimit = 500\n'
SURE = '[[clause]]\nid = "sure"\nmeasure = "confidence"\nrule = "at_most"\nlimit = 0.6\n'
LABEL = '[[clause]]\nid = "label"\nmeasure = "label_disclosure"\nrule = "at_most"\nlimit = 1\n'
EITHER = """[[clause]]
id = "either"
any = [
    { measure = "k_anonymity", rule = "at_least", limit = 12 },
    { measure = "label_disclosure", rule = "at_most", limit = 0.6 },
]
scope = "leaf"
"""


@pytest.fixture
def audited(files):
    """Return what audits the model under a policy of these clauses, and gives its exit code and its document."""

    def audit(*clauses, more=(), head=HEAD, command="audit"):
        policy = files.folder / "ours.toml"
        policy.write_text(head + "".join(clauses), encoding="utf-8")
        outcome = files.run(command, "--policy", policy, "--format", "json", *more)
        assert outcome.exit_code in (0, 1, 3), outcome.stderr
        document = unpack(json.loads(outcome.stdout))
        validator_of(SCHEMA_FILE.read_bytes()).validate(document)
        return outcome.exit_code, document

    return audit


def finding(document, name):
    return next(each for each in document["findings"] if each["clause"] == name)


def test_a_warning_counts_where_it_is_asked_for(audited):
    clauses = (SMALL, LARGE + 'severity = "warning"\n')
    assert audited(*clauses)[0] == 0
    assert audited(*clauses, more=["--fail-on", "error"])[0] == 0
    code, document = audited(*clauses, more=["--fail-on", "warning"])
    assert (code, document["fail_on"], document["verdict"]) == (1, "warning", "FAIL")


def test_a_note_is_said_and_counts_only_where_it_is_asked_for(audited, files):
    clauses = (SMALL, LARGE + 'severity = "note"\n')
    assert audited(*clauses, more=["--fail-on", "warning"])[0] == 0
    assert audited(*clauses, more=["--fail-on", "note"])[0] == 1
    policy = files.folder / "ours.toml"
    assert "FAIL (note) large: " in files.run("audit", "--policy", policy, "--verbose").stdout
    page = files.run("audit", "--policy", policy, "--format", "html").stdout
    assert "note only" in page


def test_a_check_that_a_policy_drops_is_called_by_what_it_measures_where_it_is_signed(files):
    (files.folder / "theirs.toml").write_text(HEAD + SMALL + SURE, encoding="utf-8")
    policy = files.folder / "mine.toml"
    policy.write_text(
        'name = "mine"\nversion = "1"\ntitle = "Mine"\nextends = "theirs.toml"\n'
        '[[clause]]\nid = "sure"\ndrop = true\nloosen = "nobody reads it"\n',
        encoding="utf-8",
    )
    page = files.run("audit", "--policy", policy, "--format", "compliance").stdout
    start = page.index("Checks that do not apply")
    rows = re.sub(r"<[^>]*>", " ", page[start : start + 1500])
    name = measures()["confidence"].plain
    assert re.search(rf"{name}\s+left out by this policy: nobody reads it", rows, re.IGNORECASE)
    assert "Sure" not in rows


def test_an_unknown_severity_to_fail_on_is_a_slip_of_the_command(files):
    assert files.run("audit", "--fail-on", "fatal").exit_code == 2


def test_python_asks_the_same_and_refuses_what_is_no_severity(files):
    policy = files.folder / "ours.toml"
    policy.write_text(HEAD + SMALL + LARGE + 'severity = "warning"\n', encoding="utf-8")
    asked = {"sensitive": "flu", "policy": policy}
    assert tw.audit(files.model, files.table, **asked).passed
    harder = tw.audit(files.model, files.table, fail_on="warning", **asked)
    assert not harder.passed
    with pytest.raises(ArgumentError, match="use one of error, warning, note"):
        tw.audit(files.model, files.table, fail_on="fatal", **asked)


def test_a_repair_meets_the_warnings_that_count(audited, files):
    clauses = (SMALL, '[[clause]]\nid = "ten"\nmeasure = "k_anonymity"\nrule = "at_least"\nlimit = 10\n'
               'severity = "warning"\n')  # fmt: skip
    code, document = audited(*clauses, more=["--list"], command="repair")
    assert (code, document["repair"]["attempts"]) == (0, [])
    code, document = audited(*clauses, more=["--fail-on", "warning", "--list"], command="repair")
    assert any(each["verdict"] == "PASS" for each in document["repair"]["attempts"])


def test_a_combined_clause_is_in_every_report_with_its_parts(audited, files):
    code, document = audited(EITHER)
    found = finding(document, "either")
    assert code == 1
    assert (found["measure"], found["scope"], found["limit"], found["rule"]) == (
        "any of",
        "leaf",
        None,
        "",
    )
    assert [part["measure"] for part in found["parts"]] == ["k_anonymity", "label_disclosure"]
    assert found["value"]["text"] == "1 leaf"
    assert found["where"][0]["value"]["text"] == "k_anonymity 8 records, label_disclosure 75 %"
    assert (
        document["leaves"][0]["breaks"][0]["text"] == "k_anonymity 8 records, label_disclosure 75 %"
    )
    policy = files.folder / "ours.toml"
    text = files.run("audit", "--policy", policy, "--verbose").stdout
    assert "k_anonymity 8 records, label_disclosure 75 % at node" in " ".join(text.split())
    assert "any of" not in text
    page = files.run("audit", "--policy", policy, "--format", "html").stdout
    assert "Judged by leaf." in page


def test_a_redacted_report_of_a_combined_clause_says_no_reading_of_its_parts(audited):
    _, document = audited(EITHER, more=["--redacted"])
    found = finding(document, "either")
    assert (found["parts"], found["where"], found["value"]["low"]) == ([], [], None)
    assert document["redacted_below"] == 12
    said = json.dumps(document)
    assert "8 records" not in said
    assert "75 %" not in said


def test_what_is_not_judged_is_said_in_every_report(audited, files):
    other = LARGE + 'when = { model = "boosted" }\n'
    for more in ([], ["--redacted"]):
        code, document = audited(SMALL, other, more=more)
        assert code == 0
        (check,) = document["not_judged"]
        assert check == {
            "name": "large",
            "plain": "fewest people in a leaf",
            "text": "applies to boosted models only",
        }
    policy = files.folder / "ours.toml"
    assert (
        "- large: applies to boosted" in files.run("audit", "--policy", policy, "--verbose").stdout
    )
    page = files.run("audit", "--policy", policy, "--format", "html").stdout
    assert "applies to boosted models only" in page


def test_a_policy_about_other_models_alone_is_never_a_pass(audited):
    code, document = audited(SMALL + 'when = { format = "rpart_json" }\n')
    assert code == 3
    assert finding(document, "nothing-judged")["verdict"] == "UNDETERMINED"
    assert "No required check of the policy" in document["meaning"]


def test_a_clause_is_judged_under_the_knowledge_that_it_assumes_and_says_what_that_leaves_out(
    audited,
):
    code, document = audited(SURE, LABEL)
    assert (code, finding(document, "sure")["verdict"]) == (1, "FAIL")
    code, document = audited(SURE + 'under = { leaf = "labels" }\n', LABEL)
    found = finding(document, "sure")
    assert (code, found["verdict"], found["under"]) == (0, "PASS", "leaf = labels")
    assert "Checked as if an adversary knew leaf = labels." in found["message"]
    assert "publishes class numbers of its leaves" in found["message"]
    assert "A PASS would hold only for a file without it" in found["message"]
    # What the audit assumes else is told as before.
    assert document["readings"]["confidence"]["low"] > 0.6


def test_more_knowledge_may_break_what_the_audit_assumes_to_hold(audited):
    code, _ = audited(SURE, LABEL, more=["--leaf", "labels"])
    assert code == 0
    stronger = SURE.replace('"sure"', '"known"') + 'under = { leaf = "counts" }\n'
    code, document = audited(SURE, stronger, LABEL, more=["--leaf", "labels"])
    assert code == 1
    assert finding(document, "sure")["verdict"] == "PASS"
    assert finding(document, "known")["verdict"] == "FAIL"


def test_a_repair_is_judged_under_the_knowledge_of_every_clause(audited):
    stronger = SURE + 'under = { leaf = "counts" }\n'
    code, document = audited(stronger, LABEL, more=["--leaf", "labels", "--list"], command="repair")
    for each in document["repair"]["attempts"]:
        assert each["verdict"] == "PASS" or "sure" in each["failing"]
    assert document["repair"]["attempts"]


def test_whole_records_are_reasoned_over_for_a_clause_under_its_own_knowledge(audited):
    certain = (
        '[[clause]]\nid = "certain"\nmeasure = "certain_disclosure"\nrule = "at_most"\nlimit = 0\n'
    )
    code, document = audited(certain + 'under = { leaf = "labels", split = "none" }\n')
    assert (code, finding(document, "certain")["value"]["low"]) == (0, 0)
    code, document = audited(certain + 'under = { leaf = "labels" }\n', more=["--no-worlds"])
    assert code == 3


def test_a_pack_that_extends_another_is_named_and_what_it_drops_is_said(audited, files):
    (files.folder / "base.toml").write_text(HEAD + SMALL + LARGE, encoding="utf-8")
    head = 'name = "house"\nversion = "2"\nextends = "base.toml"\n'
    drop = '[[clause]]\nid = "large"\ndrop = true\nloosen = "the board"\n'
    code, document = audited(drop, head=head)
    assert code == 0
    assert document["policy"]["title"] == "Ours"
    assert document["not_judged"] == [
        {
            "name": "large",
            "plain": "fewest people in a leaf",
            "text": "left out by this policy: the board",
        }
    ]


def test_a_pack_that_loosens_silently_is_refused_with_its_clause_and_key(files):
    policy = files.folder / "mine.toml"
    text = 'name = "m"\nversion = "1"\nextends = "standard"\n[[clause]]\nid = "smallest-leaf"\nlimit = 2\n'
    policy.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", policy)
    assert outcome.exit_code == 4
    assert (
        "mine.toml: check 'smallest-leaf': limit: 2 is looser than 10 in 'standard'"
        in outcome.stderr
    )


CERTAIN = (
    '[[clause]]\nid = "certain"\nmeasure = "certain_disclosure"\nrule = "at_most"\nlimit = 0\n'
)


def test_what_a_clause_assumes_and_the_table_contradicts_is_said_with_it(audited):
    _, document = audited(SMALL, CERTAIN + 'under = { split = "gini" }\n')
    said = finding(document, "certain")["message"]
    assert "This assumption does not hold for this table (flu.pmml:15: node '0': " in said


def test_a_clause_whose_assumption_no_table_fits_is_undetermined_and_a_warning_says_why(files):
    rows = files.table.read_text(encoding="utf-8").splitlines()
    hidden = "\n".join(row.rpartition(",")[0] for row in rows)
    files.table.write_text(hidden + "\n", encoding="utf-8")
    policy = files.folder / "ours.toml"
    policy.write_text(HEAD + SMALL + CERTAIN + 'under = { split = "gini" }\n', encoding="utf-8")
    outcome = files.run("audit", "--policy", policy, "--format", "json", sensitive=False)
    document = unpack(json.loads(outcome.stdout))
    assert outcome.exit_code == 3
    assert (
        "not decided, because no audit was made under split = gini"
        in finding(document, "certain")["message"]
    )
    assert finding(document, "small")["verdict"] == "PASS"
    (why,) = [each for each in document["warnings"] if each.startswith("no audit could be made")]
    assert "no table with these quasi-identifiers yields this tree" in why


def test_a_clause_that_holds_only_as_labels_are_assumed_not_to_be_believed_is_doubted(audited):
    code, document = audited(SURE + 'under = { leaf = "labels" }\n')
    assert code == 3
    assert finding(document, "sure")["verdict"] == "PASS"
    assert finding(document, "labels-believed")["verdict"] == "UNDETERMINED"


def test_a_repair_prunes_to_leaves_that_meet_a_combination(audited):
    code, document = audited(EITHER, more=["--list"], command="repair")
    passing = [each for each in document["repair"]["attempts"] if each["verdict"] == "PASS"]
    assert any("prune" in name for each in passing for name in each["remedies"])
    assert all(each["privacy"]["low"] == 1 for each in passing)


def test_a_repair_withholds_what_a_combination_asks_in_any_case(audited):
    both = (
        '[[clause]]\nid = "both"\nall = [\n'
        '    { measure = "confidence", rule = "at_most", limit = 0.6 },\n'
        '    { measure = "label_disclosure", rule = "at_most", limit = 1 },\n]\n'
    )
    code, document = audited(both, more=["--list"], command="repair")
    passing = [each for each in document["repair"]["attempts"] if each["verdict"] == "PASS"]
    assert any(each["remedies"] == ["redact"] for each in passing)
