"""What a redacted report that is filed may repeat: each text of a document has a mark, and each that stays is known."""

import io
import re

import pytest

from tests.reports.conftest import FIXED
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document
from treewarden.reports.figures.officer import named_clauses
from treewarden.reports.renderers import renderer

MAY_STAY = {
    "purpose",
    "headline",
    "assumed_known.columns",
    "model.file",
    "model.format",
    "model.task",
    "model.target",
    "model.quality",
    "model.combination",
    "population.quasi_identifiers",
    "knowledge.sentences",
    "policy.name",
    "policy.version",
    "policy.title",
    "policy.description",
    "policy.sha256",
    "findings.clause",
    "findings.plain",
    "findings.limit_text",
    "findings.why",
    "findings.source",
    "findings.scope",
    "findings.under",
    "findings.guidance.document",
    "findings.guidance.paragraph",
    "findings.guidance.says",
    "not_judged.name",
    "not_judged.text",
    "provenance.version",
    "provenance.model.name",
    "provenance.table.name",
    "provenance.written.name",
    "provenance.pack.name",
    "provenance.created",
    "repair.before.failing",
    "repair.after.failing",
    "repair.attempts.remedies",
    "repair.attempts.numbers_withheld_text",
}
"""Of the policy, of the files, of the model as a whole, and what its owner says; nothing of people or leaves."""
MARK = re.compile(r"Q\d{5}z")
DOCUMENTS = ("document", "proved", "several_trees", "undetermined", "regression", "repaired")
GUIDANCE = {"document": "Statute A", "paragraph": "section 2", "says": "groups of five"}
WAIVED = {"by": "waiver", "reason": "only three people"}


class Marks:
    """Gives each text of a document a mark of its own, and remembers where it stood."""

    def __init__(self):
        self.places = {}

    def put(self, part, trail=()):
        if isinstance(part, dict):
            return {
                name: inner
                if name in FIXED | {"parameters", "measure", "rule", "unit"}
                else self.put(inner, (*trail, name))
                for name, inner in part.items()
            }
        if isinstance(part, list):
            return [self.put(inner, trail) for inner in part]
        if isinstance(part, str) and part and part not in ("inf", "-inf"):
            mark = f"Q{len(self.places):05d}z"
            self.places[mark] = ".".join(trail)
            return mark
        return part


@pytest.fixture(params=DOCUMENTS)
def marked(request):
    """A document of enough people with all that a report may hold, every text a mark; and where each stood."""
    said = request.getfixturevalue(request.param).model_dump(mode="json", by_alias=True)
    said["population"]["records"] = max(said["population"]["records"], 50)
    said |= {"purpose": "to show", "warnings": ["a column of 3 people"]}
    said["not_judged"] = [{"name": "of-forests", "text": "it is one tree"}]
    said["provenance"]["written"] = {"name": "new.pmml", "sha256": "d" * 64}
    for found in said["findings"]:
        found |= {"guidance": [GUIDANCE], "accepted": WAIVED, "source": "a paper"}
    marks = Marks()
    return Document.model_validate(marks.put(said)), marks.places


def text(form, document):
    made = renderer(form).render(document)
    if form == "compliance":
        return made.decode()
    pypdf = pytest.importorskip("pypdf")
    return "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(made)).pages)


def stays(form, document, places):
    return {places[mark] for mark in MARK.findall(text(form, document)) if mark in places}


@pytest.mark.parametrize("form", ["compliance", "pdf"])
def test_a_redacted_report_repeats_nothing_but_what_may_be_told(marked, form):
    if form == "pdf":
        pytest.importorskip("typst", reason="typst is not installed: treewarden[pdf]")
    document, places = marked
    public = redacted(document)
    of_large_groups = {
        mark
        for before, after in zip(document.findings, public.findings, strict=True)
        if after.value == before.value
        for mark in [before.value.text]
    }
    known = {mark: place for mark, place in places.items() if mark not in of_large_groups}
    kept = stays(form, public, known)
    assert kept - MAY_STAY == set()
    assert {"purpose", "findings.plain", "policy.sha256"} <= kept


def test_names_of_clauses_in_a_filed_report_are_of_the_policy_alone(marked):
    document, places = marked
    first, last = document.findings[0], document.findings[-1]
    twin = first.model_copy(update={"clause": "again", "limit_text": last.limit_text})
    findings = (*document.findings, twin, twin.model_copy(update={"clause": "third"}))
    names = names_of(document, findings)
    said = {places[mark] for mark in MARK.findall(" ".join(names))}
    assert "findings.plain" in said
    assert said <= {"findings.clause", "findings.plain", "findings.limit_text"}
    read = {name: getattr(last, name) for name in ("value", "verdict", "message", "where", "id")}
    assert names_of(document, [each.model_copy(update=read) for each in findings]) == names


def names_of(document, findings):
    changed = named_clauses(document.model_copy(update={"findings": tuple(findings)}))
    return [each.clause for each in changed.findings]


def test_the_full_report_does_repeat_what_is_left_out_of_a_redacted_one(marked):
    document, places = marked
    kept = stays("compliance", document, places)
    assert {"findings.accepted.reason", "provenance.table.sha256", "warnings"} <= kept
