"""Outputs that are published with a model, and a data dictionary: sealed, judged and erased as the table is."""

import json
import re

import pytest
from sqlalchemy import select, update

from tests.kit import office_tables
from tests.kit.run import run_command
from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.jobs.further_files import MOST_OUTPUTS as MOST_OF_COMMAND_LINE
from treewarden.service.database.run_tables import audit, log_entry
from treewarden.service.database.tables import blob, data_table, organisation
from treewarden.service.errors import new_id
from treewarden.service.ledger.log import SEALED, seal_of
from treewarden.service.schemas.audits import MOST_OUTPUTS

API = "/api/v1"
PEOPLE = (
    "30,north,yes",
    "60,north,yes",
    "45,north,no",
    "40,south,yes",
    "50,south,no",
    "35,south,no",
)
TABLE = "\n".join(("age,place,illness", *PEOPLE, "")).encode()
MEAN = b',yes\n"age, mean",43.3\n'
"""The mean age of the ill: with the tree it proves everybody's value, and neither proves any alone."""
LABELS = (
    b"column,label,value,value_label\nage,Age in years,,\nillness,Had the illness,yes,was ill\n"
)
OPTIONS = {"sensitive": "illness", "qi": ["age", "place"]}


@pytest.fixture(scope="module")
def tree():
    return make.write_tree({"north": (2, 1), "south": (1, 2)})


@pytest.fixture
def client(site, home):
    return sites.open_client(site, sites.add_account(site, home, "ann", "submitter"))


def put_version(client, tree):
    made = client.post(f"{API}/models", json={"name": "ill"}).json()
    body = {"digest": sites.upload_file(client, tree, "model"), "file_name": "ill.pmml"}
    return client.post(f"{API}/models/{made['id']}/versions", json=body).json()["id"]


def put_file(client, data, name, holds="records"):
    digest = sites.upload_file(client, data, "table")
    body = {"digest": digest, "file_name": name, "holds": holds}
    answer = client.post(f"{API}/tables", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["holds"] == holds
    return answer.json()["id"]


def submit(client, version, table, **more):
    body = {"model_version_id": version, "table_id": table, "options": OPTIONS, **more}
    return client.post(f"{API}/audits", json=body)


def done(site, client, answer):
    assert answer.status_code == 202, answer.text
    make.do_all(site)
    return client.get(f"{API}/audits/{answer.json()['id']}").json()


def report(client, ended):
    return client.get(f"{API}/audits/{ended['id']}/reports/internal.json").json()


def states(site, *tables):
    with site.reading() as unit:
        rows = unit.connection.execute(
            select(data_table.c.state, blob.c.sealed_key.is_(None))
            .join(blob, blob.c.id == data_table.c.blob_id)
            .where(data_table.c.id.in_(tables))
        )
        return {tuple(row) for row in rows}


@pytest.fixture
def internal_reports(site, home):
    with site.unit() as unit:
        unit.connection.execute(update(organisation).values(keeps_profiles=True))


@pytest.mark.usefixtures("internal_reports")
def test_a_model_is_judged_with_its_outputs_as_on_the_command_line(
    site, home, tree, tmp_path, monkeypatch
):
    client = sites.open_client(site, sites.add_account(site, home, "ann"))
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, MEAN, "mean.csv", "output")
    alone = done(site, client, submit(client, version, table, keeps_table=True))
    ended = done(site, client, submit(client, version, table, output_ids=[output]))
    assert (ended["state"], ended["output_names"]) == ("done", ["mean.csv"]), ended["problem"]
    for name, data in (("ill.pmml", tree), ("people.csv", TABLE), ("mean.csv", MEAN)):
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    asked = (
        "audit",
        "ill.pmml",
        "--data",
        "people.csv",
        "--sensitive",
        "illness",
        "--qi",
        "age,place",
    )
    told = json.loads(run_command(*asked, "--with", "mean.csv", "--format", "json").stdout)
    here = report(client, ended)
    assert here["readings"] == told["readings"]
    assert here["readings"]["certain_disclosure"]["low"] == 6
    # Cuts of the age are as good as the tree's split in all other tables that fit the tree, so nothing is shown either.
    assert report(client, alone)["readings"]["certain_disclosure"]["low"] == 0
    assert here["provenance"]["outputs"] == told["provenance"]["outputs"]
    assert [file["name"] for file in here["provenance"]["outputs"]] == ["mean.csv"]


