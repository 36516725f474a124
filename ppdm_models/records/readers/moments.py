"""Numbers that statistics programs show as dates and times, counted from the day that each of them begins with."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.arrays import BoolArray, FloatArray

DAY_SECONDS = 86400.0
UNIX = date(1970, 1, 1)
SPSS_BEGINS = float((UNIX - date(1582, 10, 14)).days)
OTHERS_BEGIN = float((UNIX - date(1960, 1, 1)).days)
FIRST, LAST = float((date(1, 1, 1) - UNIX).days), float((date(9999, 12, 31) - UNIX).days)
"""The days that ISO 8601 writes with four digits of the year."""


class Moment(Enum):
    """What a number stands for, and the type that it comes in."""

    DATE = pa.date32()
    INSTANT = pa.timestamp("ms")
    TIME = pa.string()


SPSS = {
    Moment.DATE: ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"),
    Moment.INSTANT: ("DATETIME", "YMDHMS"),
    Moment.TIME: ("TIME", "DTIME", "MTIME"),
}
SAS = {
    Moment.DATE: (
        *("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "JULIAN", "WEEKDATE", "WEEKDATX", "WORDDATE"),
        *("WORDDATX", "E8601DA", "B8601DA", "IS8601DA", "NLDATE"),
    ),
    Moment.INSTANT: (
        *("DATETIME", "DATEAMPM", "MDYAMPM", "DTDATE", "E8601DT", "B8601DT", "IS8601DT"),
        *("E8601DN", "B8601DN", "NLDATM"),
    ),
    Moment.TIME: ("TIME", "TIMEAMPM", "TOD", "HHMM", "E8601TM", "B8601TM", "IS8601TM", "NLTIME"),
}
WITH_SIGN = re.compile(r"(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]")
"""Formats of SAS that say what stands between the parts of a date."""
OF_CLOCK = re.compile(r"[Hh]{2}|MM|mm|[Ss.]+|[AaPp]\.?[Mm]\.?|[:_ ]")
"""What a format of Stata has for hours, minutes and seconds."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """How a program keeps time. ``moment`` is what one of its formats shows, None where that is a number.

    A date counts a day as ``day``, all else a second as ``second``; they begin ``begins`` days before 1970.
    """

    moment: Callable[[str], Moment | None]
    day: float
    second: float
    begins: float

    def beyond(self, numbers: FloatArray, moment: Moment) -> BoolArray:
        """Return which of some numbers, (records,), stand for a day before the year 1 or after 9999."""
        unit = self.day if moment is Moment.DATE else self.second * DAY_SECONDS
        days = np.floor(numbers / unit - self.begins)
        return np.asarray((days < FIRST) | (days > LAST)) & (moment is not Moment.TIME)

    def values(self, numbers: FloatArray, moment: Moment) -> pa.Array:
        """Return what some numbers stand for, (records,), none of them beyond; NaN is no value."""
        lacks = np.isnan(numbers)
        there = np.where(lacks, 0.0, numbers)
        if moment is Moment.TIME:
            texts = [clock(each) for each in there / self.second]
            return pa.array(texts, moment.value, mask=lacks)
        if moment is Moment.DATE:
            days = np.floor(there / self.day - self.begins)
            return pa.array(days.astype(np.int32), pa.int32(), mask=lacks).cast(moment.value)
        instants = np.rint((there / self.second - self.begins * DAY_SECONDS) * 1000)
        return pa.array(instants.astype(np.int64), pa.int64(), mask=lacks).cast(moment.value)


def clock(seconds: float) -> str:
    """Return a time of day, or a longer or negative time, as hours, minutes and seconds."""
    minutes, rest = divmod(round(abs(seconds), 3), 60)
    hours, left = divmod(int(minutes), 60)
    sign = "-" if seconds < 0 else ""
    return f"{sign}{hours:02d}:{left:02d}:{rest:06.3f}".removesuffix(".000")


def _of_spss(form: str) -> Moment | None:
    name = form.rstrip("0123456789.")
    return next((moment for moment, names in SPSS.items() if name in names), None)


def _of_sas(form: str) -> Moment | None:
    name = re.sub(r"\d*\.?\d*$", "", form)
    with_sign = WITH_SIGN.fullmatch(name)
    name = with_sign[1] if with_sign else name
    return next((moment for moment, names in SAS.items() if name in names), None)


def _of_stata(form: str) -> Moment | None:
    if re.match(r"%-?(td|d)", form):
        return Moment.DATE
    detail = re.match(r"%-?t[cC](.*)", form)
    if detail is None:
        return None
    return Moment.TIME if detail[1] and not OF_CLOCK.sub("", detail[1]) else Moment.INSTANT


OF_SPSS = Calendar(_of_spss, DAY_SECONDS, 1.0, SPSS_BEGINS)
OF_SAS = Calendar(_of_sas, 1.0, 1.0, OTHERS_BEGIN)
OF_STATA = Calendar(_of_stata, 1.0, 1000.0, OTHERS_BEGIN)
