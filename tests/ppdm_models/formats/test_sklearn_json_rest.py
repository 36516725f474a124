"""What JSON of a scikit-learn tree holds that nobody reads is found, wherever it stands, and can be taken out."""

import json

import pytest

from tests.kit import places
from tests.ppdm_models.formats.accounting import cleaned, content, leaks, unnoticed, unremoved
from treewarden.ppdm_models.files.load import open_model

DATA = (places.DATA / "formats" / "sklearn_json" / "good" / "iris.json").read_bytes()


def test_all_that_stands_in_such_a_file_is_known_and_the_seed_goes():
    assert [(str(kind), where) for kind, where, _ in leaks(DATA)] == [
        ("replay", "/params/random_state")
    ]
    clean = cleaned(DATA)
    assert leaks(clean) == []
    assert content(open_model(clean, "m").model) == content(open_model(DATA, "m").model)


@pytest.mark.in_both
def test_nothing_can_be_hidden_in_it():
    clean = cleaned(DATA)
    assert unnoticed(clean) == []
    assert unremoved(clean) == []


def test_digits_that_no_counts_give_are_found():
    for key, place in (("values", (2, 0, 1)), ("nodes", (2, 4))):
        document = json.loads(cleaned(DATA))
        row = document[key]
        for step in place[:-1]:
            row = row[step]
        row[place[-1]] += 4.4e-9
        assert [str(kind) for kind, _, _ in leaks(json.dumps(document).encode())] == ["unknown"]
