import threading
from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from tests.kit.service import children, sites
from tests.kit.service import work_to_do as make
from tests.kit.service.serving import until
from tests.service.worker.test_fencing import begun_process, goes_in_time, gone, is_alive
from treewarden.service.database.run_tables import SCHEMA, audit, comparison
from treewarden.service.database.tables import model_version
from treewarden.service.errors import ConflictError, new_id
from treewarden.service.use_cases.jobs import cancel_job, list_workers, queue_job
from treewarden.service.use_cases.retention import erase_files
from treewarden.service.worker.supervising import forking
from treewarden.service.worker.working import work

HOSTILE = {
    "empty.pmml": b"",
    "noise.zip": bytes(range(256)) * 40,
    "laughs.pmml": b'<!DOCTYPE a [<!ENTITY b "'
    + b"x" * 1000
    + b'"><!ENTITY c "'
    + b"&b;" * 1000
    + b'"><!ENTITY d "'
    + b"&c;" * 1000
    + b'">]><PMML>&d;</PMML>',
    "deep.json": b"[" * 200_000,
    "deep.pmml": b"<Node>" * 200_000,
    "nul.json": b'{"format": "treewarden\\u0000", "tree": {"\\u0000": 1}}',
}


@pytest.fixture
def asked(site, ann):
    return make.queue_audit(site, ann, make.add_version(site, ann), make.add_upload(site, ann))


def with_settings(site, **settings):
    return replace(site, settings=site.settings.model_copy(update=settings))


def test_a_process_that_dies_alone_is_tried_once_more_and_then_its_job_ends(site, asked):
    context = children.Instead(children.dies)
    assert make.do_next(site, context)
    found = make.read_jobs(site, asked)[0]
    assert (found.state, found.failures) == ("queued", 1)
    assert not gone(site, asked)
    assert make.do_next(site, context)
    assert not make.do_next(site, context)
    ended = make.read_row(site, audit, asked)
    assert (ended.state, ended.exit_code) == ("error", 4)
    assert "was ended twice" in ended.problem
    assert goes_in_time(site, asked)


@pytest.mark.parametrize("does", [children.babbles, children.claims_too_much])
def test_an_answer_that_is_not_understood_is_no_result(site, asked, does):
    context = children.Instead(does)
    assert make.do_next(site, context)
    assert make.do_next(site, context)
    assert not make.do_next(site, context)
    assert make.read_row(site, audit, asked).state == "error"
    assert goes_in_time(site, asked)


def test_an_answer_that_the_database_refuses_ends_its_job_at_once(site, asked):
    assert make.do_next(site, children.Instead(children.says_odd_characters))
    found = make.read_row(site, audit, asked)
    kept = site.engine.dialect.name == "sqlite"
    assert found.state == ("done" if kept else "error")
    assert gone(site, asked) if kept else goes_in_time(site, asked)


def test_a_job_has_so_many_seconds(site, asked):
    assert make.do_next(with_settings(site, child_seconds=1), children.Instead(children.sleeps))
    found = make.read_row(site, audit, asked)
    assert found.state == "error"
    assert "took longer than the limit of 1 seconds" in found.problem
    assert goes_in_time(site, asked)


def test_an_answer_that_stops_in_the_middle_holds_no_worker(site, asked):
    context = children.Instead(children.stops_in_the_middle)
    short = with_settings(site, child_seconds=2)
    thread = threading.Thread(target=make.do_next, args=(short, context), daemon=True)
    thread.start()
    until(lambda: make.read_row(site, audit, asked).state == "error")
    assert "took longer than the limit of 2 seconds" in make.read_row(site, audit, asked).problem
    assert goes_in_time(site, asked)


@sites.ON_SQLITE
def test_a_job_has_so_much_memory(site, asked):
    small = with_settings(site, child_memory=2**26)
    while make.do_next(small):
        pass
    found = make.read_row(site, audit, asked)
    assert found.state == "error"
    assert "memory" in found.problem
    assert goes_in_time(site, asked)


