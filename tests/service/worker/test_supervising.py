from sqlalchemy import select

from tests.kit.service import work_to_do as make
from tests.treewarden.conftest import written as written_files
from treewarden.service.database.run_tables import audit, finding, job, job_event, proposal, report
from treewarden.service.database.tables import blob, data_table, model_version
from treewarden.service.use_cases.jobs import queue_job


def test_an_audit_ends_with_a_verdict_and_reports_and_without_its_table(site, ann):
    table = make.add_upload(site, ann)
    asked = make.queue_audit(site, ann, make.add_version(site, ann), table)
    assert make.do_next(site)
    found = make.read_row(site, audit, asked)
    assert (found.state, found.problem) == ("done", "")
    assert found.verdict in ("PASS", "FAIL", "UNDETERMINED")
    assert found.exit_code == {"PASS": 0, "FAIL": 1, "UNDETERMINED": 3}[found.verdict]
    gone = make.read_row(site, data_table, table)
    assert gone.state == "erased"
    kept = make.read_row(site, blob, gone.blob_id)
    assert kept.sealed_key is None
    assert not site.vault.path(kept.id, kept.digest).exists()
    with site.reading() as unit:
        forms = set(unit.connection.execute(select(report.c.kind, report.c.form)).all())
    assert ("public", "html") in forms
    assert ("internal", "html") not in forms


def test_a_repair_proposes_files_and_makes_none_of_them_a_version(site, ann, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    files = written_files(given)
    version = make.add_version(site, ann, files.model.read_bytes(), "flu.pmml")
    table = make.add_upload(site, ann, files.table.read_bytes())
    budget = 60  # seconds, so that a busy machine gets to the same end
    asked = make.queue_audit(
        site, ann, version, table, "repair", "standard", sensitive="flu", worlds_budget=budget
    )
    assert make.do_next(site)
    found = make.read_row(site, audit, asked)
    assert (found.problem, found.state, found.verdict) == ("", "done", "PASS")
    assert found.repaired_version_id is None
    with site.reading() as unit:
        tried = unit.connection.execute(select(proposal).order_by(proposal.c.n)).all()
    assert (tried[0].verdict, tried[0].file_name) == ("PASS", "flu-repaired.pmml")
    kept = make.read_row(site, blob, tried[0].blob_id)
    assert kept.expires_at is not None
    written = site.vault.read(kept.id, kept.digest, kept.sealed_key)
    assert b"<PMML" in written
    assert written != files.model.read_bytes()
    assert not make.do_next(site)


def test_files_are_read_when_they_arrive(site, ann):
    version, table = make.add_version(site, ann), make.add_upload(site, ann, state="reading")
    with site.unit() as unit:
        queue_job(unit, ann.organisation_id, "inspect_model", version)
        queue_job(unit, ann.organisation_id, "inspect_table", table)
    assert make.do_next(site)
    assert make.do_next(site)
    assert not make.do_next(site)
    read = make.read_row(site, model_version, version)
    assert (read.state, read.format, read.summary["leaves"]) == ("ready", "pmml", 2)
    columns = make.read_row(site, data_table, table)
    assert (columns.state, columns.records) == ("ready", 24)
    assert {"name": "place", "kind": "category"} in columns.columns
    assert make.CANARY not in make.as_text(columns.columns)


def test_what_is_no_model_is_refused_with_the_words_of_the_command_line(site, ann):
    version = make.add_version(site, ann, b"not a model", "notes.txt")
    with site.unit() as unit:
        queue_job(unit, ann.organisation_id, "inspect_model", version)
    assert make.do_next(site)
    read = make.read_row(site, model_version, version)
    assert read.state == "refused"
    assert read.problem.startswith("notes.txt: ")


def test_a_table_that_does_not_fit_ends_in_an_error_that_quotes_nobody(site, ann):
    table = make.add_upload(site, ann, f"a,b\n{make.CANARY},2\n".encode())
    asked = make.queue_audit(site, ann, make.add_version(site, ann), table)
    assert make.do_next(site)
    found = make.read_row(site, audit, asked)
    assert (found.state, found.verdict, found.exit_code) == ("error", None, 4)
    assert "cannot be used with this model" in found.problem
    assert make.read_row(site, data_table, table).state == "ready"
    with site.reading() as unit:
        for each in (audit, job, job_event, finding):
            rows = unit.connection.execute(select(each)).all()
            assert make.CANARY not in make.as_text([list(row) for row in rows])
