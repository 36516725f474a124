"""The page: self-contained, safe against hostile names, plain about what is not known."""

import re
from html.parser import HTMLParser

import pytest

from tests.kit.rendering import rendered

VOID = {"meta", "path", "rect", "use", "circle", "br"}


def page(document):
    return rendered("html", document).decode("utf-8")


class Reader(HTMLParser):
    """Collects tags, ids, headings and the text of a page, and checks that tags close."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.text, self.open, self.attributes = [], [], "", [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_well_formed_and_no_id_is_used_twice(any_document):
    read = Reader(page(any_document))
    assert len(read.ids) == len(set(read.ids))
    wanted = [value[1:] for name, value in read.attributes if name.endswith("href")]
    assert set(wanted) <= set(read.ids)


def test_nothing_is_loaded_from_anywhere(any_document):
    found = page(any_document)
    assert "http" not in found
    assert not re.search(r"""(?:src|href|action|srcset|data)\s*=\s*["'](?!#)""", found)
    assert not re.search(r"url\((?!#)|@import", found)
    assert "script" not in Reader(found).tags


def test_hostile_names_are_shown_and_do_nothing(nasty):
    found = page(nasty)
    assert "<script" not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found
    assert "{{ 7*7 }}" in found
    assert not set("\x1b\x00\u202e") & set(found)
    assert not [name for name, _ in Reader(found).attributes if name.startswith("on")]


def test_the_verdict_comes_first(any_document):
    found = page(any_document)
    assert f"<title>{any_document.verdict}: " in found
    assert found.index('<p class="word">') < found.index("<h2")


def test_headings_do_not_skip_a_level(any_document):
    levels = [int(tag[1]) for tag in Reader(page(any_document)).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))


def test_every_table_has_a_caption(any_document):
    tags = Reader(page(any_document)).tags
    assert tags.count("table") == tags.count("caption")


def test_a_leaf_that_breaks_a_demand_is_told_with_its_path_its_line_and_what_was_read(document):
    told = re.search(r"<strong>place = p2.*?</article>", page(document), re.DOTALL).group()
    words = " ".join(re.sub(r"<[^>]+>", " ", told).split())
    assert words.startswith("place = p2 3 people; the tree predicts “c0”")
    assert "Leaf leaf 3, line 12 of the file" in words
    assert re.search(r"k_anonymity\S* 3 people", words)


@pytest.mark.parametrize("reason", ["has no column", "it stalled"])
def test_what_could_not_be_told_is_said_with_its_reason(undetermined, reason):
    found = Reader(page(undetermined)).text
    assert "UNDETERMINED" in found
    assert reason in found


def test_an_unknown_lesson_shows_no_number(undetermined):
    unknown = [lesson for lesson in undetermined.lessons if not lesson.is_known]
    assert len(unknown) == 3
    assert {lesson.figure for lesson in unknown} == {"Not known"}


def test_no_plot_stands_for_what_is_not_known(undetermined, document):
    assert "certainty-title" in page(document)
    assert "certainty-title" not in page(undetermined)
    assert "Not available: it stalled" in page(undetermined)


def test_a_policy_without_demands_is_said_to_demand_nothing(document):
    empty = document.model_copy(update={"findings": (), "readings": {}})
    assert "The policy requires nothing." in page(empty)
    assert "Nothing was measured." in page(empty)


def test_a_document_without_a_tree_is_rendered(document):
    assert 'id="tree-wide-title"' not in page(document.model_copy(update={"tree": ()}))


def test_a_repair_shows_both_trees_and_every_attempt(repaired):
    found = Reader(page(repaired)).text
    assert "Before the repair" in found
    assert "After: recommended" in found
    assert all(attempt.title in found for attempt in repaired.repair.attempts)
    assert repaired.verdict == "PASS"


def test_printed_pages_keep_cards_and_rows_whole(document):
    printed = page(document).partition("@media print {")[2].partition("</style>")[0]
    rule = next(rule for rule in printed.split("}") if ".card" in rule and "tr," in rule)
    assert rule.partition("{")[2].strip() == "break-inside: avoid;"


def test_the_page_for_whoever_works_on_the_model_is_not_the_one_to_sign(document):
    reader = Reader(page(document))
    assert "Signature" not in reader.text
    assert "write the report in the form compliance or pdf" in reader.text
