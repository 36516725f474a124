"""A worker waits most of the time: what audits need is loaded for jobs, and freed where none comes for long."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from tests.kit.service.serving import until
from treewarden.service.database.run_tables import audit

HEAVY = (
    "casadi",
    "duckdb",
    "lxml",
    "matplotlib",
    "ortools",
    "pandas",
    "pyarrow",
    "pyomo",
    "scipy",
    "sklearn",
)
"""What audits, tables and plots need."""
LOADED = f"""
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted({{*{HEAVY!r}, *sys.argv[2:]}} & set(sys.modules)))
"""
APPLICATION = f"""
import sys
from pathlib import Path
from treewarden.service.running import application, ready_site
from treewarden.service.settings import Settings
application(ready_site(Settings(data_dir=Path(sys.argv[1]))))
print(*sorted({{*{HEAVY!r}, "zxcvbn"}} & set(sys.modules)))
"""


def printed(code, *words):
    """Return the words that a program prints."""
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.processes
def test_a_worker_loads_nothing_that_only_audits_or_pages_need():
    module = "treewarden.service.commands.worker"
    assert printed(LOADED, module, "fastapi", "starlette", "zxcvbn") == []


@pytest.mark.processes
def test_a_server_loads_nothing_that_only_audits_need(tmp_path):
    assert printed(APPLICATION, tmp_path) == []


READY = """
import importlib, sys, threading
from treewarden.reports.document.document import Document
from treewarden.reports.figures.pages import environment
from treewarden.service.worker.sandbox import AUDITING
def ready():
    models = Document.__pydantic_complete__
    return models, "treewarden.audit.measures.k_anonymity" in sys.modules, len(environment().cache) > 9
print(*ready())
importlib.import_module(AUDITING)
print(*ready(), threading.active_count())
"""


@pytest.mark.processes
def test_what_each_audit_would_make_anew_is_made_before_processes_begin_and_by_one_thread():
    assert printed(READY) == [*["False"] * 3, *["True"] * 3, "1"]


FORKSERVER = """
import json, os, signal, sys, threading, time
from multiprocessing import forkserver
from treewarden.service.worker import sandbox, supervising
from tests.service.worker.test_light_worker import tell_modules

def number():
    return forkserver._forkserver._forkserver_pid

def told(context):
    with sandbox.job_in_hand(lambda: None):
        ours, theirs = context.Pipe()
        process = context.Process(target=tell_modules, args=(theirs,), daemon=True)
        sandbox.start_process(process)
        modules = json.loads(ours.recv_bytes())
        kept = sandbox.end_idle_forkserver(0)
        process.join()
    return modules, kept, number()

def stopped():
    raise KeyError("the lease is lost")

if __name__ == "__main__":
    supervising.PRELOADED = ("colorsys",)
    context = supervising.forking()
    found = {"before": number()}
    found["first"] = told(context)
    found["too soon"] = sandbox.end_idle_forkserver(3600)
    found["ended"], found["then"] = sandbox.end_idle_forkserver(0), number()
    found["again"] = sandbox.end_idle_forkserver(0)
    found["second"] = told(context)
    os.kill(number(), signal.SIGKILL)
    os.waitid(os.P_PID, number(), os.WEXITED | os.WNOWAIT)
    found["third"] = told(context)
    sandbox.end_idle_forkserver(0)
    try:
        with sandbox.job_in_hand(stopped):
            found["lost"] = "begun"
    except KeyError:
        found["lost"] = "not begun"
    found["jobs"] = sandbox._USE.jobs
    print(json.dumps(found))
"""


def tell_modules(connection):
    """Say whether this process was begun with what is loaded for all of them."""
    connection.send_bytes(json.dumps("colorsys" in sys.modules).encode())


@pytest.fixture(scope="module")
def told():
    """What became of the forkserver of a worker while jobs came and went."""
    command = [sys.executable, "-c", FORKSERVER]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def test_nothing_is_loaded_for_jobs_before_there_is_one(told):
    assert told["before"] is None


def test_what_jobs_come_from_is_ended_where_none_came_for_long_and_no_sooner(told):
    assert not told["too soon"]
    assert told["ended"]
    assert told["then"] is None
    assert not told["again"]


def test_the_next_job_has_everything_loaded_again(told):
    runs = [told[name] for name in ("first", "second", "third")]
    assert [loaded for loaded, _, _ in runs] == [True, True, True]
    assert len({number for _, _, number in runs}) == 3


def test_it_is_not_ended_while_a_job_is_in_hand(told):
    assert [told[name][1] for name in ("first", "second", "third")] == [False, False, False]


def test_a_job_whose_lease_is_lost_while_everything_is_loaded_is_not_begun(told):
    assert told["lost"] == "not begun"
    assert told["jobs"] == 0


@contextmanager
def idle_worker(site):
    """Give a worker that frees memory at once."""
    environment = os.environ | {
        "TREEWARDEN_DATA_DIR": str(site.settings.data_dir),
        "TREEWARDEN_DATABASE": site.engine.url.render_as_string(hide_password=False),
        "TREEWARDEN_IDLE_SECONDS": "0",
        "TREEWARDEN_POLL_SECONDS": "0.1",
    }
    command = [sys.executable, "-m", "treewarden", "worker", "--slots", "1"]
    with subprocess.Popen(command, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()


def forkservers(process):
    """Return the numbers of the processes below one that jobs come from."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    numbers = [number for file in children for number in file.read_text().split()]
    return [
        number
        for number in numbers
        if "multiprocessing.forkserver" in Path(f"/proc/{number}/cmdline").read_text()
    ]


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@sites.ON_SQLITE
def test_jobs_before_and_after_memory_is_freed_are_done_once(site, ann):
    version = make.add_version(site, ann)
    with idle_worker(site) as process:
        for _ in range(2):
            asked = make.queue_audit(site, ann, version, make.add_upload(site, ann))
            until(lambda asked=asked: make.read_row(site, audit, asked).state == "done")
            assert [each.attempt for each in make.read_jobs(site, asked)] == [1]
            until(lambda: not forkservers(process))
