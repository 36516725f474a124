"""The page in a browser: accessible in light and dark, and narrow without sideways scrolling.

Needs chromium; without it these tests are skipped, unless TREEWARDEN_REQUIRE_BROWSER=1 says that they must run.
"""

import pytest

from treewarden.reports.renderers import renderer

SCREENS = [(1280, "dark"), (390, "light")]
"""A narrow screen shows no more than a wide one, in the same colours: each width and each scheme is looked at once."""
READ = [(name, form) for form in ("html", "compliance") for name in ("proved", "repaired")]
READ += [("several_adversaries", "html")]
GRAVE = {"serious", "critical"}


def shown(browser, document, width, scheme, form="html"):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.set_content(renderer(form).render(document).decode())
    return page


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize(("name", "form"), READ)
def test_nothing_serious_bars_anybody_from_reading(browser, request, name, form, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = shown(browser, request.getfixturevalue(name), width, scheme, form)
    found = Axe().run(page).response["violations"]
    page.close()
    assert [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in GRAVE
    ] == []


@pytest.mark.parametrize("form", ["html", "compliance"])
@pytest.mark.parametrize("name", ["proved", "nasty", "several_adversaries"])
def test_a_narrow_page_does_not_scroll_sideways(browser, request, name, form):
    page = shown(browser, request.getfixturevalue(name), 390, "light", form)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert width <= 390


@pytest.mark.parametrize("width", [1280, 390])
def test_who_learns_what_is_read_without_sideways_scrolling(browser, several_adversaries, width):
    page = shown(browser, several_adversaries, width, "light")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = "each => [...document.querySelectorAll('#adversaries :is(.scroll, th, td)')]"
    wide += ".filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.innerText)"
    found = page.evaluate(wide)
    page.close()
    assert found == []


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_nothing_serious_bars_anybody_from_reading_a_gate(browser, gate, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.set_content(renderer("html").render_gate(gate).decode())
    found = Axe().run(page).response["violations"]
    page.close()
    assert [each["id"] for each in found if each["impact"] in GRAVE] == []


@pytest.mark.parametrize("name", ["gate", "hostile_gate"])
def test_a_narrow_gate_does_not_scroll_sideways(browser, request, name):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_content(renderer("html").render_gate(request.getfixturevalue(name)).decode())
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert width <= 390
