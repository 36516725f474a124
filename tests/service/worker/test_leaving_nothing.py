"""What must not stay of a file that was mistaken for something else, and what is said of one that was swapped."""

import pytest
from pydantic import ValidationError

from tests.kit.service import sites, tables
from tests.kit.service import work_to_do as make
from tests.service.worker.test_fencing import goes_in_time
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import blob, data_table, model_version
from treewarden.service.errors import GoneError
from treewarden.service.operations.integrity import back_up
from treewarden.service.schemas.audits import NewAudit
from treewarden.service.schemas.models import NewModel, NewTable, NewVersion
from treewarden.service.use_cases.audits import submit
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.use_cases.models import add_version, create_model, model_file
from treewarden.service.use_cases.tables import add_table


def without_a_header():
    return b"".join(make.write_table().splitlines(keepends=True)[1:])


def inspected(site, who, kind, subject_id):
    with site.unit() as unit:
        queue_job(unit, who.organisation_id, kind, subject_id)
    make.do_all(site)


def uploaded(site, who, data, name="m.pmml"):
    """Return a model whose newest version is a file that was sent."""
    tables.put(site, who, data, "model")
    with site.unit() as unit:
        made = create_model(unit, who, NewModel(name="loans"))
        sent = NewVersion(digest=tables.digest(data), file_name=name)
        return made, add_version(unit, who, made.id, sent)


@sites.ON_SQLITE
def test_the_first_record_of_a_table_without_a_header_is_not_kept_as_names(site, ann, tmp_path):
    table_id = make.add_upload(site, ann, without_a_header(), state="reading")
    inspected(site, ann, "inspect_table", table_id)
    assert make.CANARY in make.as_text(make.read_row(site, data_table, table_id).columns)
    asked = make.queue_audit(site, ann, make.add_version(site, ann), table_id)
    make.do_all(site)
    back_up(site, tmp_path / "before")
    assert goes_in_time(site, asked)
    found = make.read_row(site, data_table, table_id)
    assert (found.state, found.columns) == ("erased", None)
    back_up(site, tmp_path / "after")
    for name in ("before", "after"):
        assert make.CANARY.encode() not in (tmp_path / name).read_bytes()


@sites.ON_SQLITE
def test_the_names_of_columns_stay_where_an_audit_came_of_them(site, ann):
    table_id = make.add_upload(site, ann, state="reading")
    inspected(site, ann, "inspect_table", table_id)
    make.queue_audit(site, ann, make.add_version(site, ann), table_id)
    make.do_all(site)
    found = make.read_row(site, data_table, table_id)
    assert found.state == "erased"
    assert [each["name"] for each in found.columns] == ["place", "illness", "remark"]


@sites.ON_SQLITE
def test_a_table_sent_as_a_model_is_erased_once_it_is_refused(site, ann):
    _, version = uploaded(site, ann, make.write_table(), "people.csv")
    make.do_all(site)
    found = make.read_row(site, model_version, version.id)
    kept = make.read_row(site, blob, found.blob_id)
    assert found.state == "refused"
    assert (kept.sealed_key, tables.files(site)) == (None, [])
    with site.reading() as unit, pytest.raises(GoneError, match="erased"):
        b"".join(model_file(unit, ann, version.id)[1])


@sites.ON_SQLITE
def test_a_file_that_was_refused_may_be_sent_again(site, ann):
    made, _ = uploaded(site, ann, make.write_table(), "people.csv")
    make.do_all(site)
    tables.put(site, ann, make.write_table(), "model")
    with site.unit() as unit:
        sent = NewVersion(digest=tables.digest(make.write_table()), file_name="people.csv")
        assert add_version(unit, ann, made.id, sent).n == 2


@sites.ON_SQLITE
def test_an_audit_of_a_refused_file_says_why_it_was_refused(site, ann):
    _, version = uploaded(site, ann, make.write_table(), "people.csv")
    with site.unit() as unit:
        asked = submit(unit, ann, NewAudit(model_version_id=version.id, pack="accurate"))
    make.do_all(site)
    found = make.read_row(site, audit, asked.id)
    assert found.state == "error"
    assert "a table, not a model" in found.problem


@sites.ON_SQLITE
def test_a_file_is_audited_whatever_folder_its_name_tells_of(site, ann):
    _, version = uploaded(site, ann, make.write_tree(), "out/<i>/m.pmml")
    tables.put(site, ann, make.write_table())
    with site.unit() as unit:
        named = NewTable(digest=tables.digest(make.write_table()), file_name="../people.csv")
        table = add_table(unit, ann, named)
    asked = make.queue_audit(site, ann, version.id, table.id)
    make.do_all(site)
    assert (version.file_name, table.file_name) == ("m.pmml", "people.csv")
    assert make.read_row(site, audit, asked).state == "done"


@pytest.mark.parametrize("name", ["out/", "/", ".", "out/."])
def test_a_folder_is_no_name_of_a_file(name):
    with pytest.raises(ValidationError, match="names a folder"):
        NewVersion(digest="0" * 64, file_name=name)


@sites.ON_SQLITE
def test_a_file_that_another_model_has_stays(site, ann):
    _, version = uploaded(site, ann, make.write_table(), "people.csv")
    blob_id = make.read_row(site, model_version, version.id).blob_id
    with site.unit() as unit:
        other = create_model(unit, ann, NewModel(name="others"))
        sent = NewVersion(digest=tables.digest(make.write_table()), file_name="people.csv")
        add_version(unit, ann, other.id, sent)
    assert make.do_next(site)
    assert make.read_row(site, blob, blob_id).sealed_key is not None
    make.do_all(site)
    assert make.read_row(site, blob, blob_id).sealed_key is None


@sites.ON_SQLITE
def test_a_table_that_was_changed_after_it_was_named_is_not_audited(site, ann, tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    named = folder / "people.csv"
    named.write_bytes(make.write_table())
    settings = site.settings.model_copy(update={"table_roots": (str(folder),)})
    site = type(site)(settings, site.engine, site.vault)
    with site.unit() as unit:
        table = add_table(unit, ann, NewTable(path=str(named)))
    make.do_all(site)
    header, *records = make.write_table().splitlines(keepends=True)
    named.write_bytes(b"".join([header, *reversed(records)]))
    asked = make.queue_audit(site, ann, make.add_version(site, ann), table.id)
    make.do_all(site)
    found = make.read_row(site, audit, asked)
    assert (found.state, found.verdict) == ("error", None)
    assert "was changed after it was chosen" in found.problem
