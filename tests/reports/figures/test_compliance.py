"""What is filed: every section that a data protection officer needs, in order, and nothing that claims more."""

import re

import pytest

from tests.kit.rows import rows
from treewarden.audit.reading import exactly
from treewarden.policies import clause
from treewarden.policies.judging import decision as decisions
from treewarden.policies.verdict import PolicyVerdict
from treewarden.reports.building.build import finding_part
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.parts import (
    Accepted,
    ColumnMeaning,
    Guidance,
    Piece,
    Row,
    UnjudgedClause,
    Value,
)
from treewarden.reports.figures.compliance import DISCLAIMER, MOST_PLACES, filing
from treewarden.reports.figures.officer import named_clauses, signed
from treewarden.reports.figures.remaining import (
    Blanks,
    Boxes,
    Items,
    LabelledConditions,
    Paragraph,
    ReportTable,
    remaining_risk,
)

ORDER = [
    "purpose",
    "subject",
    "adversary",
    "questions",
    "policy",
    "clauses",
    "guidance",
    "waivers",
    "risk",
    "unexamined",
]
WAIVED = Accepted(by="waiver", reason="the board allowed it until June")
PARAGRAPHS = (
    Guidance(document="Statute A", paragraph="section 2(1)", says="groups of five"),
    Guidance(document="Statute A", paragraph="section 3"),
)
OTHER = (Guidance(document="Handbook B", paragraph="page 7", says="no certainty"),)


def section(document, ident):
    (found,) = [each for each in filing(document).sections if each.ident == ident]
    return found.blocks


def words(blocks):
    """Return all that some blocks say, as one text."""
    said = []
    for block in blocks:
        if isinstance(block, Paragraph):
            said.append(block.text)
        elif isinstance(block, Items):
            said += block.items
        elif isinstance(block, ReportTable):
            said += [block.caption, *block.headings]
            said += [f"{c.text} {c.aside} {c.note}" for row in block.rows for c in row]
        else:
            said += block.labels
    return "\n".join(said)


def with_findings(document, **changes):
    """Return the document with its first findings changed: by the number of the finding."""
    findings = list(document.findings)
    for number, change in changes.items():
        at = int(number.removeprefix("at"))
        findings[at] = findings[at].model_copy(update=change)
    return document.model_copy(update={"findings": tuple(findings)})


def test_the_sections_stand_in_the_order_in_which_they_are_filed(document, repaired):
    assert [each.ident for each in filing(document).sections] == [*ORDER, "sign-off", "terms"]
    assert [each.ident for each in filing(repaired).sections] == [
        *ORDER,
        "repair",
        "sign-off",
        "terms",
    ]


def test_it_says_that_it_claims_no_compliance(any_document):
    said = filing(any_document)
    assert said.disclaimer == DISCLAIMER
    assert "does not state that a law" in DISCLAIMER


def test_a_purpose_that_is_given_stands_there_and_else_there_is_a_line(document):
    given = document.model_copy(update={"purpose": "To triage calls."})
    assert section(given, "purpose") == (Paragraph("To triage calls."),)
    assert any(isinstance(block, Blanks) for block in section(document, "purpose"))


def test_model_table_and_policy_are_named_with_their_digests(document):
    said = words(section(document, "subject")) + words(section(document, "policy"))
    for file in (document.provenance.model, document.provenance.table):
        assert file.name in said
        assert file.sha256 in said
    assert document.policy.sha256 in said
    assert document.policy.version in said


def test_a_repaired_file_is_named_with_its_digest(repaired):
    written = repaired.provenance.model.model_copy(update={"name": "new.pmml", "sha256": "d" * 64})
    told = repaired.provenance.model_copy(update={"written": written})
    said = words(section(repaired.model_copy(update={"provenance": told}), "subject"))
    assert "new.pmml" in said
    assert "d" * 64 in said


def test_each_clause_stands_with_its_reading_its_limit_and_its_result(document):
    (table,) = section(document, "clauses")
    rows = [tuple(cell.text for cell in row) for row in table.rows]
    assert rows == [
        (each.clause, each.verdict, each.value.text, each.limit_text)
        for each in named_clauses(document).findings
    ]


