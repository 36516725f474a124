"""How sentences begin."""

import pytest

from treewarden.policies.verdict import capital
from treewarden.reports.document.words import sentence


@pytest.mark.parametrize(
    "text",
    [
        "hand_0.json: the file withholds its start",
        "spring/model: the file withholds its start",
        "model.pmml does not name what it predicts",
    ],
)
def test_a_file_name_stays_as_it_is(text):
    assert capital(text) == text
    assert sentence(text) == f"{text}."


@pytest.mark.parametrize(
    "text", ["the file withholds m.json", "e.g. the file", "one. another", "wrong: m.json", ""]
)
def test_another_sentence_begins_with_a_capital_letter(text):
    assert capital(text)[:1] == text[:1].upper()
