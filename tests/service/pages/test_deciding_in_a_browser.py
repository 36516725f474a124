"""Pages of reviewers and administrators in a browser: for everybody, by keyboard alone, talking to nobody else."""

import re
from collections import Counter
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.kit.service import sites
from tests.kit.service.browsing import served, signed_in
from tests.kit.service.seeds import seeded

FIRST = (
    "/models",
    "/releases",
    "/waivers",
    "/waivers/new",
    "/waivers/import",
    "/packs",
    "/packs/new?from=standard",
    "/log?check=true",
    "/log?text=ann&sort=oldest&since=2026-01-01",
    "/audits?text=readmission",
    "/api",
    "/tokens",
    "/administration",
    "/administration/retention",
    "/administration/workers",
    "/administration/webhooks",
)
FOLLOWED = (
    "/models/",
    "/releases/",
    "/waivers/",
    "/packs/strict",
    "/administration/webhooks/",
)
"""What links on the first pages lead to, as far as it is of these pages."""
FILES = ("/waivers/export",)
GRAVE = {"serious", "critical"}
OF_A_KIND = 2
"""So many releases are looked at, and so many waivers."""
MOST_TABS = 150


@pytest.fixture
def there(tmp_path):
    """Give a site that is served, its address, and who and what is there."""
    with sites.make_site("sqlite", tmp_path) as site, served(site) as address:
        yield site, address, seeded(site)


@contextmanager
def quiet(browser, there, name):
    """Give a page in which somebody is signed in; a word to the console or a request to elsewhere fails."""
    site, address, people = there
    heard = []
    with signed_in(browser, address, site, getattr(people, name)) as page:
        page.on("console", lambda message: heard.append(message.text))
        page.on("request", lambda asked: heard.append(asked.url))
        yield page
    assert [each for each in heard if not each.startswith(f"{address}/")] == []


def linked(page):
    """Return where a page leads on to, as far as it is of these pages, by the kind of what is shown there."""
    found = page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)")
    paths = [urlsplit(each)._replace(scheme="", netloc="", fragment="").geturl() for each in found]
    followed = [path for path in paths if path.startswith(FOLLOWED) and path not in FILES]
    return {path: re.sub("[0-9a-f]{32}", "*", path) for path in followed}


def test_every_page_is_for_everybody_and_quiet(browser, there):
    with quiet(browser, there, "olga") as page:
        todo, done, wrong, kinds = list(FIRST), set(), [], Counter()
        while todo:
            path = todo.pop()
            done.add(path)
            wrong += wrong_of(page, path)
            seen = {*done, *todo}
            for path, kind in linked(page).items():
                if path not in seen and kinds[kind] < OF_A_KIND:
                    kinds[kind] += 1
                    todo.append(path)
    assert wrong == []
    assert len(done) >= len(FIRST) + 5


COVERED = """() => {
    const shown = [...document.querySelectorAll("dt, dd, th, td, label, h1, h2, svg text")]
        .filter(each => each.checkVisibility({contentVisibilityAuto: true})
            && !each.matches(".hidden, .hidden *") && !each.querySelector("select, .hidden"));
    const boxes = shown.map(each => {
        const text = document.createRange();
        text.selectNodeContents(each);
        return [each, text.getBoundingClientRect()];
    }).filter(([, box]) => box.width > 1 && box.height > 1);
    const found = [];
    for (const [number, [one, a]] of boxes.entries()) for (const [other, b] of boxes.slice(number + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 2 && high > 2 && !one.contains(other) && !other.contains(one))
            found.push(`${one.textContent.trim()} | ${other.textContent.trim()}`.slice(0, 120));
    }
    return found;
}"""
"""Which words stand upon others: labels upon values, as in a row that is too narrow for both."""


def wrong_of(page, path):
    """Return what bars anybody from a page: wide in light, narrow in dark."""
    from axe_playwright_python.sync_playwright import Axe

    answer, wrong = page.goto(path), []
    if answer.status != 200:
        wrong.append((path, answer.status))
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        grave = [each for each in found if each["impact"] in GRAVE]
        wrong += [(path, width, each["id"], each["nodes"][0]["html"]) for each in grave]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append((path, width, "scrolls sideways"))
        wrong += [(path, width, words) for words in page.evaluate(COVERED)[:3]]
    if page.title() == "taken over":
        wrong.append((path, "runs what others wrote"))
    return wrong


def tab_to(page, words):
    """Move on by the keyboard until something is in focus that is called so."""
    called = """() => { const at = document.activeElement; const label = at.labels && at.labels[0];
        return (at.getAttribute("aria-label") || (label || at).innerText || "").trim() }"""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(called).startswith(words):
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert page.evaluate(outline) != "none", f"{words!r} shows no focus"
            return
    pytest.fail(f"{words!r} cannot be reached by the keyboard")


def go(page, key="Enter"):
    with page.expect_navigation():
        page.keyboard.press(key)


def test_a_release_is_reviewed_by_keyboard_alone(browser, there):
    with quiet(browser, there, "rita") as page:
        page.goto("/releases")
        tab_to(page, "Review")
        go(page)
        page.goto(page.url.partition("#")[0])
        tab_to(page, "Approve")
        page.keyboard.press("ArrowDown")
        tab_to(page, "Why")
        page.keyboard.type("Name the paper")
        tab_to(page, "Decide")
        go(page)
        assert "asked for changes" in page.inner_text("#talk + ol")


def test_a_waiver_is_approved_by_keyboard_alone(browser, there):
    with quiet(browser, there, "rita") as page:
        page.goto("/waivers?state=requested")
        tab_to(page, "smallest-leaf")
        go(page)
        tab_to(page, "Why")
        page.keyboard.type("Until then")
        tab_to(page, "Approve")
        go(page)
        assert "In force." in page.inner_text("main")


def test_a_token_is_made_by_keyboard_alone(browser, there):
    with quiet(browser, there, "ann") as page:
        page.goto("/tokens")
        tab_to(page, "Purpose")
        page.keyboard.type("pipeline")
        tab_to(page, "Make the token")
        go(page)
        assert page.inner_text("pre.copy").strip()
