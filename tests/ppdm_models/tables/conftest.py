"""What tests of tables share."""

import pytest

from treewarden.ppdm_models.tables.readers import statistics


@pytest.fixture
def sound_files(monkeypatch):
    """Files that a test has written end no library: none is tried in a process of its own first."""
    monkeypatch.setattr(statistics, "survives", lambda function, whole: True)
