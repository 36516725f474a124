"""What a repair tried: the table in the terminal, the best first, and the picture of privacy against utility."""

import re

import pytest

from tests.kit.small_audits import auditor, deep_tree, flat_tree, pack_of, people_of
from tests.reports.conftest import PROVENANCE
from treewarden.policies.repair.repair import repair
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.figures.curve import attempt_lines
from treewarden.reports.figures.plots import tradeoff


@pytest.fixture(scope="module")
def tried():
    tree = flat_tree([[10, 9, 1], [3, 8, 7]])
    people, pack = people_of(tree), pack_of(("kl_individual", "at_least", 0.05))
    found = repair(tree, people, auditor(people, pack), pack)
    return repair_document(found, PROVENANCE).repair


def test_the_recommended_change_comes_first_and_what_fails_comes_last(tried):
    verdicts = [each.verdict for each in tried.attempts]
    assert [each.is_recommended for each in tried.attempts].index(True) == 0
    assert (verdicts[0], verdicts[-1]) == ("PASS", "FAIL")
    assert verdicts == sorted(verdicts, reverse=True)


def test_only_what_meets_every_clause_says_100_per_cent(tried):
    for each in tried.attempts:
        assert (int(each.privacy.text.removesuffix(" %")) >= 100) == (each.verdict == "PASS")


def test_the_lines_name_each_change_mark_the_recommended_one_and_say_what_lacks(tried):
    lines = list(attempt_lines(tried))
    marked = [line for line in lines if line.startswith("  * ")]
    assert [line.split()[1] for line in marked] == [tried.attempts[0].name]
    assert all(any(each.name in line for line in lines) for each in tried.attempts)
    assert "      failed: 0-kl_individual" in lines


def test_the_columns_stand_below_their_headings(tried):
    _, _, headings, *rows = attempt_lines(tried)
    end = headings.index("leaves") + len("leaves")
    figures = [row for row in rows if re.match(r"  [ *] \S+ .*%", row)]
    assert len(figures) == len(tried.attempts) + 1
    assert all(row[:end].endswith(" 2") for row in figures)


def test_the_picture_numbers_the_changes_as_the_table_does(tried):
    drawn = str(tradeoff(tried))
    numbers = {
        n for text in re.findall(r"<text[^>]*>([\d, ]+)</text>", drawn) for n in text.split(", ")
    }
    assert numbers >= {str(number) for number in range(1, len(tried.attempts) + 1)}
    assert "original" in drawn


def test_the_same_document_gives_the_same_picture(tried):
    assert tradeoff(tried) == tradeoff(tried)


def test_there_is_no_picture_where_no_privacy_could_be_told(tried):
    unknown = tried.privacy.model_copy(update={"low": None, "high": None, "reason": "it stalled"})
    attempts = tuple(each.model_copy(update={"privacy": unknown}) for each in tried.attempts)
    assert tradeoff(tried.model_copy(update={"attempts": attempts})) is None


def test_nothing_tried_is_no_table():
    tree = deep_tree([[1, 0], [5, 8]], ("a", "b"))
    people, pack = people_of(tree), pack_of(("k_anonymity", "at_least", 5))
    found = repair_document(repair(tree, people, auditor(people, pack), pack), PROVENANCE).repair
    assert list(attempt_lines(found)) == []
    assert tradeoff(found) is None
