"""Findings of several releases or adversaries are told once, and it is said of what others the same holds."""

import pytest

from treewarden.audit.reading import ADVERSARY, ALONE, WITH_OTHERS
from treewarden.reports.figures.finding_rows import told_once

RELEASES = [WITH_OTHERS.format("v2.json"), ALONE.format("v2.json")]
ADVERSARIES = [ADVERSARY.format("neighbour"), ADVERSARY.format("friend")]


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ([], ""),
        (RELEASES, "The verdict is the same for other releases."),
        (ADVERSARIES, "The verdict is the same for other adversaries."),
        ([*ADVERSARIES, *RELEASES], "The verdict is the same for other releases and adversaries."),
    ],
)
def test_the_short_form_names_what_the_others_are(document, of, said):
    first = document.findings[0]
    (told,) = told_once([first, *(first.model_copy(update={"of": each}) for each in of)])
    assert (told.finding, told.likewise) == (first, said)
