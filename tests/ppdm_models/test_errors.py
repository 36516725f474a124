"""What the operating system refuses is told in our own words, and with what to do."""

import errno
import os

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from treewarden.ppdm_models.errors import REASONS, os_problem, os_reason, toml_problem, with_advice


@pytest.mark.parametrize("number", REASONS)
def test_a_known_refusal_has_words_of_its_own(number):
    error = OSError(number, os.strerror(number), "people.csv")
    assert os_reason(error) == REASONS[number]
    assert os.strerror(number) not in os_problem(error)
    assert "Errno" not in os_problem(error)
    assert ";" in os_problem(error)


def test_another_refusal_keeps_the_words_of_the_system_without_its_number():
    assert os_reason(OSError(errno.EIO, "Input/output error", "a")) == "input/output error"
    assert os_reason(OSError("no number")) == "it cannot be read"


def test_a_name_that_no_file_can_have_is_no_error_of_the_system():
    assert os_reason(ValueError("embedded null byte")) == "no file can have this name"


class _Limits(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    limit: float = Field(0.0, ge=0)
    parts: list[int] = Field([1, 2], min_length=2)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "'name' is missing; correct it"),
        ({"name": "x", "limit": "high"}, "limit: must be a number; correct it"),
        ({"name": "x", "limit": -1.0}, "limit: must be greater than or equal to 0; correct it"),
        ({"name": "x", "parts": [1]}, "parts: 1 item, but at least 2 must be given; add some"),
        ({"name": "x", "colour": 1}, "colour: unknown key; correct it"),
    ],
)
def test_a_wrong_value_is_told_with_its_name_and_what_it_must_be(document, says):
    with pytest.raises(ValidationError) as caught:
        _Limits.model_validate(document)
    assert with_advice(toml_problem(caught.value.errors()[0])) == says
