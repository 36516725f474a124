"""How the service runs: the application, what has to hold before it starts, the web server, and its worker."""

from __future__ import annotations

import fcntl
import importlib
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

import uvicorn
from fastapi import APIRouter, FastAPI

import treewarden
from treewarden.ppdm_models.errors import os_reason
from treewarden.service import api, pages
from treewarden.service.api._answers import GiveBack, Unchanged, tell_problems
from treewarden.service.api._guarding import Guard, SignInQueue
from treewarden.service.api._requests import Forwarded
from treewarden.service.auth.oidc import check_oidc
from treewarden.service.database.engine import check_level, level, upgrade
from treewarden.service.errors import SetupError
from treewarden.service.operations.observability import (
    Metrics,
    Watching,
    check_key,
    log_as_json,
    trace_where_asked,
)
from treewarden.service.settings import Settings
from treewarden.service.site import Site, open_site
from treewarden.service.use_cases.tables import check_table_roots
from treewarden.service.worker.sandbox import hide_from_neighbours

# The application: all routes of the folders ``api`` and ``pages``, and what holds for each of them.

PREFIX = "/api/v1"


def application(site: Site) -> FastAPI:
    """Return the application of a process."""
    app = FastAPI(
        title="treewarden",
        version=treewarden.__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.site = site
    app.state.metrics = Metrics(site)
    tell_problems(app)
    app.add_middleware(GiveBack, site=site)
    app.add_middleware(Unchanged)
    app.add_middleware(SignInQueue, site=site)
    app.add_middleware(Guard, settings=site.settings)
    app.add_middleware(Watching, metrics=app.state.metrics, prefix=PREFIX)
    app.add_middleware(Forwarded, settings=site.settings)
    for router in _routers(api):
        app.include_router(router, prefix=PREFIX)
    for router in _routers(pages):
        app.include_router(router, include_in_schema=False)
    return app


def _routers(package: ModuleType) -> Iterator[APIRouter]:
    """Yield the router of each module whose name does not begin with ``_``, in the order of their names."""
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if not found.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{found.name}").ROUTER


PAUSE_SECONDS = 2.0
STOP_SECONDS = 20.0


def ready_site(settings: Settings) -> Site:
    """Return what the process holds; a new SQLite database is made, any other has to be there.

    Raises:
        SetupError: the database is of another level, the key is another one, or something cannot be used.
    """
    check_oidc(settings)
    site = open_site(settings)
    if site.engine.dialect.name == "sqlite" and level(site.engine) is None:
        upgrade(site.engine)
    check_level(site.engine)
    site.vault.store.check()
    check_key(site)
    with site.reading() as unit:
        check_table_roots(unit)
    return site


def serve(site: Site, prepare: Callable[[], None] = lambda: None) -> None:
    """Answer until the process is told to stop; ``prepare`` is called once folder and port are this server's.

    Raises:
        SetupError: another server has the data folder or the port.
    """
    hide_from_neighbours()
    log_as_json(site.settings.log_level)
    app = application(site)
    trace_where_asked(app, site.settings)
    # uvicorn ends its work at a signal and raises that again: what is beside it has yet to be stopped then
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        suppress(KeyboardInterrupt),
        _alone(site),
        _listening(site.settings) as listener,
    ):
        prepare()
        print(f"http://{site.settings.host}:{listener.getsockname()[1]}", flush=True)
        with _worker(site.settings):
            config = uvicorn.Config(
                app,
                http="h11",
                log_config=None,
                server_header=False,
                lifespan="off",
                proxy_headers=False,  # the application does that, for the proxies of the settings
            )
            config.timeout_graceful_shutdown = int(STOP_SECONDS)
            uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _alone(site: Site) -> Iterator[None]:
    """Hold the data folder: with SQLite, one server may use it."""
    if site.engine.dialect.name != "sqlite":
        yield
        return
    with Path(site.settings.data_dir, "serve.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            problem = "another server is using it; stop that server, or give another folder"
            raise SetupError("--data-dir", problem) from error
        yield


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    where = f"{settings.host}:{settings.port}"
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        problem = f"the server cannot listen on {where} ({os_reason(error)}); choose another --port"
        raise SetupError("--port", problem) from error
    with listener:
        yield listener


@contextmanager
def _worker(settings: Settings) -> Iterator[None]:
    """Keep a worker beside the server, begun again when it ends; none where there are no slots."""
    if not settings.slots:
        yield
        return
    stop = threading.Event()
    keeper = threading.Thread(target=_keep, args=(settings, stop), name="keeper", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join(STOP_SECONDS + PAUSE_SECONDS)


def _keep(settings: Settings, stop: threading.Event) -> None:
    environment = os.environ | {
        "TREEWARDEN_DATA_DIR": str(settings.data_dir),
        "TREEWARDEN_DATABASE": settings.database,
    }
    while not stop.is_set():
        child = subprocess.Popen(
            [sys.executable, "-m", "treewarden", "worker", "--follow", str(os.getpid())],
            env=environment,
            # a Ctrl-C at the terminal is for the server, which then stops its worker
            start_new_session=True,
        )
        while child.poll() is None and not stop.wait(0.2):
            pass
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        stop.wait(PAUSE_SECONDS)
