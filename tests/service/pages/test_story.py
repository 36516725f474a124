"""The whole way in two browsers: somebody submits, watches, asks; somebody else decides; a pipeline is told."""

import re
import threading
from contextlib import contextmanager

import httpx
import pytest
from sqlalchemy import select

from tests.kit.service import sites
from tests.kit.service.browsing import DEADLINE, served, signed_in
from tests.kit.service.sites import add_account, add_organisation, add_token
from tests.treewarden.conftest import GROUPS, PMML
from treewarden.service.auth.principal import Permission, Role
from treewarden.service.database.tables import blob, data_table
from treewarden.service.worker.working import work

LONG = 60_000
"""Milliseconds that an audit may take on a machine that does much else."""


@contextmanager
def working(site):
    """Let a worker do the jobs of a site."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(site, 1, stop), daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(DEADLINE)


def files(folder, times):
    """Write a model and its table, each group of people so many times as large, and return their paths."""
    model, table = folder / f"flu-{times}.pmml", folder / f"people-{times}.csv"
    larger = re.sub(
        r'recordCount="(\d+)"', lambda found: f'recordCount="{int(found[1]) * times}"', PMML
    )
    model.write_text(larger)
    rows = [f"{age},{sex},{flu}" for age, sex, flu, count in GROUPS for _ in range(count * times)]
    table.write_text("\n".join(["age,sex,flu", *rows, ""]))
    return model, table


def upload(page, model, table):
    """Choose the files, and wait until they were read."""
    page.get_by_label("Model file").set_input_files(model)
    page.get_by_label("Table file").set_input_files(table)
    page.get_by_role("button", name="Upload and go on").click()
    page.get_by_role("heading", name=f"Columns of {table.name}").wait_for(timeout=LONG)


def audit(page, verdict):
    """Start the audit with what is chosen already, and watch until the verdict is there, without touching the page."""
    assert page.get_by_label("flu is to be protected").is_checked()
    assert page.get_by_label("age is known to the adversary").is_checked()
    assert not page.get_by_label("flu is known to the adversary").is_checked()
    page.get_by_role("button", name="Start the audit").click()
    page.locator(".hero .word", has_text=re.compile(f"^{verdict}$")).wait_for(timeout=LONG)


@pytest.fixture
def people(site):
    organisation = add_organisation(site)
    ada = add_account(site, organisation, "Ada", Role.SUBMITTER)
    grace = add_account(site, organisation, "Grace", Role.REVIEWER)
    return ada, grace


@sites.ON_SQLITE
def test_a_model_is_submitted_fails_is_mended_and_released_by_two(site, people, browser, tmp_path):
    ada, grace = people
    with (
        served(site) as address,
        working(site),
        signed_in(browser, address, site, ada) as hers,
        signed_in(browser, address, site, grace) as theirs,
    ):
        # Ada uploads a model with a leaf of eight people, and it fails.
        hers.goto("/")
        hers.get_by_role("link", name="Audit the first model").click()
        hers.get_by_label("Name of the new model").fill("flu <b>risk</b>")
        upload(hers, *files(tmp_path, 1))
        audit(hers, "FAIL")
        finding = hers.get_by_role("article", name="smallest-leaf")

        # She asks that one finding be accepted, and says too little at first: what she typed stays.
        finding.get_by_role("link", name="Ask for a waiver").click()
        hers.get_by_label("Why this can be accepted").fill("Published since 2019")
        hers.get_by_label("Where it was decided").fill("   ")
        hers.get_by_role("button", name="Ask for the waiver").click()
        assert "Where it was decided" in hers.get_by_role("alert").inner_text()
        assert hers.get_by_label("Why this can be accepted").input_value() == "Published since 2019"
        hers.get_by_label("Where it was decided").fill("PRIV-7")
        hers.get_by_role("button", name="Ask for the waiver").click()
        hers.wait_for_url("**/waivers**")
        assert hers.get_by_text("smallest-leaf").first.is_visible()

        # A model of more people is the next version, and passes.
        hers.goto("/models")
        hers.get_by_role("link", name="flu <b>risk</b>").click()
        hers.get_by_role("link", name="New version").click()
        upload(hers, *files(tmp_path, 20))
        audit(hers, "PASS")
        assert hers.frame_locator("iframe").locator("h1").first.is_visible()

        # She asks for its release, and cannot approve it herself.
        hers.get_by_role("link", name="Ask for a release").click()
        hers.get_by_label("What it is published for").fill("The open data portal")
        hers.get_by_role("button", name="Ask for the release").click()
        hers.wait_for_url(re.compile(r"/releases/[0-9a-f]{32}$"))
        release = hers.url
        assert hers.get_by_role("button", name="Decide").count() == 0

        # Grace finds it on her first page, ticks what people have to tick, and approves.
        theirs.goto("/")
        waiting = theirs.get_by_role("region", name="Waits for your decision", exact=True)
        waiting.get_by_role("link", name="version 2").click()
        assert theirs.url == release
        while theirs.get_by_role("button", name=re.compile("^Tick")).count():
            theirs.get_by_role("button", name=re.compile("^Tick")).first.click()
        theirs.get_by_label("Approve").check()
        theirs.get_by_role("button", name="Decide").click()
        theirs.locator(".chip", has_text="approved").first.wait_for()

        # A pipeline is told so, and Ada releases.
        gate = {"Authorization": f"Bearer {add_token(site, ada, [Permission.GATE])}"}
        path = release.replace("/releases/", "/api/v1/releases/") + "/gate"
        answer = httpx.get(path, headers=gate).json()
        assert (answer["outcome"], answer["exit_code"]) == ("PASS", 0)
        hers.goto(release)
        hers.get_by_role("button", name="Mark as released").click()
        hers.locator(".chip", has_text="released").first.wait_for()

        # The two versions side by side, once a worker has compared them.
        hers.goto("/models")
        hers.get_by_role("link", name="flu <b>risk</b>").click()
        hers.get_by_role("button", name="Compare").click()
        hers.get_by_role("heading", name="Version 1 and version 2").wait_for()
        hers.get_by_text("The trees are being compared").wait_for(state="detached", timeout=LONG)
    with site.reading() as unit:
        tables = unit.connection.execute(select(data_table.c.state)).scalars().all()
        keys = select(blob.c.sealed_key).where(blob.c.kind == "table")
        assert tables == ["erased", "erased"]
        assert unit.connection.execute(keys).scalars().all() == [None, None]
