"""Columns assumed known and not judged: named in every form, names escaped, and no count where others read."""

import json

import pytest

from treewarden.reports.building.entry import entry_of, gate_of
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document, one_line
from treewarden.reports.document.parts import AssumedKnown, ProvedBySizes, as_json
from treewarden.reports.renderers import rendered, renderer

PROVED = ProvedBySizes(
    column="hiv", people=24, node="6", path="over70 > 0.5", text="hiv for 24 people"
)
FOUND = AssumedKnown(
    columns=("over70", "hiv"),
    proved=(PROVED,),
    incomplete=("1 of 2 trees does not tell",),
    summary="assumed known to adversaries, so not judged: over70, hiv. For some people, the leaf sizes disclose hiv",
)
OF_GATES = ("text", "markdown", "html", "sarif", "github", "junit", "json")
LINE = "assumed known to adversaries, so not judged: over70, hiv. For some people, the leaf sizes disclose hiv"


def telling(document, found=FOUND):
    return document.model_copy(update={"assumed_known": found})


@pytest.mark.parametrize("form", ["text", "html", "json", "compliance"])
def test_every_report_names_what_was_assumed_known_and_what_sizes_prove(document, form):
    page = renderer(form).render(telling(document)).decode()
    assert "ssumed known to adversaries, so not judged" in page
    assert "over70" in page
    assert "hiv for 24 people" in page
    assert "1 of 2 trees does not tell" in page


@pytest.mark.parametrize("form", OF_GATES)
def test_every_form_of_a_gate_says_it_in_a_line_and_without_a_count(passing, form):
    gate = gate_of([entry_of(telling(passing))], "error")
    page = " ".join(renderer(form).render_gate(gate).decode().split())
    assert LINE in page.replace("Assumed", "assumed")
    assert "24 people" not in page


@pytest.mark.parametrize("form", ["text", "html", "json", "compliance", "markdown", "sarif"])
def test_a_redacted_report_names_columns_and_counts_nobody(passing, form):
    public = redacted(telling(passing))
    assert public.assumed_known.columns == ("over70", "hiv")
    page = rendered(renderer(form), public, "m.pmml").decode()
    assert "hiv" in page
    assert "24 people" not in page
    assert "over70 > 0.5" not in page


@pytest.mark.parametrize("form", OF_GATES)
def test_names_that_break_lines_or_hold_marks_are_escaped(passing, form):
    name = "<b>age</b>\n::error::x\u202e"
    found = FOUND.model_copy(update={"columns": (name,), "proved": ()})
    page = renderer(form).render_gate(gate_of([entry_of(telling(passing, found))], "error"))
    said = page.decode()
    assert "\u202e" not in said
    assert "\n::error::x" not in said
    assert form in ("text", "github", "json", "sarif") or "<b>age" not in said


def test_of_many_columns_a_line_names_the_first_and_counts_the_rest():
    said = one_line([f"c{i}" for i in range(9)] + ["x" * 200])
    assert (
        said == "assumed known to adversaries, so not judged: c0, c1, c2, c3, c4 and 5 more columns"
    )
    assert len(one_line(["x" * 200])) < 110
    assert (
        one_line([])
        == "assumed known to adversaries, so not judged: nothing: the model tests no column"
    )


def test_an_older_document_that_does_not_tell_still_loads_and_renders(document):
    said = json.loads(as_json(document))
    del said["assumed_known"]
    old = Document.model_validate(said)
    assert old.assumed_known is None
    assert entry_of(old).assumed_known == ""
    for form in ("text", "html", "compliance"):
        assert (
            "ssumed known to adversaries, so not judged" not in renderer(form).render(old).decode()
        )
