"""Damaged files that once made a reader fail are read, or refused with a reason."""

import pytest

from tests.judges.run_fuzz import KEPT, outcome
from tests.kit import places
from treewarden.ppdm_models.files.load import formats

ROOT = places.ROOT
FOUND = sorted((ROOT / KEPT).glob("*/*.bin"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_damaged_file_is_read_or_refused(path):
    assert outcome(formats()[path.parent.name], path.read_bytes())


def test_what_was_kept_says_why():
    assert all(path.with_suffix(".txt").read_text(encoding="utf-8") for path in FOUND)
