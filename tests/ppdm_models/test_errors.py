"""What the operating system refuses is told in our own words, and with what to do."""

import errno
import os

import pytest

from treewarden.ppdm_models.errors import REASONS, os_problem, os_reason


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
