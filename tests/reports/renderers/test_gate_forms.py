"""What holds of every form of a gate: nothing confidential in it, the same ids everywhere, the same bytes again."""

import json
import re

import pytest

from tests.kit.schemas import validator_of
from tests.reports.gates import KNOWN, fails_in_many_leaves, with_leaves
from tests.reports.renderers.test_html import Reader
from treewarden.reports.building.entry import entry_of, gate_of
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.gate import Gate, gate_schema
from treewarden.reports.document.parts import Value
from treewarden.reports.document.schema import GATE_SCHEMA_FILE
from treewarden.reports.figures.gate_rows import gate_rows
from treewarden.reports.renderers import GateRenderer, names, rendered, renderer

FORMS = [name for name in names() if isinstance(renderer(name), GateRenderer)]
ALONE = [name for name in FORMS if not renderer(name).has_reports]
PLANTED = ("Zaphod Beeblebrox", "4711", "tuberculosis")
"""A profile, a count of few people and a true value."""


def shown(form, gate):
    return renderer(form).render_gate(gate).decode("utf-8")


def planted(document):
    """Return a document that holds what may not be told in every place where a report has such things."""
    profile, count, truth = PLANTED
    value = Value(low=4711, high=4711, text=f"{count} records")
    findings = tuple(
        each.model_copy(
            update={
                "value": value,
                "message": f"{count} records, as of {profile}, who has {truth}",
                "accepted": KNOWN.model_copy(update={"reason": f"{count} people then"}),
                "where": tuple(
                    place.model_copy(
                        update={
                            "profile": profile,
                            "value": value,
                            "note": f"{truth} is certain of {profile}",
                        }
                    )
                    for place in each.where
                ),
            }
        )
        for each in document.findings
    )
    said = f"{count} people such as {profile} have {truth}"
    return document.model_copy(
        update={"findings": findings, "headline": said, "meaning": said, "warnings": (said,)}
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_profile_true_value_or_count_of_people_reaches_a_form_of_a_gate(form, document):
    told = with_leaves(planted(document))
    said = shown(form, gate_of([entry_of(told)], "error"))
    assert document.findings[0].clause in said.replace("\\_", "_")
    assert [secret for secret in PLANTED if secret in said] == []


@pytest.mark.parametrize("form", ALONE)
def test_no_profile_true_value_or_count_of_people_reaches_a_report_in_such_a_form(form, document):
    said = rendered(renderer(form), planted(document), "models/loan.pmml").decode("utf-8")
    assert "models/loan.pmml" in said
    assert [secret for secret in PLANTED if secret in said] == []


@pytest.mark.parametrize("form", FORMS)
def test_a_gate_is_rendered_to_the_same_bytes_each_time(form, any_gate):
    assert shown(form, any_gate) == shown(form, any_gate)


@pytest.mark.parametrize("form", FORMS)
def test_every_finding_has_the_same_id_in_each_form(form, gate):
    said = shown(form, gate)
    assert {row.result.id for row in gate_rows(gate) if row.result.id not in said} == set()


@pytest.mark.parametrize("form", FORMS)
def test_what_was_accepted_stays_visible_with_its_reason(form, gate):
    said = shown(form, gate)
    assert "the board of 3 May knows" in said
    assert "0.987654" not in said


@pytest.mark.parametrize("form", FORMS)
def test_every_model_is_named_also_one_without_audit(form, gate):
    said = shown(form, gate)
    assert all(
        entry.name.replace("#", "&#35;") in said or entry.name.replace(" ", "%20") in said
        for entry in gate.entries
        if entry.outcome in ("FAIL", "NO AUDIT")
    )
    assert "not a tree; export it" in said


@pytest.mark.parametrize("form", FORMS)
def test_no_control_or_direction_changing_character_reaches_a_form(form, hostile_gate):
    assert not set("\x1b\x00\u202e") & set(shown(form, hostile_gate))


def test_the_schema_of_gates_is_current_and_every_gate_is_valid_by_it(any_gate):
    assert GATE_SCHEMA_FILE.read_bytes() == gate_schema(), (
        "run: python -m treewarden.reports.document.schema"
    )
    said = json.loads(shown("json", any_gate))
    validator = validator_of(gate_schema())
    assert list(validator.iter_errors(said)) == []
    assert Gate.model_validate(said) == any_gate


def test_the_page_of_a_gate_is_well_formed_loads_nothing_and_takes_no_orders(any_gate):
    page = shown("html", any_gate)
    read = Reader(page)
    assert len(read.ids) == len(set(read.ids))
    wanted = [value[1:] for name, value in read.attributes if name.endswith("href")]
    assert set(wanted) <= set(read.ids)
    assert "script" not in read.tags
    assert "http" not in page
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert read.tags.count("table") == read.tags.count("caption")


def test_the_page_of_a_gate_begins_with_its_outcome(gate):
    page = shown("html", gate)
    assert "<title>NO AUDIT: 6 models" in page
    assert page.index('<p class="word">NO AUDIT') < page.index("<h2")


def test_the_text_of_a_gate_has_one_line_for_each_finding(gate):
    said = shown("text", gate)
    lines = [line for line in said.splitlines() if re.search(r"\[[0-9a-f]{16}\]$", line)]
    assert len(lines) == len(gate_rows(gate))
    assert "  models/loan.pmml:11: error 0-k_anonymity: " in said


def test_the_table_of_models_is_no_wider_than_a_terminal():
    entry = (
        fails_in_many_leaves(1).entries[0].model_copy(update={"headline": "not met: " + "a, " * 60})
    )
    said = shown("text", gate_of([entry], "error"))
    table = said[said.index("Models") : said.index("Failed or not decided\n")].splitlines()
    assert table[1].split() == ["FAIL", "m0.pmml", "1", "error"]
    assert max(map(len, table)) <= 100


def test_a_hostile_name_cannot_begin_a_line_of_the_text(hostile_gate):
    said = shown("text", hostile_gate)
    assert all(sign.isprintable() for sign in said.replace("\n", ""))


def test_a_clause_has_an_id_in_each_leaf_that_breaks_it_and_one_as_a_whole(document):
    said = json.loads(shown("json", gate_of([entry_of(document)], "error")))
    first = said["entries"][0]["results"][0]
    assert first["leaf"]
    assert first["id"] == finding_id(document.findings[0].clause, first["leaf"])
    bare = [each.model_copy(update={"where": ()}) for each in document.findings]
    whole = document.model_copy(update={"findings": tuple(bare)})
    said = json.loads(shown("json", gate_of([entry_of(whole)], "error")))
    assert said["entries"][0]["results"][0]["id"] == finding_id(bare[0].clause)


@pytest.mark.parametrize(("fail_on", "is_milder"), [("error", True), ("warning", False)])
def test_the_page_marks_a_warning_as_milder_only_where_warnings_do_not_count(
    document, fail_on, is_milder
):
    findings = tuple(each.model_copy(update={"severity": "warning"}) for each in document.findings)
    told = document.model_copy(update={"findings": findings, "fail_on": fail_on})
    page = shown("html", gate_of([entry_of(told)], fail_on))
    assert ("advisory (warning)" in page) is is_milder