def test_what_is_filed_names_clauses_in_words_and_tells_two_limits_of_one_measure_apart(document):
    first = document.findings[0]
    twin = first.model_copy(update={"clause": "0-again", "limit_text": "at least 9 records"})
    message = {"message": f"'{first.clause}' is not met"}
    ids = [each.clause for each in document.findings]
    doubled = with_findings(document, at1=message)
    doubled = doubled.model_copy(update={"findings": (*doubled.findings, twin)})
    said = " ".join(words(each.blocks) for each in filing(doubled).sections)
    assert [each for each in (*ids, "0-again") if each in said] == []
    names = [each.clause for each in named_clauses(doubled).findings]
    assert len(set(names)) == len(names)
    assert f"Fewest people in a leaf ({twin.limit_text})" in names


def test_a_clause_says_where_it_is_judged_and_under_which_knowledge_where_the_policy_does(document):
    said = {"scope": "leaf", "under": "leaf = labels, split = none"}
    first, second = section(with_findings(document, at0=said), "clauses")[0].rows[:2]
    assert "Judged leaf by leaf." in first[0].note
    assert "as if an adversary knew: leaf = labels, split = none." in first[0].note
    assert "Judged" not in second[0].note


def test_where_each_limit_comes_from_is_said_even_where_nobody_says_it(document):
    sourced = with_findings(document, at0={"source": "Handbook B, page 7"})
    said = words(section(sourced, "policy"))
    assert "Handbook B, page 7" in said
    assert "none given" in said


def test_a_combined_clause_is_a_clause_and_a_doubt_about_the_evidence_is_none(document):
    both = with_findings(
        document,
        at0={"measure": "", "limit_text": "both of these hold", "clause": "combined"},
        at1={"measure": "", "limit_text": "–", "clause": "table-agrees"},
    )
    limits = words(section(both, "policy"))
    assert "Combined" in limits
    assert "Table agrees" not in limits
    (table,) = section(both, "clauses")
    assert [row[2].text for row in table.rows[:2]] == [document.findings[0].value.text, "–"]


def test_what_the_adversary_knows_is_told_in_full(document):
    said = words(section(document, "adversary"))
    assert [each for each in document.knowledge.sentences if each not in said] == []


def test_evidence_is_mapped_to_paragraphs_document_by_document(document):
    mapped = with_findings(
        document,
        at0={"guidance": PARAGRAPHS[:1]},
        at1={"guidance": OTHER},
        at2={"guidance": PARAGRAPHS[1:]},
    )
    note, table = section(mapped, "guidance")
    named = named_clauses(mapped).findings
    assert "does not mean that the paragraph is complied with" in note.text
    assert [(row[0].text, row[0].note, row[1].text) for row in table.rows] == [
        ("Statute A, section 2(1)", "groups of five", named[0].clause),
        ("Statute A, section 3", "", named[2].clause),
        ("Handbook B, page 7", "no certainty", named[1].clause),
    ]


def test_without_guidance_the_mapping_says_so(document):
    assert "refers to guidance" in words(section(document, "guidance"))


def test_guidance_of_a_decision_reaches_the_document(document):
    first = document.findings[0]
    found = decisions.Finding(
        clause="c",
        requirement=decisions.ClauseRequirement(
            measure=first.measure, rule=first.rule, limit=5, unit="records"
        ),
        severity="error",
        reading=exactly(3.0),
        verdict=PolicyVerdict.FAIL,
        message="m",
        guidance=(
            clause.Guidance(document="Statute A", paragraph="section 2(1)", says="groups of five"),
        ),
    )
    assert finding_part(found).guidance == PARAGRAPHS[:1]


def test_what_was_accepted_is_listed_with_its_reason_and_does_not_count(document):
    failed = next(n for n, each in enumerate(document.findings) if each.verdict == "FAIL")
    waived = with_findings(document, **{f"at{failed}": {"accepted": WAIVED}})
    said = words(section(waived, "waivers"))
    assert WAIVED.reason in said
    assert "the model as a whole" in said
    risk = words(section(waived, "risk"))
    assert risk.index("but not required") < risk.index(
        f"{named_clauses(waived).findings[failed].clause}: "
    )
    (table,) = section(waived, "clauses")
    assert table.rows[failed][1].aside == "accepted by a waiver"


