"""Pages of reviewers and administrators, as they answer."""

import re
from datetime import date, timedelta

from tests.kit.service import sites
from tests.kit.service.seeds import DIGEST, NASTY, seeded
from treewarden.service.auth.principal import Role

TYPED = {"clause": "k", "reason": "", "owner": "ann", "ticket": "1", "expires": "2099-01-01"}
SEEN = ("/releases", "/releases/{release}", "/waivers", "/waivers/{waiver}", "/packs", "/log")
KEPT = (
    "/administration",
    "/administration/retention",
    "/administration/workers",
    "/administration/webhooks",
    "/administration/webhooks/{webhook}",
)


def client_of(site, who):
    return sites.open_client(site, who, follow_redirects=False)


def revision_of(page):
    return re.search(r'name="revision" value="(\d+)"', page).group(1)


def test_a_page_shows_what_others_wrote_as_text(site):
    there = seeded(site)
    client = client_of(site, there.olga)
    for path in (*SEEN, "/tokens", "/waivers/new", "/waivers/import", *KEPT):
        answer = client.get(path.format_map(vars_of(there)))
        assert answer.status_code == 200, path
        assert NASTY not in answer.text, path


def test_what_is_for_administrators_is_shown_to_nobody_else(site):
    there = seeded(site)
    client = client_of(site, there.rita)
    for path in KEPT:
        assert client.get(path.format_map(vars_of(there))).status_code == 403, path


def test_what_is_of_another_organisation_is_not_found(site):
    there = seeded(site)
    other = sites.add_account(site, sites.add_organisation(site, "Elsewhere"), "eve")
    client = client_of(site, other)
    for path in ("/releases/{release}", "/waivers/{waiver}"):
        assert client.get(path.format_map(vars_of(there))).status_code == 404, path


def test_a_viewer_is_offered_nothing_to_decide(site):
    there = seeded(site)
    viewer = sites.add_account(site, there.ann.organisation_id, "vera", Role.VIEWER)
    client = client_of(site, viewer)
    assert "/reviews" not in client.get(f"/releases/{there.release}").text
    assert "/approve" not in client.get(f"/waivers/{there.waiver}").text


def test_who_asks_for_a_release_is_told_that_somebody_else_decides(site):
    there = seeded(site)
    page = client_of(site, there.ann).get(f"/releases/{there.release}").text
    assert "/reviews" not in page
    assert "/withdraw" in page


def test_a_release_is_reviewed_and_remarked_on(site):
    there = seeded(site)
    client, path = client_of(site, there.rita), f"/releases/{there.release}"
    assert client.post(f"{path}/comments", data={"text": "Which paper?"}).status_code == 303
    revision = revision_of(client.get(path).text)
    sent = {"revision": revision, "decision": "changes", "comment": "Name the paper"}
    assert client.post(f"{path}/reviews", data=sent).status_code == 303
    page = client.get(path).text
    assert "Which paper?" in page
    assert "asked for changes" in page


def test_a_review_of_what_was_changed_meanwhile_is_refused_and_stays_typed(site):
    there = seeded(site)
    client, path = client_of(site, there.rita), f"/releases/{there.release}"
    sent = {"revision": "7", "decision": "changes", "comment": "Name the paper"}
    answer = client.post(f"{path}/reviews", data=sent)
    assert answer.status_code == 412
    assert "Name the paper" in answer.text


def test_a_decision_that_nobody_chose_is_refused(site):
    there = seeded(site)
    path = f"/releases/{there.release}/reviews"
    answer = client_of(site, there.rita).post(path, data={"revision": "1"})
    assert answer.status_code == 422
    assert "no decision was chosen" in answer.text


def test_a_waiver_is_approved_by_somebody_else(site):
    there = seeded(site)
    client, path = client_of(site, there.rita), f"/waivers/{there.waiver}"
    assert client.post(f"{path}/approve", data={"comment": "Until then"}).status_code == 303
    page = client.get(path).text
    assert "In force." in page
    assert "Until then" in page


def test_a_waiver_without_a_reason_is_refused_and_stays_typed(site):
    there = seeded(site)
    answer = client_of(site, there.ann).post("/waivers", data=TYPED)
    assert answer.status_code == 422
    assert 'value="2099-01-01"' in answer.text
    assert "A reason is needed." in answer.text


def test_a_waiver_is_asked_for_and_exported_once_it_is_approved(site):
    there = seeded(site)
    sent = {**TYPED, "clause": "own-contribution", "reason": "known", "digest": f"sha256:{DIGEST}"}
    sent["expires"] = (date.today() + timedelta(days=9)).isoformat()
    made = client_of(site, there.ann).post("/waivers", data=sent)
    assert made.status_code == 303
    reviewer = client_of(site, there.rita)
    reviewer.post(made.headers["location"] + "/approve", data={})
    exported = reviewer.get("/waivers/export")
    assert "own-contribution" in exported.text
    assert exported.headers["content-disposition"].startswith("attachment")


def test_a_token_is_shown_once(site):
    there = seeded(site)
    client = client_of(site, there.ann)
    sent = {"name": "pipeline", "permissions": ["gate"], "days": "30"}
    made = client.post("/tokens", data=sent)
    secret = re.search(r'aria-label="Token">([^<]+)<', made.text).group(1)
    assert made.headers["cache-control"] == "no-store"
    again = client.get("/tokens").text
    assert "pipeline" in again
    assert secret not in again


def test_a_new_account_has_a_password_that_is_shown_once(site):
    there = seeded(site)
    client = client_of(site, there.olga)
    made = client.post("/administration/people", data={"name": "paul", "role": "viewer"})
    password = re.search(r'aria-label="One-time password">([^<]+)<', made.text).group(1)
    assert password not in client.get("/administration").text


def test_a_role_that_is_none_is_refused(site):
    there = seeded(site)
    sent = {"name": "paul", "role": "king"}
    answer = client_of(site, there.olga).post("/administration/people", data=sent)
    assert answer.status_code == 422
    assert 'value="paul"' in answer.text


def test_retention_is_changed(site):
    there = seeded(site)
    client = client_of(site, there.olga)
    sent = {"report_days": "90", "keeps_profiles": "true", "checklist": "One\r\n\r\n Two "}
    assert client.post("/administration/retention", data=sent).status_code == 303
    page = client.get("/administration/retention").text
    assert 'value="90"' in page
    assert "One\nTwo" in page


def test_the_log_says_that_its_chain_holds(site):
    there = seeded(site)
    assert "The chain holds." in client_of(site, there.rita).get("/log?check=true").text


def vars_of(there):
    return {"release": there.release, "waiver": there.waiver, "webhook": there.webhook}
