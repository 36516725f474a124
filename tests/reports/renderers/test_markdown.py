"""Markdown: tables that hold whatever names there are, and no more than a job's summary takes."""

import re

from tests.reports.gates import fails_in_many_leaves
from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.figures.gate_rows import marked
from treewarden.reports.renderers import renderer

ODD = "`a` | b\n<img src=x onerror=y> **c** [d](http://e) @f #1 $x$ ~~g~~ www.h.i\\"


def page(gate):
    return renderer("markdown").render_gate(gate).decode("utf-8")


def test_every_row_has_as_many_cells_as_its_table(any_gate):
    for line in page(any_gate).splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 6)


def test_no_mark_html_link_mention_or_formula_comes_of_a_name():
    said = marked(ODD)
    assert not re.search(r"(?<!\\)[`*\[\]|~_]", said)
    assert not set("<>@$") & set(said)
    assert "://" not in said
    assert "www." not in said
    assert "\n" not in said


def test_a_hostile_model_is_told_in_the_table_and_below():
    said = page(gate_of([unaudited(ODD, ODD, ODD)], "error"))
    assert said.count("&lt;img src=x onerror=y&gt;") >= 3
    assert "<img" not in said


def test_the_outcome_comes_first_and_every_model_has_a_row(gate):
    said = page(gate)
    assert said.startswith("## treewarden: NO AUDIT\n")
    assert said.count("| **") == len(gate.entries)


def test_what_was_accepted_is_marked(gate):
    assert "| accepted error | 0-k\\_anonymity |" in page(gate)


def test_a_summary_stays_within_what_github_takes_and_says_what_it_leaves_out():
    said = page(fails_in_many_leaves(100, models=60))
    assert len(said.encode()) < 1024 * 1024
    assert said.count("… and 75 more.") == 40
    assert said.count("… and 100 more.") == 20