def test_a_policy_that_is_met_only_as_something_was_accepted_is_not_called_met_as_it_is(passing):
    plain = words(section(passing, "risk"))
    waived = words(section(with_findings(passing, at0={"accepted": WAIVED}), "risk"))
    assert plain.startswith("The policy is met. Up to")
    assert waived.startswith("The policy is met only because")


@pytest.mark.parametrize(("fail_on", "said"), [("error", "warning only"), ("warning", "")])
def test_a_warning_is_called_one_only_where_it_does_not_count(document, fail_on, said):
    failed = next(n for n, each in enumerate(document.findings) if each.verdict == "FAIL")
    warned = with_findings(document, **{f"at{failed}": {"severity": "warning"}})
    (table,) = section(warned.model_copy(update={"fail_on": fail_on}), "clauses")
    assert table.rows[failed][1].aside == said


def test_a_place_in_the_file_is_told_by_its_kind(several_trees):
    leaked = next(
        n for n, each in enumerate(several_trees.findings) if each.measure == "side_leaks"
    )
    place = several_trees.findings[leaked].where[0].model_copy(update={"accepted": WAIVED})
    waived = with_findings(several_trees, **{f"at{leaked}": {"where": (place,)}})
    assert f"{place.path} ({place.node})" in words(section(waived, "waivers"))


def test_a_place_in_one_of_several_trees_is_told_with_its_tree(several_trees):
    small = next(n for n, each in enumerate(several_trees.findings) if each.where[0].tree == 1)
    place = several_trees.findings[small].where[0].model_copy(update={"accepted": WAIVED})
    waived = with_findings(several_trees, **{f"at{small}": {"where": (place,)}})
    assert f"tree 2: {place.path}" in words(section(waived, "waivers"))


def test_accepted_places_are_listed_with_their_paths_up_to_a_number(document):
    found = next(n for n, each in enumerate(document.findings) if each.where)
    place = document.findings[found].where[0].model_copy(update={"accepted": WAIVED})
    many = with_findings(document, **{f"at{found}": {"where": (place,) * (MOST_PLACES + 3)}})
    *_, table, rest = section(many, "waivers")
    assert len(table.rows) == MOST_PLACES
    assert place.path in table.rows[0][1].text
    assert rest.text.startswith("3 more")


def test_without_waivers_that_is_said(document):
    assert "None" in words(section(document, "waivers"))


@pytest.mark.parametrize("name", ["passing", "document", "undetermined"])
def test_the_remaining_risk_never_says_that_there_is_none(request, name):
    said = words(section(request.getfixturevalue(name), "risk"))
    assert any(part in said for part in ("can still learn", "may be larger", "can be learned"))


def test_what_is_not_met_is_told_in_the_words_of_the_finding(document):
    said = words(section(document, "risk"))
    broken = [each.message for each in document.findings if each.verdict != "PASS"]
    assert broken
    assert [each for each in broken if each not in said] == []


def test_a_failed_check_whose_message_begins_with_its_name_is_named_once(document):
    finding = document.findings[0]
    name = "Fewest people in a leaf"
    plain = finding.model_copy(
        update={
            "clause": "smallest-leaf",
            "plain": "fewest people in a leaf",
            "message": f"{name}: 1 record",
            "verdict": "FAIL",
        }
    )
    named = named_clauses(document.model_copy(update={"findings": (plain,)}))
    assert words(remaining_risk(named)).count(name) == 1


def test_the_table_of_published_elements_never_calls_labels_harmless(document):
    said = words(section(document, "risk"))
    assert document.plots.levels[0].name == "labels only"
    assert "does not say that labels alone are harmless" in said


def test_what_each_published_element_adds_is_told_with_what_is_not_known(document):
    said = words(section(document, "risk"))
    for level in document.plots.levels:
        assert level.name in said
        assert level.guess_accuracy.text in said
    assert "it stalled" in said


