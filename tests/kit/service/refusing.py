"""A client that is told of refusals by their status, also of an application that does not tell them itself."""

from fastapi import Request
from fastapi.responses import JSONResponse

from tests.kit.service import sites
from treewarden.service.errors import ServiceError


def open_client(site, who=None):
    client = sites.open_client(site, who)
    if ServiceError not in client.app.exception_handlers:
        client.app.add_exception_handler(ServiceError, told)
    return client


async def told(request: Request, error: ServiceError):
    return JSONResponse({"detail": str(error)}, error.status)
