"""Functions, records and calls of the product stay small enough to be read at once."""

from __future__ import annotations

import ast

from tests.kit import shapes, syntax

MOST_LINES, MOST_FIELDS, MOST_POSITIONAL = 60, 15, 6

SETTINGS = (
    "settings: each field is a name that somebody writes into a file, an option or the environment"
)
DOCUMENT = "a document: each field is a key that readers of reports rely on"
SCHEMA = "the body of a request or an answer: each field is a key that clients rely on"
LARGE_RECORDS = {
    "service/settings.py:Settings": SETTINGS,
    "audit/options.py:AuditOptions": SETTINGS,
    "treewarden/api/requests.py:Options": SETTINGS,
    "reports/document/document.py:Document": DOCUMENT,
    "reports/document/document.py:Solver": DOCUMENT,
    "reports/document/document.py:Attempt": DOCUMENT,
    "reports/document/inferred_parts.py:BlamedNumbers": DOCUMENT,
    "reports/document/parts.py:Finding": DOCUMENT,
    "reports/document/inferred_parts.py:Worlds": DOCUMENT,
    "reports/document/methods.py:RandomisedDocument": DOCUMENT,
    "reports/document/methods.py:LeakageDocument": DOCUMENT,
    "service/schemas/models.py:TrainingTable": SCHEMA,
    "service/schemas/releases.py:Release": SCHEMA,
    "service/schemas/audits.py:Audit": SCHEMA,
    "service/schemas/releases.py:Waiver": SCHEMA,
}
"""Records whose fields are given from outside, one for each name: why they may have more."""

TAKE_ANY_NUMBER = {
    "map": "one argument for each argument of the function",
    "select": "the columns of a query",
    "Table": "the columns of a table",
    "op.create_table": "the columns of a table",
    "_rows": "the conditions of a query",
    "_facts": "the rows of a table in a report",
}
"""What is called with as many arguments as there are things of one kind."""


def test_no_function_is_longer_than_a_page():
    assert shapes.function_lengths(MOST_LINES) == {}


def test_no_record_has_more_fields_than_can_be_kept_in_mind():
    found = shapes.record_sizes(MOST_FIELDS)
    assert {place: n for place, n in found.items() if place not in LARGE_RECORDS} == {}


def test_no_call_leaves_more_than_six_arguments_unnamed():
    found = shapes.positional_calls(MOST_POSITIONAL)
    assert {
        place: n for place, n in found.items() if place.split(":")[1] not in TAKE_ANY_NUMBER
    } == {}


def test_only_records_that_are_large_have_a_reason_to_be():
    assert set(LARGE_RECORDS) <= set(shapes.record_sizes(MOST_FIELDS))


def test_a_docstring_and_decorators_are_no_lines_of_a_function():
    function = ast.parse(
        '@a\n@b\ndef f(\n    x,\n):\n    """One.\n\n    Two.\n    """\n    return x\n'
    )
    assert syntax.lines_of(function.body[0]) == 4


def test_a_constant_of_the_class_is_no_field():
    record = ast.parse(
        "class R:\n    a: int\n    b: str = ''\n    c: ClassVar[int] = 1\n    d = 2\n"
    )
    assert syntax.field_count(record.body[0]) == 2
