"""What people read has fewer and fewer words of a private language: each document has a ceiling that only falls."""

from __future__ import annotations

from tests.kit import words


def test_every_document_stays_below_its_ceiling():
    limits, texts = words.ceilings(), dict(words.documents())
    rates = {name: words.rate(text) for name, text in texts.items()}
    over = {name: now for name, now in rates.items() if now > limits.get(name, words.NEW)}
    assert {name: words.by_token(texts[name]) for name in over} == {}


def test_code_and_addresses_are_no_prose():
    page = "Whoever.\n```console\nwhoever\n```\n`beside` [a page](beside.md)\n"
    assert words.by_token(words.prose(page)) == {"whoever": 1}


def test_words_are_counted_where_they_begin_a_clause_or_anywhere():
    text = "Where it stands; the place where it is. Somebody of whom nothing is told."
    assert words.by_token(text) == {
        "somebody": 1,
        "where (first in a clause)": 1,
        "of whom": 1,
        "told": 1,
        "stands": 1,
        "semicolon": 1,
    }
    assert words.rate(text) == 0.0
    assert words.rate("a beside " * 100) == 500.0
