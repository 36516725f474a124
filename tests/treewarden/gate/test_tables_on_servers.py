"""Models of a gate whose table a database holds: audited in every run, as nobody tells what changed there."""

import duckdb
import pytest

from tests.kit.postgresql import own_schema
from tests.treewarden.conftest import GROUPS
from tests.treewarden.gate.conftest import PASSING


@pytest.fixture
def people():
    """Yield what runs statements on a table of people, {}.people, and its address."""
    rows = ", ".join(f"({age}, '{sex}', '{flu}', {n})" for age, sex, flu, n in GROUPS)
    with own_schema() as made:
        where = made(
            "create table {}.grouped (age int, sex text, flu text, n int)",
            f"insert into {{}}.grouped values {rows}",
            "create view {0}.people as select age, sex, flu from {0}.grouped, generate_series(1, n)",
        )
        yield made, f"{where}.people"


@pytest.mark.postgresql
def test_the_gate_asks_the_database_in_every_run(repository, people):
    made, where = people
    repository.configure(PASSING.replace("people.csv", where))
    for _ in range(2):
        outcome = repository.run()
        assert outcome.exit_code == 0, outcome.output
        assert "unchanged" not in outcome.output
    repository.commit()
    assert "flu" in repository.run("--changed-since", "HEAD").output
    made("update {0}.grouped set n = n - 1 where age = (select min(age) from {0}.grouped)")
    # The numbers of the model are those of another table now.
    assert repository.run().exit_code == 4


@pytest.mark.postgresql
def test_reports_of_such_models_name_the_table_and_no_user(repository, people):
    _, where = people
    repository.configure(PASSING.replace("people.csv", where))
    outcome = repository.run("--format", "json")
    assert "postgres@" not in outcome.output


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:canary@h/db#people", "postgresql://me@h/db?sslpassword=canary#people"],
)
def test_a_password_has_no_place_in_a_configuration(repository, address):
    repository.configure(PASSING.replace("people.csv", address))
    outcome = repository.run()
    assert outcome.exit_code == 4
    assert (
        "do not store passwords in this file; leave it to the driver (PGPASSWORD" in outcome.output
    )
    assert "canary" not in outcome.output


def test_an_address_without_a_table_says_how_to_name_one(repository):
    repository.configure(PASSING.replace("people.csv", "postgresql://me@h/db"))
    outcome = repository.run()
    assert (outcome.exit_code, "names no table" in outcome.output) == (4, True)


def test_a_table_of_too_many_profiles_is_undetermined(repository, monkeypatch):
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "64")
    with duckdb.connect(str(repository.folder / "people.duckdb")) as made:
        made.execute(
            "create table people as select n as age, 'F' as sex, 'no' as flu from range(2000000) t(n)"
        )
    text = PASSING.replace("people.csv", "people.duckdb").replace("*", "flu")
    repository.configure(text)
    outcome = repository.run("--jobs", "1")
    assert outcome.exit_code == 3, outcome.output
    assert "fewer quasi-identifiers" in outcome.output
