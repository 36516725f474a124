"""Where a finding is, wherever findings are shown."""

from sqlalchemy import update

from tests.kit.service import sites
from tests.kit.service.browsing import add_session
from tests.kit.service.seeds import seeded
from treewarden.service.api._requests import COOKIE
from treewarden.service.database.run_tables import finding
from treewarden.service.database.tables import release
from treewarden.service.pages._rendering import environment, paragraphs
from treewarden.service.schemas.audits import Finding
from treewarden.service.use_cases.jobs import queue_job

LEAF, WAY = "b420c41baee4d775ed9c557c", "rating ≤ 2.5 and age ≤ 30"


def place(leaf="", path=""):
    source = '{% import "_macros.html.j2" as show %}{{ show.place(finding) }}'
    found = Finding(
        n=1, id="i", clause="c", verdict="FAIL", severity="error", message="m", leaf=leaf, path=path
    )
    return " ".join(environment().from_string(source).render(finding=found).split())


def test_a_finding_says_the_way_to_its_leaf_and_how_the_leaf_is_called():
    assert place(LEAF, WAY) == f'{WAY} <span class="leaf">leaf <code>{LEAF[:12]}</code></span>'


def test_the_only_leaf_of_a_tree_is_not_the_model_as_a_whole():
    assert place(LEAF).startswith("All records: no test leads to this leaf")
    assert place() == "The model as a whole"


def test_the_pages_of_an_audit_and_of_a_release_say_it(site):
    people = seeded(site)
    with site.unit() as unit:
        unit.connection.execute(update(finding).values(leaf=LEAF, path=WAY))
        audit = unit.connection.execute(release.select()).one().audit_id
        queue_job(unit, people.ann.organisation_id, "audit", audit)
    client = sites.open_client(site)
    client.cookies.set(COOKIE, add_session(site, people.rita))
    for path in (f"/audits/{audit}", f"/releases/{people.release}"):
        text = client.get(path).text
        assert WAY in text
        assert LEAF[:12] in text


def test_a_policy_in_sentences_is_parted_by_clause():
    lines = ("standard 1: All", "  What cannot be", "  told.", "", "", "label (error)")
    lines += ("  Computed from all.", "  Why: so", "  Source: own")
    assert paragraphs(lines) == (
        ("standard 1: All", "What cannot be told."),
        ("label (error)", "Computed from all. Why: so. Source: own"),
    )
    assert paragraphs(()) == ()
