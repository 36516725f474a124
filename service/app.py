"""The application: all routes of the folders ``api`` and ``pages``, and what holds for each of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from fastapi import APIRouter, FastAPI

import treewarden
from treewarden.service import api, pages
from treewarden.service.api._forwarding import Forwarded
from treewarden.service.api._guarding import Guard
from treewarden.service.api._once import GiveBack
from treewarden.service.api._problems import tell_problems
from treewarden.service.api._queueing import SignInQueue
from treewarden.service.api._unchanged import Unchanged
from treewarden.service.operations.metrics import Metrics
from treewarden.service.operations.watching import Watching
from treewarden.service.site import Site

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
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        if not found.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{found.name}").ROUTER
