"""The figures of a service: closed to strangers unless somebody opens them."""

import pytest

from tests.kit.service import sites


@pytest.mark.parametrize(
    ("settings", "status"),
    [({}, 403), ({"metrics_open": True}, 200), ({"metrics_token": "s", "metrics_open": True}, 401)],
)
def test_a_stranger_reads_no_figures_unless_that_is_set(tmp_path, settings, status):
    with sites.make_site("sqlite", tmp_path, **settings) as site:
        answer = sites.open_client(site).get("/metrics")
    assert answer.status_code == status
    assert ("treewarden_jobs" in answer.text) == (status == 200)


def test_the_refusal_says_what_to_set(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site:
        assert "TREEWARDEN_METRICS_TOKEN" in sites.open_client(site).get("/metrics").text