def test_outputs_are_sealed_logged_and_erased_with_the_table(site, home, client, tree):
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, MEAN, "mean.csv", "output")
    labels = put_file(client, LABELS, "labels.csv", "dictionary")
    assert states(site, output, labels) == {("reading", False)}
    sent = submit(client, version, table, output_ids=[output], dictionary_id=labels)
    ended = done(site, client, sent)
    assert (ended["state"], ended["dictionary_id"]) == ("done", labels), ended["problem"]
    assert states(site, table, output, labels) == {("erased", True)}
    with site.reading() as unit:
        logged = select(log_entry.c.detail).where(log_entry.c.action == "audit.submitted")
        assert unit.connection.execute(logged).scalar_one()["outputs"] == [output]
    viewer = sites.open_client(site, sites.add_account(site, home, "cay", "viewer"))
    seen = viewer.get(f"{API}/audits/{ended['id']}").json()
    assert seen["output_names"] == ["mean.csv"]
    assert seen["provenance"]["outputs"] == [{"name": "mean.csv", "sha256": ""}]


def test_the_officers_report_shows_the_labels_of_a_dictionary_and_names_the_outputs(
    site, home, tree
):
    with site.unit() as unit:
        unit.connection.execute(update(organisation).values(keeps_profiles=True))
    client = sites.open_client(site, sites.add_account(site, home, "ann"))
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, MEAN, "mean.csv", "output")
    labels = put_file(client, LABELS, "labels.csv", "dictionary")
    sent = submit(client, version, table, output_ids=[output], dictionary_id=labels)
    ended = done(site, client, sent)
    filed = client.get(f"{API}/audits/{ended['id']}/compliance.html").text
    for words in ("Age in years", "Had the illness", "was ill", "mean.csv"):
        assert words in filed


def test_the_labels_of_an_spss_table_are_in_the_officers_report(site, home, tree, tmp_path):
    with site.unit() as unit:
        unit.connection.execute(update(organisation).values(keeps_profiles=True))
    client = sites.open_client(site, sites.add_account(site, home, "ann"))
    lines = [line.split(",") for line in TABLE.decode().splitlines()]
    ages, places, answers = zip(*lines[1:], strict=True)
    columns = {
        "age": list(map(float, ages)),
        "place": list(places),
        "illness": [float(each == "yes") for each in answers],
    }
    titles = {"age": "Age in years", "illness": "Had the illness"}
    labels = {"illness": {0: "no", 1: "yes"}}
    path = office_tables.write(tmp_path / "people.sav", columns, labels=labels, titles=titles)
    version = put_version(client, tree)
    ended = done(
        site, client, submit(client, version, put_file(client, path.read_bytes(), path.name))
    )
    filed = client.get(f"{API}/audits/{ended['id']}/compliance.html").text
    assert "Age in years" in filed
    assert "Had the illness" in filed


def test_an_audit_ends_where_an_output_is_erased_before(site, client, tree):
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, MEAN, "mean.csv", "output")
    asked = submit(client, version, table, output_ids=[output]).json()["id"]
    assert client.delete(f"{API}/tables/{output}").status_code == 204
    assert client.get(f"{API}/audits/{asked}").json()["state"] == "error"


def test_an_output_that_another_audit_needs_stays(site, client, tree):
    version, output = put_version(client, tree), put_file(client, MEAN, "mean.csv", "output")
    first, second = (put_file(client, TABLE, "people.csv") for _ in range(2))
    asked = submit(client, version, first, output_ids=[output]).json()["id"]
    submit(client, version, second, output_ids=[output])
    client.post(f"{API}/audits/{asked}/cancel")
    assert states(site, output) == {("reading", False)}
    make.do_all(site)
    assert states(site, output) == {("erased", True)}


