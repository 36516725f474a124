"""What all pages have in common: one look with the reports, nothing inline, everything escaped."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from treewarden import reports
from treewarden.service import pages
from treewarden.service.auth.principal import ALLOWED, Principal, Role
from treewarden.service.errors import NotFoundError
from treewarden.service.pages import assets
from treewarden.service.pages._rendering import address, environment, moment, plural, size, static

TEMPLATES = sorted((Path(pages.__file__).parent / "templates").glob("*.j2"))
TOKEN = re.compile(r"--([a-z-]+): (#[0-9a-f]+);")
HOSTILE = "<script>alert(1)</script>\"'"


def tokens(text):
    """Return the colours of light and of dark, as a style says them."""
    light = text.partition("prefers-color-scheme: dark")
    return dict(TOKEN.findall(light[0])), dict(TOKEN.findall(light[2].partition("} }")[0]))


def somebody(role=Role.SUBMITTER, name="Ada"):
    return Principal("o" * 32, "a" * 32, name, role, ALLOWED[role])


def drawn(template, who=None, **context):
    source = '{% import "_macros.html.j2" as show %}' + template
    return environment().from_string(source).render(here="/", who=who, **context)


@pytest.fixture
def client():
    app = FastAPI()
    app.include_router(assets.ROUTER)
    return TestClient(app)


def test_pages_have_the_colours_of_the_reports():
    theirs = Path(reports.__file__).parent / "templates" / "style.css.j2"
    ours = Path(pages.__file__).parent / "static" / "style.css"
    light, dark = tokens(theirs.read_text())
    assert len(light) > 15
    assert len(dark) > 15
    assert tokens(ours.read_text()) == (light, dark)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_has_a_script_a_style_or_a_handler_inside(path):
    text = path.read_text()
    assert not re.search(r"<style|\bstyle=|\bon[a-z]+=|javascript:|\|\s*safe\b", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def test_what_is_shown_is_escaped():
    shown = drawn(
        "{% call show.head(text, text, [('/', text)]) %}{{ text }}{% endcall %}"
        "{{ show.field('a', text, text, hint=text, error=text) }}{{ show.area('b', text, text) }}"
        "{{ show.choice('c', text, [(text, text)]) }}{{ show.tick('d', text) }}{{ show.empty(text) }}"
        "{{ show.notice(text, title=text) }}{{ show.refused(text) }}{{ show.digest(text) }}"
        "{{ show.state(text) }}{% call show.table(text, [text]) %}{{ text }}{% endcall %}",
        text=HOSTILE,
    )
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") > 15


def test_the_head_of_a_page_offers_only_what_somebody_may_do():
    bare = '{% extends "base.html.j2" %}'
    viewer = environment().from_string(bare).render(here="/", who=somebody(Role.VIEWER))
    assert "/administration" not in viewer
    assert "/submit" not in viewer
    administrator = somebody(Role.ADMINISTRATOR, HOSTILE)
    shown = environment().from_string(bare).render(here="/audits", who=administrator)
    assert 'href="/administration"' in shown
    assert '<a href="/audits" aria-current="page">' in shown
    assert "<script" not in shown


def test_nobody_who_is_not_signed_in_is_offered_anything():
    shown = environment().from_string('{% extends "base.html.j2" %}').render(here="/", who=None)
    assert "/models" not in shown
    assert "Sign out" not in shown


@pytest.mark.parametrize("name", ["style.css", "icon.svg", "vendor/htmx-2.0.11.min.js"])
def test_an_asset_may_be_kept_as_its_address_changes_with_it(client, name):
    answer = client.get(static(name))
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert re.search(r"\?v=[0-9a-f]{12}$", static(name))


@pytest.mark.parametrize(
    "name", ["", "vendor", "../assets.py", "%2e%2e/assets.py", "vendor/../../assets.py", "no.css"]
)
def test_only_what_lies_in_the_folder_is_an_asset(client, name):
    with suppress(NotFoundError):  # what the application answers with 404
        assert client.get(f"/static/{name}").status_code == 404


def test_an_address_leaves_out_what_is_not_asked():
    assert address("/audits", state="", verdict=None) == "/audits"
    assert address("/audits", state="a&b", n=0) == "/audits?state=a%26b&n=0"


def test_figures_are_said_in_words():
    assert [size(number) for number in (0, 999, 48_213, 2_500_000)] == [
        "0 bytes",
        "999 bytes",
        "48.2 KB",
        "2.5 MB",
    ]
    assert [plural(number, "finding") for number in (0, 1, 2000)] == [
        "0 findings",
        "1 finding",
        "2,000 findings",
    ]
    assert ">2026-11-23 00:41 UTC<" in moment(datetime(2026, 11, 23, 0, 41, tzinfo=UTC))
    assert ">2026-11-23<" in drawn("{{ when | day }}", when=date(2026, 11, 23))