def test_what_waits_is_cancelled_at_once(site, asked):
    with site.unit() as unit:
        erased = cancel_job(unit, make.read_jobs(site, asked)[0].id)
    erase_files(site, erased)
    assert make.read_row(site, audit, asked).state == "cancelled"
    assert gone(site, asked)
    assert not make.do_next(site)
    with pytest.raises(ConflictError), site.unit() as unit:
        cancel_job(unit, make.read_jobs(site, asked)[0].id)


def test_what_is_done_now_is_cancelled_with_its_process(site, asked):
    context = children.Instead(children.sleeps)
    thread = threading.Thread(target=make.do_next, args=(site, context))
    thread.start()
    found = make.read_jobs(site, asked)[0].id
    pid = begun_process(site, found)
    with site.unit() as unit:
        assert cancel_job(unit, found) == ()
    thread.join()
    assert not is_alive(pid)
    assert make.read_row(site, audit, asked).state == "cancelled"
    assert gone(site, asked)


@sites.ON_SQLITE
def test_hostile_files_end_in_the_process_of_their_job(site, ann):
    context = forking()
    versions = [make.add_version(site, ann, data, name) for name, data in HOSTILE.items() if data]
    with site.unit() as unit:
        for each in versions:
            queue_job(unit, ann.organisation_id, "inspect_model", each)
    while make.do_next(site, context):
        pass
    for each in versions:
        found = make.read_row(site, model_version, each)
        assert found.state == "refused"
        assert found.problem


def test_two_versions_are_compared_in_words(site, ann):
    old = make.add_version(site, ann)
    new = make.add_version(site, ann, make.write_tree({"north": (6, 6), "south": (3, 9)}))
    made = new_id()
    with site.unit() as unit:
        unit.connection.execute(
            insert(comparison).values(
                id=made,
                organisation_id=ann.organisation_id,
                model_id=make.read_row(site, model_version, old).model_id,
                from_version_id=old,
                to_version_id=new,
                state="reading",
                created_at=unit.now,
            )
        )
        queue_job(unit, ann.organisation_id, "compare", made)
    assert make.do_next(site)
    found = make.read_row(site, comparison, made)
    assert (found.state, found.problem) == ("ready", "")
    assert any("leaf changed" in line and "south" in line for line in found.trees)


@sites.ON_SQLITE
def test_no_value_of_a_table_is_anywhere_afterwards(site, ann, capfd):
    data = make.write_table()
    fits = make.queue_audit(
        site, ann, make.add_version(site, ann), make.add_upload(site, ann, data)
    )
    other = make.add_upload(site, ann, f"a,b\n{make.CANARY},2\n".encode())
    odd = make.queue_audit(site, ann, make.add_version(site, ann), other)
    while make.do_next(site):
        pass
    assert (make.read_row(site, audit, fits).state, make.read_row(site, audit, odd).state) == (
        "done",
        "error",
    )
    assert goes_in_time(site, odd)
    with site.reading() as unit:
        for each in SCHEMA.sorted_tables:
            rows = unit.connection.execute(select(each)).all()
            assert make.CANARY not in repr(rows), each.name
    for path in site.settings.data_dir.rglob("*"):
        if path.is_file():
            assert make.CANARY.encode() not in path.read_bytes(), path
    assert make.CANARY not in "".join(capfd.readouterr())
    assert gone(site, fits)


def test_workers_are_told_of_while_they_live(site):
    def workers():
        with site.reading() as unit:
            return list_workers(unit)

    stop = threading.Event()
    thread = threading.Thread(target=work, args=(site, 1, stop, "one"))
    thread.start()
    until(lambda: bool(workers()))
    found = workers()
    stop.set()
    thread.join()
    assert [(each.name, each.slots, each.is_alive) for each in found] == [("one", 1, True)]
    assert not workers()
