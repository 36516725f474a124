"""A list asks as much of the database however long it is."""

import re

from sqlalchemy import event, insert, update

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.database.run_tables import audit, report
from treewarden.service.database.tables import organisation
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX
from treewarden.service.schemas.releases import NewComment, NewPack, NewRelease
from treewarden.service.use_cases.policies import add_pack
from treewarden.service.use_cases.releases import add_comment, open_release

LISTS = ("/models", "/audits", "/releases")


def test_a_list_asks_as_often_for_five_things_as_for_one(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    client = sites.open_client(site, ann)
    paths = (*LISTS, "/", *(PREFIX + each for each in LISTS))
    a_release(site, ann)
    short = {path: statements(site, client, path) for path in paths}
    for _ in range(4):
        a_release(site, ann)
    assert {path: statements(site, client, path) for path in paths} == short


def test_releases_are_compared_with_the_least_policy_once_for_each_policy(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    toml = 'name = "clinic"\nversion = "1.0.0"\ntitle = "Clinic: as health"\nextends = "health"\n'
    with site.unit() as unit:
        add_pack(unit, ann, NewPack(toml=toml))
        unit.connection.execute(update(organisation).values(least_pack="clinic"))
    client = sites.open_client(site, ann)
    a_release(site, ann)
    short = statements(site, client, "/releases")
    a_release(site, ann)
    assert statements(site, client, "/releases") == short


def test_an_audit_is_offered_beside_those_of_its_model_and_then_all_others(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    version, other = (make.add_version(site, ann) for _ in range(2))
    ids = [make.queue_audit(site, ann, each, None) for each in (version, version, other, other)]
    for each in ids[:3]:
        done(site, each, "PASS")
    text = sites.open_client(site, ann).get(f"/audits/{ids[0]}").text
    assert re.findall(r'<option value="(\w{32})"', text) == [ids[1], ids[2]]


def test_each_model_is_listed_with_its_own_file_and_its_newest_audit(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    for number in range(3):
        version = make.add_version(site, ann, name=f"file-{number}.pmml")
        for verdict in ("PASS", "FAIL")[: number + 1]:
            done(site, make.queue_audit(site, ann, version, None), verdict)
    client = sites.open_client(site, ann)
    listed = client.get(f"{PREFIX}/models").json()["items"]
    names = [(each["versions"], each["latest"]["file_name"]) for each in listed]
    assert names == [(1, "file-2.pmml"), (1, "file-1.pmml"), (1, "file-0.pmml")]
    rows = client.get("/models").text.split("<tbody>")[1].split("</tr>")
    assert ["badge fail" in row for row in rows[:3]] == [True, True, False]


def test_what_belongs_to_one_of_a_list_stays_with_it(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    made = [a_release(site, ann, remark) for remark in ("first", "second")]
    client = sites.open_client(site, ann)
    releases = client.get(f"{PREFIX}/releases").json()["items"]
    remarks = [[each["text"] for each in said["comments"]] for said in releases]
    assert remarks == [["second"], ["first"]]
    audits = client.get(f"{PREFIX}/audits").json()["items"]
    for each, (of, _) in zip(audits, reversed(made), strict=True):
        path = f"{PREFIX}/audits/{of}/reports"
        told = [said["href"] for said in each["reports"]]
        assert told == [f"{path}/public.html", f"{path}/public.json"]


def statements(site, client, path):
    """Return how many statements an answer takes."""
    client.get(path)  # the use of a token is written down once a minute
    seen = []

    def note(*_):
        seen.append(path)

    event.listen(site.engine, "before_cursor_execute", note)
    assert client.get(path).status_code == 200
    event.remove(site.engine, "before_cursor_execute", note)
    return len(seen)


def a_release(site, who, remark="looked at"):
    """Make a model, an audit that passed, its reports, and a release with a remark; return the ids of the last two."""
    made = make.queue_audit(site, who, make.add_version(site, who), None)
    done(site, made, "PASS")
    blob_id, _ = make.put_blob(site, who, "report", b"report")
    with site.unit() as unit:
        for form in ("json", "html"):
            values = {"id": new_id(), "organisation_id": who.organisation_id, "audit_id": made}
            values |= {"kind": "public", "form": form, "blob_id": blob_id, "created_at": unit.now}
            unit.connection.execute(insert(report).values(**values))
        opened = open_release(unit, who, NewRelease(audit_id=made, title="Loans")).id
        add_comment(unit, who, opened, NewComment(text=remark))
    return made, opened


def done(site, audit_id, verdict):
    values = {"state": "done", "verdict": verdict, "exit_code": 0}
    with site.unit() as unit:
        unit.connection.execute(update(audit).where(audit.c.id == audit_id).values(**values))
