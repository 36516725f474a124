"""The guided tour leads to what it names, and names every room of the pipe."""

import pytest

from tests.kit import places, tour

TEXT = tour.TOUR.read_text("utf-8")


def test_each_link_leads_to_the_line_where_its_name_is_defined():
    assert tour.updated(TEXT) == TEXT, "python -m tests.kit.tour"


def test_the_tour_has_links_into_every_package_of_the_pipe():
    packages = {link["path"].split("/")[0] for link in tour.links(TEXT)}
    assert packages == {"ppdm_models", "audit", "policies", "reports", "treewarden"}


@pytest.mark.parametrize(
    "path",
    ["audit/measures/cl_diversity.py", "policies/exceptions", "tests/judges", "tests/data/formats"],
)
def test_a_path_that_is_named_is_there(path):
    assert path in TEXT
    assert (places.ROOT / path).exists()
