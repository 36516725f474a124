"""The page on sources has every clause of every pack that ships, with the limit it has now."""

import re

import pytest

from tests.docs import pages
from treewarden.audit.measures import measures
from treewarden.policies.judging.figures import limit_text
from treewarden.policies.pack import load_pack
from treewarden.policies.rules import rules
from treewarden.policies.shipped import shipped_packs

PAGE = (pages.DOCS / "engineering" / "packs-sources.md").read_text("utf-8")


def rows(name):
    """Return the limit, the source and how it was verified by clause, of the table of a pack."""
    table = PAGE.split(f"### `{name}`\n", 1)[1].split("\n#", 1)[0]
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line
    ]
    return {row[0]: row[1:] for row in cells[2:]}


def shown(clause):
    word = "" if clause.severity == "error" else f" ({clause.severity})"
    return f"`{clause.id}`{word}"


@pytest.mark.parametrize("name", shipped_packs())
def test_every_clause_stands_there_with_its_limit(name):
    limits = {
        shown(clause): limit_text(
            rules()[clause.rule].words, clause.limit, measures()[clause.measure].unit
        )
        for clause in load_pack(name).clauses
    }
    assert {clause: row[0] for clause, row in rows(name).items()} == limits


@pytest.mark.parametrize("name", shipped_packs())
def test_a_limit_is_own_judgement_there_exactly_where_the_pack_says_so(name):
    said = rows(name)
    for clause in load_pack(name).clauses:
        is_own = "own judgement" in clause.source
        assert ("**own judgement**" in said[shown(clause)][1]) == is_own, clause.id


@pytest.mark.parametrize("name", shipped_packs())
def test_what_is_no_own_judgement_says_how_it_was_verified(name):
    assert all(row[2] for row in rows(name).values() if "own judgement" not in row[1])


@pytest.mark.parametrize("name", shipped_packs())
def test_every_line_of_guidance_says_in_a_sentence_what_the_paragraph_asks(name):
    said = [each.says for clause in load_pack(name).clauses for each in clause.guidance]
    assert all(10 < len(words) <= 130 and words.endswith(".") for words in said)


def test_every_document_that_a_clause_is_said_to_serve_is_named_there():
    named = {
        each.document
        for name in shipped_packs()
        for clause in load_pack(name).clauses
        for each in clause.guidance
    }
    short = {
        "CMS Cell Size Suppression Policy": "CMS",
        "Handbook on Statistical Disclosure Control, 2nd edition": "handbook",
        "HIPAA Privacy Rule": "HIPAA",
        "ICO, anonymisation guidance": "ICO",
        "PCORnet Data Committee": "PCORnet",
        "UK LLC guidebook": "UK LLC",
    }
    assert named == set(short)
    assert set(re.findall(r"^\| ([\w -]+?) \|", PAGE, re.MULTILINE)) >= set(short.values())
