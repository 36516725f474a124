"""The policy that every release should be judged by at least."""

import pytest
from sqlalchemy import text, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.sealing import seal_all
from treewarden.service.database.run_tables import audit
from treewarden.service.errors import ConflictError, NotFoundError
from treewarden.service.schemas.audits import NewAudit
from treewarden.service.schemas.people import LeastPack
from treewarden.service.schemas.releases import NewPack, NewRelease, NewReview
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.accounts.people import get_organisation, set_least_pack
from treewarden.service.use_cases.audits import submit
from treewarden.service.use_cases.policies import add_pack

API = "/api/v1"
CLAUSE = """
[[clause]]
id = "smallest-leaf"
measure = "k_anonymity"
rule = "at_least"
limit = {}
why = "A rule about very few people describes each of them."
"""


@pytest.fixture
def olga(site, home):
    return sites.add_account(site, home, "olga")


def a_pack(site, who, name, limit):
    words = f'name = "{name}"\nversion = "{limit}"\ntitle = "{name}"\ndescription = "x"\n'
    with site.unit() as unit:
        add_pack(unit, who, NewPack(toml=words + CLAUSE.format(limit)))


def set_least(site, who, name):
    with site.unit() as unit:
        return set_least_pack(unit, who, LeastPack(pack=name)).least_pack


def a_release(site, ann, pack):
    version = make.add_version(site, ann)
    with site.unit() as unit:
        made = submit(unit, ann, NewAudit(model_version_id=version, pack=pack)).id
        done = {"state": "done", "verdict": "PASS", "exit_code": 0}
        unit.connection.execute(update(audit).where(audit.c.id == made).values(**done))
    seal_all(site)
    with site.unit() as unit:
        return releases.open_release(unit, ann, NewRelease(audit_id=made, title="Loans")).id


@pytest.mark.parametrize(("limit", "standing"), [(20, "at least"), (10, "at least"), (5, "laxer")])
def test_a_policy_is_held_against_the_least_one(site, ann, olga, limit, standing):
    bob = sites.add_account(site, ann.organisation_id, "bob", "reviewer")
    a_pack(site, olga, "least", 10)
    a_pack(site, olga, "used", limit)
    made = a_release(site, ann, "used")
    set_least(site, olga, "least")
    with site.unit() as unit:
        found = releases.tick(unit, bob, made, "text-1", True)
    assert (found.policy_standing, found.least_policy) == (standing, "least@1")
    assert (found.policy, found.policy_author, found.asked_by) == ("used@1", "olga", "ann")
    (line,) = [each for each in found.checklist if each.id == "least-policy"]
    assert line.is_met == (standing == "at least")
    with site.unit() as unit:
        if standing == "at least":
            approved = releases.review(unit, bob, made, NewReview(decision="approve"))
            assert approved.state == "approved"
        else:
            assert any("smallest-leaf" in each for each in found.policy_differences)
            with pytest.raises(ConflictError, match="minimum policy"):
                releases.review(unit, bob, made, NewReview(decision="approve"))


def test_what_is_neither_stricter_nor_laxer_is_not_taken_for_enough(site, ann, olga):
    a_pack(site, olga, "used", 50)
    made = a_release(site, ann, "used")
    for least in ("strict", "health"):
        set_least(site, olga, least)
        with site.reading() as unit:
            found = releases.get_release(unit, ann, made)
        assert found.policy_standing in ("laxer", "different")
    with site.unit() as unit:  # a policy that ships may say something else by now
        unit.connection.execute(text("UPDATE audit SET pack_digest = '0'"))
    set_least(site, olga, "used")
    with site.reading() as unit:
        assert releases.get_release(unit, ann, made).policy_standing == "different"


def test_a_newer_version_of_the_least_policy_changes_nothing_by_itself(site, ann, olga):
    a_pack(site, olga, "least", 10)
    assert set_least(site, olga, "least") == "least@1"
    a_pack(site, olga, "least", 2)
    made = a_release(site, ann, "least")
    with site.reading() as unit:
        assert get_organisation(unit, olga).least_pack == "least@1"
        assert releases.get_release(unit, ann, made).policy_standing == "laxer"
    with pytest.raises(NotFoundError), site.unit() as unit:
        set_least_pack(unit, olga, LeastPack(pack="none-such"))


def test_where_there_is_no_least_policy_nothing_is_held_against_it(site, ann, olga):
    made = a_release(site, ann, "accurate")
    with site.reading() as unit:
        found = releases.get_release(unit, ann, made)
    assert (found.policy_standing, found.policy_author) == ("not set", "")
    assert "least-policy" not in [each.id for each in found.checklist]


def test_an_administrator_sets_it_by_page_and_by_api(site, home, ann, olga):
    client = sites.open_client(site, olga, follow_redirects=False)
    answer = client.put(f"{API}/organisation/least-pack", json={"pack": "strict"})
    assert answer.json()["least_pack"] == "strict"
    page = client.get("/administration/least-policy").text
    assert '<option value="strict" selected>' in page
    sent = client.post("/administration/least-policy", data={"pack": ""})
    assert sent.status_code == 303
    assert client.get(f"{API}/organisation").json()["least_pack"] is None
    assert client.post("/administration/least-policy", data={"pack": "no"}).status_code == 404
    viewer = sites.open_client(site, ann)
    assert viewer.put(f"{API}/organisation/least-pack", json={"pack": None}).status_code == 403


def test_the_page_of_a_release_says_whose_policy_it_was_and_how_it_stands(site, ann, olga):
    a_pack(site, olga, "used", 5)
    made = a_release(site, ann, "used")
    a_pack(site, olga, "least", 10)
    set_least(site, olga, "least")
    page = sites.open_client(site, ann).get(f"/releases/{made}").text
    assert "used@1, written by olga" in page
    assert "laxer than least@1" in page
    assert "olga (wrote the policy)" in page
