"""A repair that passes is about a file which nobody has taken yet: the version that failed stays one that failed."""

import re

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.service.running import PREFIX


def failed_and_repaired(site, who):
    """Return the ids of the audit that failed and of the repair that passed, both of one version."""
    version = make.add_version(site, who)
    audited = make.queue_audit(site, who, version, None)
    make.end_audit(site, audited, "FAIL")
    repaired = make.queue_audit(site, who, version, None, kind="repair")
    make.end_audit(site, repaired, "PASS")
    return audited, repaired


def test_no_page_calls_a_version_passing_that_only_a_repair_of_it_passed(site, ann):
    audited, repaired = failed_and_repaired(site, ann)
    client = sites.open_client(site, ann)
    model = client.get(f"{PREFIX}/audits/{audited}").json()["model_id"]
    for path in ("/", "/models", f"/models/{model}", "/audits", f"/audits/{audited}"):
        text = client.get(path).text
        assert "badge pass" not in text, path
        assert "badge fail" in text or "hero fail" in text, path
    overview = client.get("/").text
    assert re.search(r'href="/audits\?verdict=PASS"><p class="figure">0<', overview)
    assert "repair found" in client.get("/audits").text
    assert "<title>Repair:" in client.get(f"/audits/{repaired}").text


def test_no_list_has_a_repair_as_an_audit_that_passed(site, ann):
    audited, repaired = failed_and_repaired(site, ann)
    client = sites.open_client(site, ann)
    assert "repair found" not in client.get("/audits?verdict=PASS").text
    for verdict, found in (("PASS", []), ("FAIL", [audited]), ("", [repaired, audited])):
        query = {"verdict": verdict} if verdict else {}
        answer = client.get(f"{PREFIX}/audits", params=query).json()
        assert [each["id"] for each in answer["items"]] == found, verdict


def test_a_repair_is_no_side_of_a_comparison(site, ann):
    audited, repaired = failed_and_repaired(site, ann)
    client = sites.open_client(site, ann)
    assert f'value="{repaired}"' not in client.get(f"/audits/{audited}").text
    answer = client.get(f"{PREFIX}/audits/{audited}/compare?to={repaired}")
    assert answer.status_code == 409
    assert "is a repair" in answer.json()["detail"]