@pytest.mark.parametrize(
    ("data", "name", "problem"),
    [
        (b"\x00\x01", "mean.csv", "not text; save it as CSV in UTF-8"),
        (b"a,b\n", "mean.csv", "has no rows below its header"),
        (b"a,b\n1,2\n", "mean.csv", "docs/paper.md: anonymised table"),
        (b',yes\n"size, mean",43.3\n', "mean.csv", "mean.csv:2"),
        (
            MEAN.replace(b"43.3", b"43.4"),
            "mean.csv",
            "mean.csv:2: column 'yes': this published output cannot be used with the table",
        ),
    ],
)
@sites.ON_SQLITE
def test_a_file_that_is_no_output_of_this_table_is_an_error_that_says_why(
    site, client, tree, data, name, problem
):
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, data, name, "output")
    ended = done(site, client, submit(client, version, table, output_ids=[output]))
    assert (ended["state"], ended["exit_code"]) == ("error", 4)
    assert problem in ended["problem"]
    assert "43.33" not in ended["problem"]  # what the table gives is told to nobody here


def test_a_broken_dictionary_is_refused_when_it_is_read(site, client):
    labels = put_file(client, b"name,text\nage,Age\n", "labels.csv", "dictionary")
    make.do_all(site)
    read = client.get(f"{API}/tables/{labels}").json()
    assert read["state"] == "refused"
    assert "no 'column'" in read["problem"]


def test_a_file_is_taken_only_as_what_it_was_added_as(client, tree):
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    output = put_file(client, MEAN, "mean.csv", "output")
    for words, more in (
        ("mean.csv was added as an output; add it as a table", {"table_id": output}),
        ("people.csv was added as a table", {"output_ids": [table]}),
        ("was added as an output; add it as a dictionary", {"dictionary_id": output}),
        ("the same file twice", {"output_ids": [output, output]}),
        ("only with the training table", {"table_id": None, "output_ids": [output]}),
        (
            "knows all quasi-identifiers",
            {"output_ids": [output], "options": OPTIONS | {"knows": ["age"]}},
        ),
        ("is unknown", {"output_ids": [new_id()]}),
    ):
        body = {"model_version_id": version, "table_id": table, "options": OPTIONS, **more}
        answer = client.post(f"{API}/audits", json=body)
        assert answer.status_code in (404, 422), words
        assert words in answer.text, answer.text


def test_somebody_elses_output_is_none(site, home, client, tree):
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    other = sites.open_client(site, sites.add_account(site, home, "bob", "submitter"))
    output = put_file(other, MEAN, "mean.csv", "output")
    assert submit(client, version, table, output_ids=[output]).status_code == 404


def test_outputs_are_limited_in_size_and_number_as_on_the_command_line(client, tree):
    assert MOST_OUTPUTS == MOST_OF_COMMAND_LINE
    digest = sites.upload_file(client, bytes(4_000_001), "table")
    body = {"digest": digest, "file_name": "mean.csv", "holds": "output"}
    answer = client.post(f"{API}/tables", json=body)
    assert answer.status_code == 413
    assert "larger than 4,000,000 bytes" in answer.text
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    many = [new_id() for _ in range(MOST_OUTPUTS + 1)]
    assert submit(client, version, table, output_ids=many).status_code == 422


def test_a_repair_needs_the_outputs_and_takes_those_that_were_kept(site, home, client, tree):
    version = put_version(client, tree)
    asked = []
    for keeps_table in (False, True):
        table = put_file(client, TABLE, "people.csv")
        output = put_file(client, MEAN, "mean.csv", "output")
        more = {"output_ids": [output], "keeps_table": keeps_table}
        asked.append(done(site, client, submit(client, version, table, **more))["id"])
    erased, kept = (client.get(f"{API}/audits/{each}/repairs").json() for each in asked)
    assert (erased["can_start"], kept["can_start"]) == (False, True)
    assert "with outputs that are published with the model" in erased["why_not"]
    started = client.post(f"{API}/audits/{asked[1]}/repairs", json={})
    assert started.status_code == 202, started.text
    assert started.json()["output_names"] == ["mean.csv"]
    make.do_all(site)
    ended = client.get(f"{API}/audits/{started.json()['id']}").json()
    assert ended["state"] == "done", ended["problem"]


