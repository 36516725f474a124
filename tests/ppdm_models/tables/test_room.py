"""How much memory a table may take: what the user says, and never nothing."""

from __future__ import annotations

import pytest

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.limits import LEAST_MEMORY, TABLE_MEMORY, room_bytes


def test_it_is_what_the_environment_says(monkeypatch):
    monkeypatch.setenv(TABLE_MEMORY, "3000")
    assert room_bytes() == 3000 * 2**20


@pytest.mark.parametrize("said", ["", "1"])
def test_it_is_never_less_than_is_of_use(said, monkeypatch):
    monkeypatch.setenv(TABLE_MEMORY, said)
    assert room_bytes() >= LEAST_MEMORY


@pytest.mark.parametrize("said", ["0", "-5", "much", "1e3", "9999999999"])
def test_what_is_no_number_of_megabytes_is_refused(said, monkeypatch):
    monkeypatch.setenv(TABLE_MEMORY, said)
    with pytest.raises(TableError, match="not a number of megabytes"):
        room_bytes()
