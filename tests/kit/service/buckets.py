"""A local server that speaks S3, and a bucket of its own for each test."""

from __future__ import annotations

import urllib.request
from contextlib import contextmanager
from uuid import uuid4

import pytest

KEY = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@contextmanager
def server(host="127.0.0.1"):
    """Give the address of a server that keeps objects in memory."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    running = moto.ThreadedMotoServer(ip_address=host, port=0, verbose=False)
    running.start()
    try:
        yield f"http://{host}:{running.get_host_and_port()[1]}"
    finally:
        running.stop()


def new_bucket(endpoint):
    """Make a bucket, and return its name."""
    name = f"bucket-{uuid4().hex[:12]}"
    request = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    urllib.request.urlopen(request).close()
    return name


def settings_of(endpoint, folder, name=None):
    """Return the settings of a service whose files are in a bucket; credentials are those of the environment."""
    folder.mkdir(exist_ok=True)
    key = folder / "given.key"
    key.write_text("ab" * 32)
    return {
        "bucket": name or new_bucket(endpoint),
        "bucket_endpoint": endpoint,
        "bucket_prefix": "treewarden/blobs",
        "bucket_region": "us-east-1",
        "bucket_http": True,
        "key_file": key,
    }