def test_files_are_uploaded_and_named_on_the_pages(site, client, tree):
    client.follow_redirects = False
    assert "Outputs published with the model" in client.get("/submit").text
    files = [
        ("model_file", ("ill.pmml", tree)),
        ("table_file", ("people.csv", TABLE)),
        ("output_files", ("mean.csv", MEAN)),
        ("output_files", ("cross.csv", b"place,yes,no\nnorth,2,1\nsouth,1,2\n")),
        ("dictionary_file", ("labels.csv", LABELS)),
    ]
    again = client.post("/submit", files=files)
    assert again.status_code == 422
    kept = dict(re.findall(r'name="(kept_\w+|\w+_digest|\w+_name)" value="([^"]*)"', again.text))
    assert "mean.csv" in kept["kept_outputs"]
    assert "labels.csv" in kept["kept_dictionary"]
    sent = client.post("/submit", data={**kept, "name": "ill"}, files={"model_file": ("", b"")})
    assert sent.status_code == 303, sent.text
    page = sent.headers["location"]
    make.do_all(site)
    shown = client.get(page).text
    for name in ("mean.csv", "cross.csv", "labels.csv"):
        assert name in shown
    sent = client.post(page, data=OPTIONS)
    assert sent.status_code == 303, sent.text
    make.do_all(site)
    shown = client.get(sent.headers["location"]).text
    assert "mean.csv<br>cross.csv" in shown
    assert "FAIL" in shown


def test_the_page_says_which_further_file_could_not_be_read(site, client, tree):
    client.follow_redirects = False
    files = {
        "model_file": ("ill.pmml", tree),
        "table_file": ("people.csv", TABLE),
        "dictionary_file": ("labels.csv", b"name,text\nage,Age\n"),
    }
    sent = client.post("/submit", data={"name": "ill"}, files=files)
    make.do_all(site)
    shown = client.get(sent.headers["location"]).text
    assert "labels.csv could not be read." in shown


WIDE = '[columns.place]\nvalues = ["north", "south", "east", "west"]\n'


@pytest.mark.usefixtures("internal_reports")
def test_a_declared_domain_reaches_the_audit_and_its_repair(site, home, tree):
    client = sites.open_client(site, sites.add_account(site, home, "ann"))
    tree = tree.replace(b'<Value value="north"/><Value value="south"/>', b"")
    tree = tree.replace(b'"equal" value="south"', b'"notEqual" value="north"')
    version, table = put_version(client, tree), put_file(client, TABLE, "people.csv")
    asked = {"pack": "open-data", "keeps_table": True}
    plain = done(site, client, submit(client, version, table, **asked))
    ended = done(site, client, submit(client, version, table, domain=WIDE, **asked))
    known, wide = (report(client, each)["readings"]["records_rebuilt"] for each in (plain, ended))
    assert (known["low"], wide["low"]) == (4, 2)
    both = client.get(f"{API}/audits/{plain['id']}/compare?to={ended['id']}").json()
    assert both["is_same_question"] is False
    made = client.post(f"{API}/audits/{ended['id']}/repairs", json={}).json()
    with site.reading() as unit:
        rows = unit.connection.execute(select(audit.c.domain).where(audit.c.id == made["id"]))
        assert rows.scalar_one() == WIDE


@pytest.mark.parametrize(
    ("has_table", "domain", "problem"),
    [
        (False, WIDE, "give the table too"),
        (True, "[columns.place]\nvalues = []\n", "at least 1 must be given"),
        (True, "place", "not valid TOML"),
    ],
)
def test_a_domain_that_cannot_be_used_is_refused(client, tree, has_table, domain, problem):
    table = put_file(client, TABLE, "people.csv") if has_table else None
    answer = submit(client, put_version(client, tree), table, domain=domain)
    assert answer.status_code == 422
    assert problem in answer.text


def test_a_seal_is_of_the_domain_too_where_one_is_declared(site):
    names = (*SEALED["audit"], "domain")
    row = dict.fromkeys(names, "")
    assert seal_of(site, "audit", row) != seal_of(site, "audit", {**row, "domain": WIDE})
