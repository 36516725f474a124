"""What follows from a verdict, on pages: a repair, its proposals, another audit beside it, and what is filed."""

import re

import pytest

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.service.api.test_repairs import API, failed
from tests.treewarden.conftest import written as written_files
from treewarden.service.auth.principal import Role
from treewarden.service.use_cases.releases import makes_pdf


@pytest.fixture
def site(tmp_path):
    with sites.make_site("sqlite", tmp_path / "site") as found:
        yield found


@pytest.fixture
def flu(tmp_path):
    files = written_files(tmp_path)
    return files.model.read_bytes(), files.table.read_bytes()


@pytest.fixture
def client(site, home):
    return sites.open_client(site, sites.add_account(site, home, "ann", Role.SUBMITTER))


def place(answer):
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_a_repair_is_asked_for_with_the_table_once_more_and_a_proposal_is_taken(site, client, flu):
    audit = failed(site, client, flu)
    shown = client.get(f"/audits/{audit['id']}").text
    assert "Its table was erased" in shown
    address = f"/audits/{audit['id']}/repairs/table"
    other = client.post(address, files={"table_file": ("other.csv", b"age,sex,flu\n1,m,no\n")})
    assert other.status_code == 409
    assert "is not the table of the audit" in other.text
    client.follow_redirects = False
    repair = place(client.post(address, files={"table_file": ("people.csv", flu[1])}))
    make.do_all(site)
    shown = client.get(repair).text
    assert "recommended" in shown
    assert "A CHANGE PASSES" in shown
    assert "Ask for a release" not in shown
    assert "training accuracy: " in shown
    taken = place(client.post(f"{repair}/proposals/1/version"))
    assert re.fullmatch(r"/submit\?version=[0-9a-f]{32}", taken)
    assert "A proposal was taken." in client.get(repair).text


def test_a_repair_is_one_button_where_the_table_was_kept(site, home, client, flu):
    audit = failed(site, client, flu, keeps_table=True)
    assert "kept for its hours" in client.get(f"/audits/{audit['id']}").text
    client.follow_redirects = False
    repair = place(client.post(f"/audits/{audit['id']}/repairs", data={"tries_all": "true"}))
    make.do_all(site)
    again = place(client.post(f"{repair}/proposals/1/version"))
    assert re.fullmatch(r"/audits/[0-9a-f]{32}", again)
    make.do_all(site)

    viewer = sites.open_client(site, sites.add_account(site, home, "vera", Role.VIEWER))
    both = viewer.get(f"/audits/{audit['id']}/compare?to={again[8:]}").text
    assert "Gone" in both
    assert "Metrics that changed" not in both
    assert "Take as a version" not in viewer.get(repair).text

    assert f"{again[8:]}/compliance.html" in client.get(again).text
    of_audit = viewer.get(f"{API}{again}/compliance.html")
    assert of_audit.headers["content-security-policy"].startswith("sandbox")
    for asked in ("EDPB, Opinion 28/2024", "GDPR, recital 26", "ICO, anonymisation guidance"):
        assert asked in of_audit.text
    assert "Release on record" not in of_audit.text
    body = {"audit_id": again[8:], "title": "Flu", "purpose": "The open data portal"}
    release = client.post(f"{API}/releases", json=body).json()["id"]
    assert "compliance.html" in client.get(f"/releases/{release}").text
    path = f"{API}/releases/{release}/reports/compliance"
    filed = viewer.get(f"{path}.html")
    assert filed.headers["content-security-policy"].startswith("sandbox")
    assert "the register" in filed.text
    assert "Release on record" in filed.text
    if makes_pdf():
        made = viewer.get(f"{path}.pdf")
        assert made.headers["content-type"] == "application/pdf"
        assert made.content.startswith(b"%PDF-")
