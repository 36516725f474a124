"""What JSON can say and no database can keep."""

import pytest

from tests.kit.service import sites
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError
from treewarden.service.schemas.models import NewModel
from treewarden.service.use_cases.audits import audit_options
from treewarden.service.use_cases.models import create_model
from treewarden.service.use_cases.policies import get_pack


@pytest.mark.parametrize(
    "said",
    [
        {"worlds_budget": 10**400},
        {"time_limit": float("inf")},
        {"sensitive": "\0"},
        {"sensitive": "\ud800"},
        {"qi": [1]},
        {"qi": [["age"]]},
        {"\ud800": 1},
    ],
    ids=["huge", "endless", "nul", "half", "number", "list", "name"],
)
def test_options_that_no_database_keeps_are_refused(said):
    with pytest.raises(InvalidError, match="options"):
        audit_options(said)


def test_what_only_the_command_line_offers_is_said_to_be_so():
    with pytest.raises(InvalidError, match="treewarden audit"):
        audit_options({"attack": "sklearn.tree.DecisionTreeClassifier()"})
    with pytest.raises(InvalidError) as error:
        audit_options({"attacks": "x"})
    assert "treewarden audit" not in str(error.value)


def test_a_pack_is_asked_for_by_any_text(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    with site.reading() as unit, pytest.raises(NotFoundError):
        get_pack(unit, ann, "a\0@1")


def test_a_name_that_is_taken_leaves_the_transaction_whole(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    with site.unit() as unit:
        create_model(unit, ann, NewModel(name="a"))
        with pytest.raises(ConflictError):
            create_model(unit, ann, NewModel(name="a"))
        create_model(unit, ann, NewModel(name="b"))
