"""A limit is told as people write it."""

import pytest

from treewarden.policies.judging.figures import limit_text


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (("at most", 0, "records"), "no records"),
        (("at most", 1, "leaks"), "at most 1 leak"),
        (("at most", 0, "share"), "0 %"),
        (("at least", 0, "records"), "at least 0 records"),
        (("less than", 20, "times"), "less than 20 times"),
    ],
)
def test_where_none_is_allowed_a_limit_says_so(limit, text):
    assert limit_text(*limit) == text