def test_a_clause_that_was_not_judged_is_not_passed_over(document):
    skipped = (UnjudgedClause(name="for-forests", text="the model is one tree"),)
    said = words(section(document.model_copy(update={"not_judged": skipped}), "unexamined"))
    assert "For forests" in said
    assert "the model is one tree" in said


def test_a_clause_that_was_not_judged_is_called_by_what_it_would_measure(document):
    skipped = (UnjudgedClause(name="gain", text="one tree", plain="share of correct guesses"),)
    said = words(section(document.model_copy(update={"not_judged": skipped}), "unexamined"))
    assert "Share of correct guesses" in said
    assert "Gain" not in said


def test_a_combined_clause_is_called_by_what_it_combines(document):
    piece = Piece(
        measure="k_anonymity",
        parameters={},
        plain="fewest people in a leaf",
        rule="at_least",
        limit=3,
        limit_text="at least 3",
        unit="people",
        value=document.findings[0].value,
        verdict="PASS",
    )
    other = piece.model_copy(update={"plain": "fewest values in a leaf"})
    changed = {"measure": "any of", "parts": (piece, other), "clause": "x-1"}
    names = [each.clause for each in named_clauses(with_findings(document, at0=changed)).findings]
    assert names[0] == "Fewest people in a leaf; fewest values in a leaf"


THAL = ColumnMeaning(
    name="thal",
    label="Scan",
    values=tuple(
        Row(name=value, text=text)
        for value, text in (("3", "normal"), ("6", "fixed"), ("7", "reversible"))
    ),
    all_labelled=True,
)
SEX = ColumnMeaning(
    name="sex",
    values=(Row(name="F", text="woman"), Row(name="M", text="man")),
)
AGE = ColumnMeaning(name="age", label="Age", values=(Row(name="-9", text="refused"),))
BAND = ColumnMeaning(
    name="band",
    label="Band",
    values=tuple(Row(name=str(number), text=f"band {number}") for number in range(1, 10)),
    all_labelled=True,
)


@rows(
    ("condition", "said"),
    [
        ("thal > 6.5", "Scan is “reversible” (not “normal” or “fixed”)"),
        ("4.5 < thal ≤ 6.5", "Scan is “fixed” (not “normal” or “reversible”)"),
        ("thal ≥ 6", "Scan is “fixed” or “reversible” (not “normal”)"),
        ("thal > 6", "Scan is “reversible” (not “normal” or “fixed”)"),
        ("3 ≤ thal < 6", "Scan is “normal” (not “fixed” or “reversible”)"),
        ("thal > 9", "Scan > 9"),
        ("thal = 6", "Scan is “fixed”"),
        ("thal = 6.5", "Scan is “6.5”"),
        ("sex ≠ F", "sex is not “woman”"),
        ("sex in {F, M}", "sex is “woman” or “man”"),
        ("sex not in {F, X}", "sex is not “woman” or “X”"),
        ("band > 2.5", "Band is from “band 3” to “band 9” (not “band 1” or “band 2”)"),
        ("band ≤ 2.5", "Band is “band 1” or “band 2”"),
        ("age ≤ 50", "Age ≤ 50"),
        ("30 < age ≤ 50", "30 < Age ≤ 50"),
        ("wage > 6.5 and thal.x > 6", "wage > 6.5 and thal.x > 6"),
        ("Path: age > 50.", "Path: Age > 50."),
    ],
)
def test_conditions_of_paths_are_in_the_words_of_the_dictionary(condition, said):
    assert LabelledConditions((THAL, SEX, AGE, BAND)).in_words(condition) == said


def test_a_threshold_between_labels_says_both_where_not_every_value_has_one():
    some = THAL.model_copy(update={"all_labelled": False})
    conditions = LabelledConditions((some,))
    assert conditions.in_words("thal > 6.5") == "Scan > 6.5 (between “fixed” and “reversible”)"
    assert conditions.in_words("thal > 4.5") == "Scan > 4.5"


def test_what_is_filed_has_conditions_and_known_columns_in_words(document):
    detail = document.lessons[0].model_copy(update={"detail": "Path: thal > 6.5 and x ≤ 2."})
    known = document.population.model_copy(update={"quasi_identifiers": ("thal", "x")})
    filed = document.model_copy(
        update={"lessons": (detail,), "columns": (THAL,), "population": known}
    )
    assert "Path: Scan is “reversible” (not “normal” or “fixed”) and x ≤ 2." in words(
        section(filed, "risk")
    )
    assert "Scan (thal) and x" in words(section(filed, "questions"))


