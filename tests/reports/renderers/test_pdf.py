"""The PDF: it says what the page says, is accessible, carries nothing of its own, and no name in it is ever code."""

import io
import os
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.rendering import rendered
from tests.kit.tiers import cases, examples
from treewarden.reports.figures.compliance import BREAK, KNOWN, LONGEST, breakable, drawable, filing
from treewarden.reports.renderers import renderer

pytest.importorskip("typst", reason="typst is not installed: treewarden[pdf]")
pypdf = pytest.importorskip("pypdf")

HOSTILE = [
    '#panic("run")',
    "$x^2$ $",
    "\\ \\u{41} \\#",
    "*bold* _soft_ `raw` ```",
    "@ref <label>",
    "[bracket] {brace} #[",
    "= heading\n- item",
    "// comment /* */",
    '"); #read("/etc/passwd")',
    '#import "@preview/cetz:0.3.0"',
    "abc\u202egnp.exe\u200f\u2066",
    "e\u0301 \u05d0\u05d1 \u4e2d\u6587 \U0001f600 \u0e33 \u0301",
    "--- ... ~ -? -- '",
]
WITHOUT_TYPST = """
import sys; sys.modules["typst"] = None
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.renderers import renderer
from tests.kit.rendering import rendered
try:
    renderer("pdf").check()
except OutputError as error:
    print(error)
"""


class Text(HTMLParser):
    """Collects the text of a page but its style."""

    def __init__(self, page):
        super().__init__()
        self.said, self.is_style = "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.is_style = tag == "style"

    def handle_data(self, data):
        self.said += "" if self.is_style else data


def opened(document):
    return pypdf.PdfReader(io.BytesIO(rendered("pdf", document)))


def squeezed(text):
    """Return a text without what a line break, or the end of a page, may add to it or take from it."""
    return "".join(text.replace(BREAK, "").split())


def text_of(document):
    return squeezed("".join(page.extract_text() for page in opened(document).pages))


def texts(part):
    """Yield all texts of a report in sections."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from texts(each)
    elif hasattr(part, "__slots__"):
        for name in part.__slots__:
            if name not in ("kind", "ident", "shares", "running", "created"):
                yield from texts(getattr(part, name))


NAMES = ("document", "proved", "undetermined", "several_trees", "repaired", "unrepaired")


@pytest.mark.parametrize("name", NAMES)
def test_page_and_pdf_say_all_that_the_sections_say(request, name):
    document = request.getfixturevalue(name)
    wanted = [squeezed(each) for each in texts(filing(document))]
    page = squeezed(Text(rendered("compliance", document).decode()).said)
    assert [each for each in wanted if each not in page] == []
    pdf = text_of(document)
    assert [each for each in wanted if not _is_there(each, pdf)] == []


def _is_there(text, pdf):
    """Return whether a text is there, whole or with the foot of one page and the head of the next inside it."""
    parts = ((text[:at], text[at:]) for at in range(len(text)))
    return any(one in pdf and other in pdf for one, other in parts) or not text


@pytest.mark.parametrize(
    "hostile", cases([*HOSTILE, "\n".join(HOSTILE)], quick=["\n".join(HOSTILE)])
)
def test_a_hostile_name_is_shown_as_it_is_and_does_nothing(document, hostile):
    named = document.model_copy(
        update={
            "purpose": hostile,
            "headline": hostile,
            "model": document.model.model_copy(update={"file": hostile, "target": hostile}),
        }
    )
    said = text_of(named)
    for each in HOSTILE:
        assert each not in hostile or said.count(squeezed(drawable(each))) >= 3
    assert not set("\u202e\u200f\u2066\u05d0") & set(said)


@settings(max_examples=examples(25), deadline=None)
@given(said=st.text(max_size=60))
def test_any_text_makes_a_pdf(document, said):
    made = renderer("pdf").render(document.model_copy(update={"purpose": said, "headline": said}))
    assert made.startswith(b"%PDF")


def test_every_sign_that_is_called_known_has_a_glyph(document):
    signs = [chr(code) for first, last in KNOWN for code in range(first, last + 1)]
    shown = "".join(sign for sign in signs if drawable(sign) == sign)
    assert len(shown) > 1000
    spaced = " ".join(shown[at : at + 20] for at in range(0, len(shown), 20))
    assert opened(document.model_copy(update={"purpose": spaced})).pages


def test_a_sign_without_a_glyph_is_written_by_its_code_and_accents_join_their_letters():
    assert drawable("中\u202e\ud800") == "\\u4e2d\\u202e\\ud800"
    assert drawable("e\u0301tude") == "étude"


def test_long_words_may_be_broken_and_short_ones_are_left():
    long = "x" * (LONGEST + 1)
    assert breakable(f"short {long}").replace(BREAK, "") == f"short {long}"
    assert BREAK in breakable(long)
    assert breakable("short words") == "short words"


def test_it_is_tagged_named_and_in_english_as_pdf_ua_asks(document):
    root = opened(document).trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == "en"
    assert root["/ViewerPreferences"]["/DisplayDocTitle"]
    assert "/StructTreeRoot" in root
    assert b"pdfuaid:part" in root["/Metadata"].get_object().get_data()
    assert opened(document).metadata.title == filing(document).title


def test_headings_are_those_of_the_sections(document):
    assert [each.title for each in opened(document).outline] == [
        each.title for each in filing(document).sections
    ]


def test_its_fonts_are_inside_and_nothing_in_it_acts_or_leads_elsewhere(nasty):
    read = opened(nasty)
    fonts = [
        kid["/FontDescriptor"]
        for page in read.pages
        for font in page["/Resources"]["/Font"].values()
        for kid in (each.get_object() for each in font.get_object()["/DescendantFonts"])
    ]
    assert fonts
    assert all({"/FontFile2", "/FontFile3"} & set(each.get_object()) for each in fonts)
    assert not {"/OpenAction", "/AA", "/AcroForm"} & set(read.trailer["/Root"])
    assert not [page for page in read.pages if "/Annots" in page]
    assert "/Names" not in read.trailer["/Root"] or not read.attachments


def test_its_time_is_that_of_the_document(document):
    assert opened(document).metadata["/CreationDate"].startswith("D:20240101000000")
    told = document.provenance.model_copy(update={"created": None})
    without = opened(document.model_copy(update={"provenance": told})).metadata
    assert "/CreationDate" not in without
    assert "/ModDate" not in without


def test_a_time_that_is_none_is_left_out(nasty):
    assert "/CreationDate" not in opened(nasty).metadata


def test_a_row_longer_than_a_page_goes_on_on_the_next(document):
    words = " ".join(f"word{number}" for number in range(3000))
    first = document.findings[0].model_copy(update={"why": words})
    said = text_of(document.model_copy(update={"findings": (first, *document.findings[1:])}))
    assert [n for n in range(3000) if f"word{n}" not in said] == []


def test_without_the_package_it_says_how_to_install_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TYPST],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert "pip install 'treewarden[pdf]'" in done.stdout
