"""What browsers send: refusals in words, and pages that ask again."""

from datetime import date

import pytest
from pydantic import ValidationError

from tests.kit import places
from treewarden.audit.option_spec import OptionDoor
from treewarden.audit.options import options_of
from treewarden.service.errors import ConflictError, InvalidError
from treewarden.service.pages import new_audit
from treewarden.service.pages._forms import day_of, refusal, status_of, waited
from treewarden.service.pages._rendering import asked_columns, facts_of, target_of
from treewarden.service.schemas.models import NewModel

SECRET = "\x01secret of a patient"


def test_a_refusal_never_repeats_what_was_typed():
    with pytest.raises(ValidationError) as found:
        NewModel(name=SECRET, description="\x00" + SECRET)
    words = refusal(found.value, {"name": "Its name"})
    assert "secret" not in words
    assert words.startswith("Its name: is empty or contains characters")
    assert status_of(found.value) == 422


def test_a_refusal_of_the_service_is_told_as_it_is():
    error = ConflictError("name", "is taken; choose another")
    assert refusal(error, {"name": "Name"}) == "Name: is taken; choose another"
    assert status_of(error) == 409


@pytest.mark.parametrize("name", ["\x00", "\x01", "a\x1bb", "a\nb", " ", ""])
def test_a_name_has_no_control_characters(name):
    with pytest.raises(ValidationError):
        NewModel(name=name)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01", "01/02/2026"])
def test_what_is_no_day_is_none(text):
    assert day_of(text) is None


def test_a_day_is_read_as_browsers_send_it():
    assert day_of(" 2026-01-31 ") == date(2026, 1, 31)


def test_a_page_that_waits_is_loaded_anew_only_when_it_has_come():
    assert waited(has_come=False).status_code == 204
    assert waited(has_come=True).headers["HX-Refresh"] == "true"


def test_of_a_model_that_was_not_read_nothing_is_told():
    assert facts_of(None) == ()
    assert asked_columns(None) == ()
    assert target_of(None) == ""


def test_the_columns_that_a_model_asks_about_are_those_it_tests():
    summary = {
        "target": "flu",
        "features": [{"name": "age", "tested": True}, {"name": "sex", "tested": False}],
    }
    assert asked_columns(summary) == ("age",)
    assert target_of(summary) == "flu"


@pytest.mark.parametrize(
    ("knowledge", "options"), [("", {"row_order": "unknown"}), ("marginal = true", {})]
)
def test_the_order_of_records_is_an_option_that_a_knowledge_file_answers_instead(
    knowledge, options
):
    sent = new_audit.NewAuditForm(row_order="unknown", knowledge=knowledge)
    assert new_audit._options(sent, has_table=True) == options


def test_somebody_who_knows_less_is_declared_by_the_form():
    sent = new_audit.NewAuditForm(
        sensitive="ill",
        knows=" age, sex,",
        target_known="yes",
        secret="income",  # noqa: S106  # a column
        bins="100, 200",
        knowledge="marginal = true",
    )
    assert new_audit._options(sent, has_table=True) == {
        "sensitive": "ill",
        "knows": ["age", "sex"],
        "target_known": True,
        "secret": "income",
        "bins": ["100", "200"],
    }


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({"secret": "ill"}, "secret"),
        ({"target_known": "yes", "secret": "income"}, "target_known"),
        ({"target_known": "yes", "knows": "age"}, "target_known"),
        ({"bins": "100"}, "bins"),
    ],
)
def test_what_cannot_be_of_somebody_who_knows_less_is_refused(sent, place):
    with pytest.raises(InvalidError) as found:
        new_audit._options(new_audit.NewAuditForm(sensitive="ill", **sent), has_table=True)
    assert found.value.where == place


def test_the_form_has_an_input_for_each_option_that_is_declared_for_the_page():
    inputs = set(new_audit.NewAuditForm.model_fields)
    assert set(options_of(OptionDoor.PAGE)) <= inputs
    assert inputs - set(options_of(OptionDoor.PAGE)) == {
        "kind", "pack", "knowledge", "domain", "purpose", "waivers", "keeps_table", "register_id",
    }  # fmt: skip


@pytest.mark.parametrize("name", options_of(OptionDoor.PAGE))
def test_the_page_shows_every_input_of_its_form(name):
    template = (places.ROOT / "service/pages/templates/asked.html.j2").read_text("utf-8")
    assert f"asked.{name}" in template
