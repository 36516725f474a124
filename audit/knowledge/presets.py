"""Adversaries that others have described: what each knows, and by what names tables have it.

An offer, not a judgement: the owner of a table says which of its columns each attribute is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALL = "all"
"""The word for who knows every column that the tree tests."""
USUAL: Mapping[str, tuple[str, ...]] = {
    "age": ("age", "age_years", "birth_date", "birthdate", "date_of_birth", "dob", "year_of_birth"),
    "sex": ("sex", "gender"),
    "zip": ("zip", "zipcode", "zip_code", "postcode", "postal_code"),
    "state": ("state", "region", "province"),
    "race": ("race", "ethnicity", "ethnic_group"),
    "marital status": ("marital_status", "marital", "civil_status", "married"),
    "household": ("household", "household_size", "children", "number_of_children", "dependents"),
    "language": ("language", "native_language"),
    "country": ("native_country", "country", "country_of_birth", "nationality", "citizenship"),
    "profession": ("profession", "occupation", "job"),
    "address": ("address", "street", "city", "town", "district", "housing"),
    "income": ("income", "salary", "wage"),
    "schooling": ("education", "schooling", "education_num", "degree"),
    "medical history": ("diagnosis", "diagnoses", "medication", "smoker", "smoking", "diabetes"),
}
"""Names that columns of tables often have for an attribute, with ``_`` for whatever parts words."""


@dataclass(frozen=True, slots=True)
class Preset:
    """An adversary as somebody has described them: the attributes they know, and where that is said."""

    attributes: tuple[str, ...]
    source: str


_NEIGHBOUR = (
    "age",
    "sex",
    "address",
    "zip",
    "household",
    "marital status",
    "race",
    "language",
    "country",
    "profession",
)

PRESETS: Mapping[str, Preset] = {
    "register": Preset(
        ("age", "sex", "zip"),
        "a voters' or residents' register: birth date, sex and ZIP code (Sweeney 2000, Simple Demographics Often "
        "Identify People Uniquely)",
    ),
    "safe-harbour": Preset(
        ("age", "sex", "state", "race", "marital status"),
        "what HIPAA's safe harbour leaves in data (45 CFR 164.514(b)(2)): age up to 89, sex, state, race, marital "
        "status",
    ),
    "neighbour": Preset(
        _NEIGHBOUR,
        "somebody next door: address, household, dates, sex, race, language and profession (after the lists of what "
        "an acquaintance knows that are in use where the risk of health data is measured)",
    ),
    "ex-spouse": Preset(
        (*_NEIGHBOUR, "income", "schooling", "medical history"),
        "a neighbour who also knows basic medical history, income and schooling (the same lists)",
    ),
}
"""The presets by name."""
