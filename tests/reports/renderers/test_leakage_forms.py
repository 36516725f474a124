"""What sides learnt, as JSON and as a page: valid by its schema, self-contained, safe against hostile names."""

import json
import re

import pytest

from tests.kit.schemas import validator_of
from tests.reports.conftest import NASTY
from tests.reports.leakages import MIXED, PURE, all_sides, decision, one_side
from tests.reports.renderers.test_html import Reader
from treewarden.ppdm_models.methods.vertical.session import Mode, Stops
from treewarden.reports.document.methods import LeakageDocument, leakage_schema
from treewarden.reports.document.parts import as_json
from treewarden.reports.document.schema import LEAKAGE_SCHEMA_FILE
from treewarden.reports.figures.pages import leakage_page

SCREENS = [(1280, "dark"), (390, "light")]
"""A narrow screen shows no more than a wide one, in the same colours: each width and each scheme is looked at once."""
GRAVE = {"serious", "critical"}
LONG = ("a" * 63, "hospital-of-the-north-west-and-of-all-islands", "c")


def judged():
    audits = (("full tree", decision(MIXED)), ("skeleton", decision(PURE)))
    return all_sides(audits=audits, mode=Mode.SHARED, asked=2)


def hostile():
    return all_sides(names=(NASTY, f"{NASTY} 2"), name=NASTY)


DOCUMENTS = {
    "ids": all_sides,
    "shared": lambda: all_sides(mode=Mode.SHARED),
    "ten parties": lambda: all_sides(parties=10, mode=Mode.SHARED),
    "long names": lambda: all_sides(parties=3, names=LONG),
    "one leaf": lambda: all_sides(stops=Stops(100)),
    "judged": judged,
    "the miner": lambda: one_side(-1),
    "a party": lambda: one_side(1),
    "hostile": hostile,
}


@pytest.fixture(scope="module", autouse=True)
def documents():
    """All documents, made before there is a browser: sessions are played in a loop, and it has one already."""
    return {name: make() for name, make in DOCUMENTS.items()}


@pytest.fixture(params=DOCUMENTS)
def document(request, documents):
    """A document of each kind."""
    return documents[request.param]


def page(document):
    return leakage_page(document).decode()


def test_the_schema_file_is_current():
    assert LEAKAGE_SCHEMA_FILE.read_bytes() == leakage_schema()


def test_every_document_is_valid_by_the_schema_and_reads_back(document):
    said = json.loads(as_json(document))
    validator = validator_of(LEAKAGE_SCHEMA_FILE.read_bytes())
    assert list(validator.iter_errors(said)) == []
    assert LeakageDocument.model_validate(said) == document


def test_the_page_is_well_formed_and_no_id_is_used_twice(document):
    read = Reader(page(document))
    assert len(read.ids) == len(set(read.ids))
    assert {value[1:] for name, value in read.attributes if name == "href"} <= set(read.ids)


def test_nothing_is_loaded_from_anywhere(document):
    found = page(document)
    assert "http" not in found
    assert not re.search(r"""(?:src|href|action|srcset|data)\s*=\s*["'](?!#)""", found)
    assert not re.search(r"url\((?!#)|@import", found)
    assert "script" not in Reader(found).tags


def test_headings_do_not_skip_a_level_and_every_table_has_a_caption(document):
    tags = Reader(page(document)).tags
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
    assert tags.count("table") == tags.count("caption")


def test_hostile_names_are_shown_and_do_nothing(documents):
    found = page(documents["hostile"])
    assert "<script" not in found
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found
    assert not set("\x1b\x00\u202e") & set(found)
    assert not [name for name, _ in Reader(found).attributes if name.startswith("on")]


def test_a_simulation_is_marked_on_top_and_on_every_printed_page(documents):
    found = page(documents["ids"])
    assert found.index("Simulated: no protection") < found.index("<h1>")
    assert 'content: "Simulated: no protection. Confidential' in found
    assert "Simulated" not in page(documents["a party"])


def test_the_verdict_on_the_tree_comes_first_where_it_was_audited(documents):
    found = page(documents["judged"])
    assert "<title>FAIL: " in found
    assert found.index('<p class="word">FAIL') < found.index("<h2")
    assert '<p class="word">' not in page(documents["ids"])


def test_what_could_not_be_told_is_no_number(documents):
    (side,) = re.findall(r'<th scope="row" class="name">P1</th>.*', page(documents["a party"]))
    assert side.count("could not tell") == 2


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["judged", "ten parties", "a party"])
def test_nothing_serious_bars_anybody_from_reading(browser, documents, name, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    shown.set_content(page(documents[name]))
    found = Axe().run(shown).response["violations"]
    shown.close()
    assert [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in GRAVE
    ] == []


def test_a_narrow_page_does_not_scroll_sideways(browser, document):
    shown = browser.new_page(viewport={"width": 390, "height": 800})
    shown.set_content(page(document))
    width = shown.evaluate("document.documentElement.scrollWidth")
    shown.close()
    assert width <= 390
