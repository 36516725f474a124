import pytest

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.tables import digest
from treewarden.service.running import PREFIX
from treewarden.service.schemas.releases import NewRelease, NewReview
from treewarden.service.use_cases import releases
from treewarden.service.use_cases.gate import file_answer

MODEL = make.write_tree()
SHA256 = digest(MODEL)


def answered(site, who, sha256=SHA256):
    with site.reading() as unit:
        found = file_answer(unit, who, sha256)
    assert found.digest == sha256
    assert found.pending == (found.exit_code is None)
    return found


def opened(site, who, verdict="PASS"):
    made = make.end_audit(
        site, make.queue_audit(site, who, make.add_version(site, who), None), verdict
    )
    with site.unit() as unit:
        return releases.open_release(unit, who, NewRelease(audit_id=made, title="Loans")).id


def decide(site, who, release_id, decision):
    with site.unit() as unit:
        releases.tick(unit, who, release_id, "text-1", True)
        releases.review(unit, who, release_id, NewReview(decision=decision))


def test_a_file_is_followed_from_its_upload_to_its_release(site, ann, bob):
    assert answered(site, ann).outcome == "NO AUDIT"
    version = make.add_version(site, ann)
    assert "was uploaded, but not audited" in answered(site, ann).why
    audited = make.queue_audit(site, ann, version, None)
    found = answered(site, ann)
    assert (found.outcome, found.audit_id) == ("PENDING", audited)
    make.end_audit(site, audited)
    assert "no release is open" in answered(site, ann).why
    with site.unit() as unit:
        made = releases.open_release(unit, ann, NewRelease(audit_id=audited, title="Loans")).id
    found = answered(site, ann)
    assert (found.outcome, found.release_id) == ("PENDING", made)
    decide(site, bob, made, "approve")
    assert answered(site, ann).exit_code == 0


@pytest.mark.parametrize(("verdict", "code"), [("FAIL", 1), ("UNDETERMINED", 3)])
def test_what_does_not_pass_is_not_waited_for(site, ann, verdict, code):
    made = make.end_audit(
        site, make.queue_audit(site, ann, make.add_version(site, ann), None), verdict
    )
    assert make.read_row(site, make.audit, made).verdict == verdict
    assert answered(site, ann).exit_code == code


def test_a_repair_is_no_audit(site, ann):
    version = make.add_version(site, ann)
    make.end_audit(site, make.queue_audit(site, ann, version, None, kind="repair"))
    assert answered(site, ann).outcome == "NO AUDIT"


def test_the_newest_release_of_the_bytes_decides(site, ann, bob):
    decide(site, bob, opened(site, ann), "approve")
    assert answered(site, ann).exit_code == 0
    newer = opened(site, ann)
    assert answered(site, ann).exit_code is None
    decide(site, bob, newer, "reject")
    assert answered(site, ann).exit_code == 1


def test_other_bytes_and_other_organisations_get_nothing_of_an_approval(site, ann, bob):
    decide(site, bob, opened(site, ann), "approve")
    assert answered(site, ann, digest(MODEL + b"\n")).outcome == "NO AUDIT"
    eve = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve")
    found = answered(site, eve)
    assert (found.outcome, found.model) == ("NO AUDIT", "")


def test_a_token_for_the_gate_alone_may_ask(site, ann, bob):
    decide(site, bob, opened(site, ann), "approve")
    client = sites.open_client(site)
    secret = sites.add_token(site, ann, ["gate"])
    headers = {"Authorization": f"Bearer {secret}"}
    answer = client.get(f"{PREFIX}/gate", params={"sha256": SHA256}, headers=headers)
    assert (answer.status_code, answer.json()["exit_code"]) == (200, 0)
    for wrong in ("", "f" * 63, "F" * 64, "%00"):
        asked = client.get(f"{PREFIX}/gate", params={"sha256": wrong}, headers=headers)
        assert asked.status_code == 422
    assert client.get(f"{PREFIX}/gate", headers=headers).status_code == 422