def test_a_purpose_keeps_the_words_of_the_owner(document):
    filed = document.model_copy(update={"purpose": "only if thal > 6.5", "columns": (THAL,)})
    assert "only if thal > 6.5" in words(section(filed, "purpose"))


def test_a_reading_that_could_not_be_told_stands_with_its_reason(undetermined):
    said = words(section(undetermined, "unexamined"))
    open_ = [
        each for each in named_clauses(undetermined).findings if each.verdict == "UNDETERMINED"
    ]
    assert open_
    for each in open_:
        assert each.clause in said
        assert each.value.reason.rstrip(".")[1:] in said


def test_dropped_statements_and_warnings_are_told(document):
    warned = document.model_copy(update={"warnings": ("a column was left out",)})
    said = words(section(warned, "unexamined"))
    assert document.dropped[0].problem in said
    assert "a column was left out" in said


def test_the_limits_of_the_method_are_told_as_they_fit_the_model(
    document, several_trees, regression
):
    alone, several, number = (
        words(section(each, "unexamined")) for each in (document, several_trees, regression)
    )
    assert "Membership" in alone
    assert "trees disclose together" not in alone
    assert "trees disclose together" in several
    assert "Probable numbers" in number


def test_a_repair_tells_what_was_changed_and_what_it_costs(repaired):
    said = words(section(repaired, "repair"))
    made = next(each for each in repaired.repair.attempts if each.is_applied)
    for told in (made.title, made.accuracy_after.text, made.predictions_changed_text):
        assert told in said
    assert named_clauses(repaired).repair.before.failing[0] in said


def test_a_repair_that_found_nothing_says_that_nothing_was_changed(unrepaired):
    assert "No change was made." in words(section(unrepaired, "repair"))


def test_there_are_lines_to_sign(document):
    who, boxes, lines = section(document, "sign-off")
    assert who.text.startswith(
        "The controller decides and signs. The data protection officer advises"
    )
    assert isinstance(boxes, Boxes)
    assert lines == Blanks(("Name", "Role", "Date", "Signature"))


def test_a_redacted_reading_is_left_out_and_not_called_unknown(document):
    people = document.population.model_copy(update={"records": 50})
    public = redacted(document.model_copy(update={"population": people}))
    (table,) = section(public, "clauses")
    assert {row[2].text for row in table.rows} == {"left out"}


def test_a_redacted_report_keeps_no_reason_of_a_waiver(document):
    people = document.population.model_copy(update={"records": 50})
    waived = with_findings(document, at0={"accepted": WAIVED})
    public = redacted(waived.model_copy(update={"population": people}))
    said = words(section(public, "waivers"))
    assert WAIVED.reason not in said
    assert "waiver" in said


FLAG = re.compile(r"(?<![\\w-])--[a-z]")


def test_what_is_signed_names_no_flag_command_or_id_of_code(any_document):
    told = any_document.model_copy(
        update={
            "warnings": (
                "'flu' is taken for it on your word (--sensitive)",
                "name who is who with --id COLUMN; see 'treewarden audit'",
            ),
            "findings": tuple(
                finding.model_copy(update={"message": f"{finding.message} (--worlds-budget)"})
                for finding in any_document.findings
            ),
        }
    )
    assert not FLAG.search(filing(told).banner)
    for each in filing(told).sections:
        said = words(each.blocks)
        assert not FLAG.search(said), said
        assert "treewarden audit" not in said
        assert "treewarden-report/" not in said
        assert any_document.model.format not in said or "_" not in any_document.model.format
    said = words(section(told, "unexamined"))
    assert "'flu' is taken for it on your word" in said
    assert "name who is who with the column that says who is who; see the program's audit" in said


