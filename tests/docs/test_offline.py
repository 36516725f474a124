"""A page of the site that loads something from elsewhere is found."""

from __future__ import annotations

import pytest

from docs._ext.offline import loads


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="{}"></script>',
        '<link rel="stylesheet" href="{}">',
        '<img src="{}">',
        '<iframe src="{}"></iframe>',
        "<style>@import url({});</style>",
    ],
)
@pytest.mark.parametrize("address", ["https://elsewhere.example/x", "//elsewhere.example/x"])
def test_what_is_loaded_from_elsewhere_is_found(tag, address):
    page = f"<html><body>{tag.format(address)}</body></html>"
    assert loads(page.encode()) == [address]


def test_own_files_and_links_for_readers_are_fine():
    page = b'<html><script src="_static/a.js"></script><a href="https://elsewhere.example/">x</a></html>'
    assert loads(page) == []
