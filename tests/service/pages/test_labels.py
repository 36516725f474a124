"""A refusal names a field as its page does."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from treewarden.service import pages
from treewarden.service.errors import ConflictError, InvalidError
from treewarden.service.pages._forms import AUDIT, FORMS, WAIVER, labels_of, refusal
from treewarden.service.schemas.releases import NewWaiver

TEMPLATES = Path(pages.__file__).parent / "templates"
WITHOUT_FIELDS = {"tables.html.j2", "webhook.html.j2"}
"""What has no field of its own, or one in each row."""
FIELD = re.compile(r"show\.(?:field|area|choice)\(\"(\w+)\", ([^,)]+)")


@pytest.mark.parametrize("name", FORMS)
def test_a_page_takes_the_labels_of_its_fields_from_the_list_that_refusals_use(name):
    found = FIELD.findall((TEMPLATES / f"{name}.html.j2").read_text())
    assert found
    assert found == [(field, f"labels.{field}") for field, _ in found]
    assert {field for field, _ in found} <= set(FORMS[name])


@pytest.mark.parametrize("path", sorted(TEMPLATES.iterdir()), ids=lambda path: path.name)
def test_every_page_with_a_refusal_has_its_labels(path):
    has_refusal = "show.refused(" in path.read_text()
    assert bool(labels_of(path.name)) == (has_refusal and path.name not in WITHOUT_FIELDS)


@pytest.mark.parametrize("name", FORMS)
def test_every_label_is_on_its_page(name):
    text = (TEMPLATES / f"{name}.html.j2").read_text()
    assert [field for field in FORMS[name] if f"labels.{field}" not in text] == []


def test_a_refused_field_is_called_as_on_the_page():
    with pytest.raises(ValidationError) as found:
        NewWaiver(clause="a", reason="r", owner="", ticket="t", expires="2030-01-01")
    assert refusal(found.value, WAIVER).startswith("Responsible person: ")


@pytest.mark.parametrize("where", ["worlds_budget", "options: worlds_budget"])
def test_what_the_service_refuses_is_called_as_on_the_page(where):
    error = InvalidError(where, "is too much; give less")
    assert refusal(error, AUDIT) == "Seconds to search for proofs: is too much; give less"


def test_what_is_no_field_keeps_its_name():
    error = ConflictError("release", "is decided already")
    assert refusal(error, WAIVER) == "release: is decided already"