def test_the_questions_of_guidance_are_answered_or_said_to_be_not_measured(document):
    (table,) = [block for block in section(document, "questions") if isinstance(block, ReportTable)]
    assert all(measured.text and missing.text for _, measured, missing in table.rows)
    answers = {
        question.text: (measured.text, missing.text) for question, measured, missing in table.rows
    }
    assert {each.note.split(",")[0] for each, *_ in table.rows} == {"EDPB", "GDPR", "ICO"}
    extracted = next(told for question, told in answers.items() if "extracted" in question)
    assert document.readings["disclosure"].text in extracted[0]
    assert (
        "Not decided: people whose value the file proves (the search for proved values was switched off)"
        in extracted[0]
    )
    member = next(told for question, told in answers.items() if "membership" in question)
    assert member[0] == "Not measured."


def test_without_a_reading_a_question_is_not_measured_and_the_reason_is_told(document):
    lost = {
        name: reading.model_copy(
            update={"low": None, "high": None, "text": "not decided", "reason": "there is no table"}
        )
        for name, reading in document.readings.items()
    }
    said = words(section(document.model_copy(update={"readings": lost}), "questions"))
    assert "Not measured. There is no table." in said
    public = words(section(redacted(document), "questions"))
    assert "left out of this report" in public


def test_records_in_the_file_are_told_apart_from_seeds_and_dates(document):
    def reading(items):
        return Value(low=items, high=items, text=f"{items} items")

    readings = {"side_leaks[kind=people]": reading(0), "side_leaks": reading(3)}
    blocks = section(document.model_copy(update={"readings": readings}), "questions")
    (_, measured, missing) = blocks[1].rows[2]
    assert measured.text.startswith("Records, names or unrecognised content in the file, outside")
    assert "trees: 0 items; all findings outside its trees" in measured.text
    assert measured.text.endswith(": 3 items.")
    assert "not read" not in missing.text


def test_a_redacted_report_does_not_say_that_the_file_was_not_read(document):
    (_, measured, missing) = section(redacted(document), "questions")[1].rows[2]
    assert "left out" in measured.text
    assert "not read" not in missing.text


def test_what_is_signed_says_more_time_as_english_does():
    said = "not decided (a larger --worlds-budget may decide it)"
    assert signed(said) == "not decided (more time for proofs may decide it)"
    assert signed("a larger --time-limit may find more") == "more time for inference may find more"


def test_what_is_filed_refers_to_its_own_headings_and_shows_labels_of_values(document):
    column = ColumnMeaning(
        name="flu", label="influenza", values=(Row(name="no", text="healthy"),), is_sensitive=True
    )
    meaning = "The PASS covers what is listed under “Knowledge assumed”."
    people = document.population.model_copy(update={"shares": (Row(name="“no”", text="3"),)})
    changed = {"meaning": meaning, "columns": (column,), "population": people}
    filed = document.model_copy(update=changed)
    assert "“Adversary and knowledge assumed”" in filing(filed).meaning
    told = words(section(filed, "subject"))
    assert "“no” (healthy)" in told
    assert "Numbers in the leaves" in told
    assert "counts of people" in told


def test_a_source_of_the_authors_is_called_theirs(document):
    changed = with_findings(document, at0={"source": "own judgement"})
    told = words(section(changed, "policy"))
    assert "judgement of the policy's authors" in told
    assert "own judgement" not in told


def test_what_is_assumed_known_is_told_once(document):
    told = words(section(document, "unexamined"))
    assert told.count("Assumed known to adversaries, so not judged") == 1


def test_no_page_says_that_predictions_alone_are_harmless(any_document):
    said = words(section(any_document, "questions"))
    assert "A model that shows only its predictions can disclose data too" in said


def test_a_page_explains_the_terms(document):
    terms = words(section(document, "terms"))
    assert all(
        term in terms
        for term in ("Adversary", "Quasi-identifier", "PASS", "UNDETERMINED", "SHA-256")
    )


def test_a_page_without_labels_says_so_beside_the_columns(document):
    bare = document.model_copy(update={"columns": ()})
    assert "a data dictionary adds labels" in words(section(bare, "subject"))
    labelled = (ColumnMeaning(name=document.model.target, label="what it is", values=()),)
    told = document.model_copy(update={"columns": labelled})
    assert "a data dictionary adds labels" not in words(section(told, "subject"))
