"""Which formats of statistics programs are dates and times."""

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.tables.readers.statistics import (
    OF_SAS,
    OF_SPSS,
    OF_STATA,
    Moment,
    clock,
)


@rows(
    ("calendar", "form", "moment"),
    [
        (OF_SPSS, "F8.2", None),
        (OF_SPSS, "DATE11", Moment.DATE),
        (OF_SPSS, "DATETIME23.2", Moment.INSTANT),
        (OF_SPSS, "DTIME10", Moment.TIME),
        (OF_SPSS, "A8", None),
        (OF_SAS, "BEST12.", None),
        (OF_SAS, "DATE9", Moment.DATE),
        (OF_SAS, "YYMMDDS10", Moment.DATE),
        (OF_SAS, "E8601DT19", Moment.INSTANT),
        (OF_SAS, "TIME8.2", Moment.TIME),
        (OF_SAS, "DOLLAR8.", None),
        (OF_STATA, "%9.0g", None),
        (OF_STATA, "%d", Moment.DATE),
        (OF_STATA, "%-tdDD/NN/CCYY", Moment.DATE),
        (OF_STATA, "%tc", Moment.INSTANT),
        (OF_STATA, "%tcCCYY-NN-DD_HH:MM:SS", Moment.INSTANT),
        (OF_STATA, "%tcHH:MM:SS", Moment.TIME),
        (OF_STATA, "%tm", None),
        (OF_STATA, "%ty", None),
    ],
)
def test_a_format_says_what_a_number_stands_for(calendar, form, moment):
    assert calendar.moment(form) is moment


@pytest.mark.parametrize("calendar", [OF_SPSS, OF_SAS, OF_STATA])
def test_every_calendar_goes_from_the_year_1_to_9999(calendar):
    first, last = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")
    days = np.array([first, last], "M8[D]").astype(float)
    numbers = (days + calendar.begins) * calendar.day
    assert not calendar.beyond(numbers, Moment.DATE).any()
    assert calendar.values(numbers, Moment.DATE).to_pylist() == [first.item(), last.item()]
    assert calendar.beyond(numbers + np.array([-1, 1]) * calendar.day, Moment.DATE).all()


def test_what_is_missing_is_no_moment():
    lacks = np.array([np.nan])
    for moment in Moment:
        assert not OF_STATA.beyond(lacks, moment).any()
        assert OF_STATA.values(lacks, moment).to_pylist() == [None]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "00:00:00"), (3661.25, "01:01:01.250"), (-60.0, "-00:01:00"), (360000.0, "100:00:00")],
)
def test_a_time_is_hours_minutes_and_seconds(seconds, text):
    assert clock(seconds) == text
