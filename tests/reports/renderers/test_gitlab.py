"""Code quality of GitLab: the fields that it asks for, its severities, fingerprints that never clash."""

import json

from tests.reports.gates import fails_in_many_leaves
from treewarden.reports.renderers import renderer

SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def issues(gate):
    return json.loads(renderer("gitlab").render_gate(gate))


def test_every_issue_has_the_fields_that_gitlab_asks_for(any_gate):
    for each in issues(any_gate):
        assert each["description"]
        assert each["check_name"]
        assert each["severity"] in SEVERITIES
        assert each["location"]["path"]
        assert each["location"]["lines"]["begin"] >= 1


def test_fingerprints_never_clash_not_even_between_models(gate):
    for found in (issues(gate), issues(fails_in_many_leaves(3, models=3))):
        assert len({each["fingerprint"] for each in found}) == len(found) > 5


def test_severities_tell_no_audit_fails_and_what_is_not_decided_apart(gate):
    found = {(each["location"]["path"], each["severity"]) for each in issues(gate)}
    assert ("models/broken.pmml", "blocker") in found
    assert ("models/loan.pmml", "critical") in found
    assert ("odd/größe #1.txt", "major") in found
    assert ("models/known loan.json", "info") in found


def test_nothing_found_is_an_empty_list(passing):
    assert json.loads(renderer("gitlab").render(passing)) == []
