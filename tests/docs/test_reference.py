"""The generated reference leaves nothing out, and nothing that it quotes becomes markup."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from docs._ext.plugins import terms
from docs._ext.reference import FOLDER, PAGES, write_pages
from docs._ext.words import escaped, paragraphs, table
from tests.docs import pages
from treewarden.audit.measures import measures
from treewarden.commands.list import FOLDERS
from treewarden.policies.pack import load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.plugins import summaries
from treewarden.reports.document.packing import json_schema


@pytest.mark.parametrize("kind", FOLDERS)
def test_every_plug_in_has_a_section(kind):
    headings = [line for line in pages.generated(kind).splitlines() if line.startswith("## ")]
    assert headings == [f"## `{name}`" for name in summaries(FOLDERS[kind])]


@pytest.mark.parametrize("pack", shipped_packs())
def test_every_clause_of_a_pack_stands_with_its_limit_and_its_reason(pack):
    section = pages.generated("packs").split(f"## `{pack}`\n")[1].split("\n## ")[0]
    for clause in load_pack(pack).clauses:
        row = next(line for line in section.splitlines() if line.startswith(f"| `{clause.id}` |"))
        assert clause.measure in row
        assert f"- `{clause.id}`: {escaped(clause.why)}" in section


def test_every_parameter_of_a_measure_is_described():
    page = pages.generated("measures")
    told = [f"| `{name}` |" for each in measures().values() for name in each.parameters]
    assert [row for row in told if row not in page] == []


QUESTIONS = {"singling out", "linkability", "inference"}


def test_every_metric_has_the_fields_term_and_the_regulators_question():
    stated = terms()
    assert set(stated) == set(measures())
    for name, each in stated.items():
        assert re.search(r"[A-Za-zδ]{3}", each.field), name
        assert each.question.startswith("none: ") or set(each.question.split(", ")) <= QUESTIONS, (
            name
        )


def test_the_page_of_metrics_names_both_for_each():
    sections = pages.generated("measures").split("\n## `")[1:]
    assert [section.split("`", 1)[0] for section in sections] == list(measures())
    for section in sections:
        name = section.split("`", 1)[0]
        assert f":The field's term: {terms()[name].field}\n" in section
        assert f":Regulators' question: {terms()[name].question}\n" in section


def test_the_terms_name_the_regulators_words_for_adversaries_and_questions():
    text = (pages.DOCS / "terms.md").read_text("utf-8").lower()
    for words in (
        *QUESTIONS,
        "motivated intruder",
        "means reasonably likely",
        "wp216",
        "recital 26",
    ):
        assert words in text


def test_every_part_of_the_schema_has_a_section_with_its_keys():
    page = pages.generated("schema")
    for name, part in json.loads(json_schema())["$defs"].items():
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert [key for key in part["properties"] if f"| `{key}` |" not in section] == []


def test_pages_are_written_once_and_left_alone_where_they_say_the_same(tmp_path, monkeypatch):
    for page in PAGES:
        monkeypatch.setitem(PAGES, page, partial(pages.generated, page))
    write_pages(tmp_path)
    files = sorted((tmp_path / FOLDER).iterdir())
    before = [file.stat().st_mtime_ns for file in files]
    write_pages(tmp_path)
    assert [file.stem for file in files] == sorted(PAGES)
    assert [file.stat().st_mtime_ns for file in files] == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P*(c | q)", r"P\*(c \| q)"),
        ("``P*`` and `a_b`", "``P*`` and `a_b`"),
        ("<b> [x](y) # ~", r"\<b\> \[x\](y) \# \~"),
    ],
)
def test_text_is_no_markup(text, said):
    assert escaped(text) == said


def test_paragraphs_and_lists_of_a_docstring_stay():
    assert paragraphs("One.\n\n    Two:\n    - a\n    - b\n") == "One.\n\nTwo:\n- a\n- b"


def test_a_cell_is_one_line():
    assert table(("a",), [("one\n two",)]) == "| a |\n| --- |\n| one two |"
