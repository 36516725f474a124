import pytest
from click.testing import CliRunner

from tests.kit.service import sites
from tests.kit.service.tables import add, files
from treewarden.cli import cli
from treewarden.service.database.engine import head
from treewarden.service.vault.vault import KEY_FILE


def run(*words):
    done = CliRunner().invoke(cli, ["db", *map(str, words)])
    return done.exit_code, done.output


@pytest.fixture(params=sites.KINDS)
def empty(request, tmp_path):
    """The options that name an empty database."""
    folder = tmp_path / "empty"
    folder.mkdir()
    with sites.make_database(request.param, folder) as url:
        yield ["--data-dir", folder, "--database", url]


def where(site):
    url = site.engine.url.render_as_string(hide_password=False)
    return ["--data-dir", site.settings.data_dir, "--database", url]


def test_the_tables_are_made_once(empty):
    assert run("upgrade", *empty) == (0, f"level {head()}, was none\n")
    assert run("upgrade", *empty) == (0, f"level {head()}, as before\n")


def test_a_database_without_tables_is_told_how_to_make_them(empty, tmp_path):
    for words in (["check"], ["backup", tmp_path / "copy"]):
        code, said = run(*words, *empty)
        assert code == 4
        assert "treewarden db upgrade" in said
    assert not (tmp_path / "copy").exists()


def test_what_is_backed_up_is_restored_and_checked(site, empty, tmp_path):
    add(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    assert run("backup", tmp_path / "copy", *where(site))[0] == 0
    (empty[1] / KEY_FILE).write_bytes((site.settings.data_dir / KEY_FILE).read_bytes())
    assert run("restore", tmp_path / "copy", *empty)[0] == 0
    code, said = run("check", *empty)
    assert (code, "wrong" in said) == (
        0,
        False,
    )  # the table is erased, and no file of it is looked for
    code, said = run("restore", tmp_path / "copy", *empty)
    assert code == 4
    assert "is not empty" in said


def test_a_check_that_finds_something_ends_with_one(site):
    add(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    files(site)[0].unlink()
    code, said = run("check", *where(site))
    assert code == 1
    assert "wrong  table" in said


def test_an_administrator_is_made_without_a_server(empty, site):
    if "sqlite" not in str(empty[-1]):
        run("upgrade", *empty)
    code, said = run("create-admin", "ann", "--organisation", "Hospital", *empty)
    assert code == 0
    assert said.startswith("one-time password: ")
    code, said = run("create-admin", "Ann", "--organisation", "Hospital", *empty)
    assert code == 4
    assert "looks like a name that is taken" in said
    assert run("create-admin", "ann", "--organisation", "Elsewhere", *empty)[0] == 0
    assert run("check", *empty)[0] == 0
    assert run("create-admin", "root", *where(site))[0] == 0
