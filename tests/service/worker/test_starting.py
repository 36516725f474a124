"""What the processes of jobs are begun with: nothing that a stranger's file could read and tell."""

import ctypes
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.kit.service import serving, sites
from treewarden.service.database.run_tables import worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
SECRETS = {
    "TREEWARDEN_DATABASE": "postgresql://user:canary-1@host/name",
    "TREEWARDEN_OIDC_CLIENT_SECRET": "canary-2",
    "TREEWARDEN_METRICS_TOKEN": "canary-3",
    "AWS_SECRET_ACCESS_KEY": "canary-4",
    "PGPASSWORD": "canary-5",
    "SOMETHING_ELSE": "canary-6",
}
PROGRAM = """
import json, os, signal, sys
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from treewarden.service.worker.sandbox import start_process
from treewarden.service.worker import supervising
from tests.service.worker.test_starting import tell_environment

supervising.PRELOADED = ()

def told(context):
    ours, theirs = context.Pipe()
    process = context.Process(target=tell_environment, args=(theirs,), daemon=True)
    start_process(process)
    found = {"job": ours.recv_bytes().decode()}
    for name, number in (
        ("forkserver", forkserver._forkserver._forkserver_pid),
        ("tracker", resource_tracker._resource_tracker._pid),
    ):
        found[name] = Path(f"/proc/{number}/environ").read_bytes().decode()
    process.join()
    return found

if __name__ == "__main__":
    context = supervising.forking()
    first = told(context)
    for number in (forkserver._forkserver._forkserver_pid, resource_tracker._resource_tracker._pid):
        os.kill(number, signal.SIGKILL)
        os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
    again = told(context)
    own = {name: os.environ[name] for name in sys.argv[1:]}
    block = dict(each.split("=", 1) for each in os.popen("env").read().splitlines() if "=" in each)
    print(json.dumps({"first": first, "again": again, "own": own, "given": {name: block.get(name) for name in own}}))
"""


def tell_environment(connection):
    """Say what the block and the variables of this process hold."""
    block = Path("/proc/self/environ").read_bytes()
    connection.send_bytes(block + json.dumps(dict(os.environ)).encode())


@pytest.fixture(scope="module")
def said():
    """What was found in the blocks of a worker's processes, and in its own variables."""
    environment = os.environ | SECRETS | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *SECRETS], env=environment, capture_output=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.processes
@pytest.mark.parametrize("when", ["first", "again"])
@pytest.mark.parametrize("which", ["job", "forkserver", "tracker"])
def test_no_process_of_a_job_holds_a_secret_of_the_service(said, when, which):
    block = said[when][which]
    assert "PATH=" in block
    assert "canary" not in block


@pytest.mark.processes
def test_what_a_job_needs_is_handed_on(said):
    assert "OMP_NUM_THREADS=1" in said["first"]["job"]


@pytest.mark.processes
def test_the_worker_keeps_its_own_variables(said):
    assert said["own"] == SECRETS
    assert said["given"] == SECRETS


DROP_FROM_BOUNDS = 24
SEE_OTHERS = (19, 21, 38)
"""What lets root read any process: tracing, administration, watching how programs perform."""
READ = "import sys; print(open(f'/proc/{sys.argv[1]}/environ').read())"


def may_not_see_others():
    """Give up what lets root read any process, before another program is begun; others never had it."""
    library = ctypes.CDLL(None)
    for each in SEE_OTHERS:
        library.prctl(DROP_FROM_BOUNDS, each, 0, 0, 0)


def read_by_a_neighbour(process):
    """Return what another process of this user reads of the variables of one, and why it does not."""
    command = [sys.executable, "-c", READ, str(process.pid)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=may_not_see_others
    )
    return done.stdout + done.stderr


@contextmanager
def running(*words, **environment):
    environment = os.environ | SECRETS | environment
    command = [sys.executable, *words]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, preexec_fn=may_not_see_others
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def environment_of(site):
    url = site.engine.url.render_as_string(hide_password=False)
    return {"TREEWARDEN_DATA_DIR": str(site.settings.data_dir), "TREEWARDEN_DATABASE": url}


def number_of_workers(site):
    with site.reading() as unit:
        return unit.connection.execute(select(func.count()).select_from(worker)).scalar_one()


@pytest.fixture
def site(tmp_path):
    with sites.make_site("sqlite", tmp_path) as opened:
        yield opened


@pytest.mark.processes
def test_the_variables_of_a_worker_are_read_by_no_process_of_a_job(site):
    with running("-m", "treewarden", "worker", "--slots", "1", **environment_of(site)) as process:
        serving.until(lambda: number_of_workers(site) == 1)
        assert "PermissionError" in read_by_a_neighbour(process)


@pytest.mark.processes
def test_the_variables_of_a_server_are_read_by_no_process_of_a_job(site):
    words = ("-m", "treewarden", "serve", "--port", "0")
    with running(*words, **environment_of(site), TREEWARDEN_SLOTS="0") as process:
        assert process.stdout.readline().startswith(b"http://")
        assert "PermissionError" in read_by_a_neighbour(process)


def test_those_of_any_other_program_are_read():
    with running(
        "-c", "import time; print('here', flush=True); time.sleep(60)", CANARY="seen"
    ) as process:
        assert process.stdout.readline() == b"here\n"
        assert "CANARY=seen" in read_by_a_neighbour(process)
