"""Remote file systems for tests: one in memory (`there`), and an S3 server on this machine (`bucket`).

Tests that take the latter are skipped without s3fs and moto.
"""

from __future__ import annotations

import urllib.request

import fsspec
import pytest

HOW = "needs: pip install s3fs 'moto[server]'"


@pytest.fixture
def bucket(monkeypatch):
    """The file system of an S3 server on this machine, with one bucket named `bucket`."""
    pytest.importorskip("s3fs", reason=HOW)
    server = pytest.importorskip("moto.server", reason=HOW).ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    at = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{at}/moto-api/reset", method="POST")).close()
    known = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in (known | {"AWS_ENDPOINT_URL": at}).items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    system = fsspec.filesystem("s3", use_listings_cache=False)
    system.mkdir("bucket")
    yield system
    server.stop()


@pytest.fixture
def there():
    """A file system in memory, which is emptied after the test."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]
