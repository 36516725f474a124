"""The page of what is decided says what the code decides."""

from tests.kit.decided import KINDS, KNOWLEDGE, PAGE, decided, page


def test_the_page_is_what_the_code_decides():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.kit.decided"


def test_a_fact_leaves_no_kind_of_model_undetermined():
    assert {kind for kind in KINDS if decided(kind, "and a fact") == "undetermined"} == set()
    assert len(KNOWLEDGE) == 10
