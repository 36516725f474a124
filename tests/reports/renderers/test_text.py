"""The terminal summary: verdict first, safe to print, honest about what is not known."""

import re

from treewarden.reports.renderers import renderer


def summary(document):
    return renderer("text").render(document).decode("utf-8")


def test_the_first_line_is_the_verdict(any_document):
    assert summary(any_document).startswith(f"{any_document.verdict}: ")


def test_nothing_but_printable_characters_reaches_the_terminal(any_document):
    assert all(sign.isprintable() for sign in summary(any_document).replace("\n", ""))


def test_a_name_cannot_begin_a_line(nasty):
    assert r"\n\x1b[31m \u202e \x00" in " ".join(summary(nasty).split())
    assert not re.search(r"^\S*\[31m", summary(nasty), re.MULTILINE)


def test_lines_fit_where_names_are_short(document):
    assert max(map(len, summary(document).splitlines())) <= 100


def test_what_breaks_comes_with_its_worst_places(document):
    assert "FAIL c0: " in summary(document).replace(document.findings[0].clause, "c0")
    assert "3 people at node leaf 3, line 12: place = p2" in summary(document)


def test_it_lists_what_the_adversary_is_taken_to_know(document):
    said = " ".join(summary(document).split())
    assert document.knowledge.sentences
    assert all(f"- {each}" in said for each in document.knowledge.sentences)


def test_what_could_not_be_told_has_its_reason(undetermined):
    assert "has no column 'illness'" in " ".join(summary(undetermined).split())
    assert "not decided" in summary(undetermined)


def test_a_repair_lists_its_attempts(repaired):
    assert "* prune_apt  PASS " in summary(repaired)
