"""A table is named by a path below the folder of another organisation."""

import pytest
from click.testing import CliRunner

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.cli import cli
from treewarden.service.errors import SetupError
from treewarden.service.use_cases.tables import check_table_roots, roots_of
from treewarden.service.worker.leases import JobClaim, order_of

API = "/api/v1"


@pytest.fixture
def folders(tmp_path):
    for name in ("clinic", "bank"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "people.csv").write_bytes(make.write_table())
    return tmp_path


@pytest.fixture
def clinic(site):
    return sites.add_organisation(site, "Clinic")


@pytest.fixture
def bank(site):
    return sites.add_organisation(site, "Bank = Trust")


def with_roots(site, *said):
    settings = site.settings.model_copy(update={"table_roots": said})
    return type(site)(settings, site.engine, site.vault)


def test_an_organisation_names_tables_below_its_own_folders_alone(site, clinic, bank, folders):
    site = with_roots(site, f"Clinic={folders}/clinic", f"{bank}={folders}/bank")
    with site.reading() as unit:
        check_table_roots(unit)
    for home, own, other in ((clinic, "clinic", "bank"), (bank, "bank", "clinic")):
        client = sites.open_client(site, sites.add_account(site, home, own, "submitter"))
        path = f"{folders}/{other}/people.csv"
        assert client.post(f"{API}/tables", json={"path": path}).status_code == 422
        path = f"{folders}/{own}/people.csv"
        assert client.post(f"{API}/tables", json={"path": path}).status_code == 202


def test_the_process_of_a_job_gets_the_folders_of_its_organisation_alone(
    site, clinic, bank, folders
):
    site = with_roots(site, f"Clinic={folders}/clinic", f"{bank}={folders}/bank")
    client = sites.open_client(site, sites.add_account(site, clinic, "ann", "submitter"))
    path = f"{folders}/clinic/people.csv"
    made = client.post(f"{API}/tables", json={"path": path}).json()["id"]
    with site.reading() as unit:
        order = order_of(unit, JobClaim("", clinic, "inspect_table", made, 1, 0))
    assert order.table.roots == (f"{folders}/clinic",)


def test_a_folder_without_an_organisation_is_that_of_the_only_one(site, clinic, folders):
    site = with_roots(site, f"{folders}/clinic")
    with site.reading() as unit:
        check_table_roots(unit)
        assert roots_of(unit, clinic) == (f"{folders}/clinic",)
    other = sites.add_organisation(site, "Bank")  # while the server runs
    with site.reading() as unit:
        assert roots_of(unit, clinic) == roots_of(unit, other) == ()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            ("FOLDERS/clinic",),
            "names no organisation, but there are 2; write ID=FOLDERS/clinic or Clinic=FOLDERS/clinic",
        ),
        (("Clinic=FOLDERS", "ID=FOLDERS/bank"), "one is inside the other"),
        (("Clinic=FOLDERS/bank", "ID=FOLDERS/bank"), "one is inside the other"),
        (("Clinic=FOLDERS/link", "ID=FOLDERS/bank"), "one is inside the other"),
    ],
)
def test_a_folder_that_is_not_of_one_organisation_keeps_it_from_starting(
    site, clinic, bank, folders, said, words
):
    (folders / "link").symlink_to(folders / "bank")
    filled = [each.replace("FOLDERS", str(folders)).replace("ID", bank) for each in said]
    with with_roots(site, *filled).reading() as unit, pytest.raises(SetupError) as refused:
        check_table_roots(unit)
    assert str(refused.value).startswith("TREEWARDEN_TABLE_ROOTS: ")
    assert words.replace("FOLDERS", str(folders)).replace("ID", bank) in str(refused.value)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_process_does_not_start_with_such_a_folder(command, tmp_path):
    with sites.make_site("sqlite", tmp_path) as site:
        sites.add_organisation(site, "Clinic")
        sites.add_organisation(site, "Bank")
    done = CliRunner().invoke(
        cli, [command, "--data-dir", str(tmp_path)], env={"TREEWARDEN_TABLE_ROOTS": "/srv/tables"}
    )
    assert done.exit_code == 4
    assert "write Bank=/srv/tables or Clinic=/srv/tables" in done.output
