"""The adversaries of an audit: those declared, resolved to columns of the table, and ready-made ones from elsewhere.

Ready-made adversaries say what each knows, and under which names tables have it. They are an offer: the owner of a
table says which of its columns each attribute is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from treewarden.audit.knowledge.levels import OPTIONS, DeclaredAdversary, words_of
from treewarden.ppdm_models.errors import KnowledgeError, near_text
from treewarden.ppdm_models.tables.matching import are_alike
from treewarden.ppdm_models.tables.table import listed

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
        (
            "columns that HIPAA's safe harbour allows (45 CFR 164.514(b)(2)): age up to 89, sex, "
            "state, race, marital status"
        ),
    ),
    "neighbour": Preset(
        _NEIGHBOUR,
        (
            "a neighbour: address, household, dates, sex, race, language and profession (from "
            "lists of an acquaintance's knowledge that are used to assess the risk of health data)"
        ),
    ),
    "ex-spouse": Preset(
        (*_NEIGHBOUR, "income", "schooling", "medical history"),
        "a neighbour who also knows basic medical history, income and schooling (the same lists)",
    ),
}
"""The presets by name."""


WORDS = (ALL, *PRESETS)
"""What can stand for a list of columns."""


@dataclass(frozen=True, slots=True)
class Adversary:
    """An adversary who knows these columns of everybody, by the names of the table; all that are tested where None.

    ``target`` says that the value that the tree predicts is known too. ``said`` is what is remarkable about that.
    ``declared`` are the columns that were declared as known, where ``knows`` is what follows from these.
    """

    name: str
    knows: tuple[str, ...] | None
    target: bool = False
    said: tuple[str, ...] = field(default=(), compare=False)
    declared: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What the adversary knows, in words."""
        what = "every column that the tree tests" if self.knows is None else words_of(self.knows)
        return f"{what}, and the value that it predicts" if self.target else what


def adversary_of(
    declared: DeclaredAdversary, columns: Collection[str], secret: str, target: str, where: str
) -> Adversary:
    """Return an adversary with the known columns by the names that the table has for them.

    ``secret`` is the column that the adversary is after and ``target`` what the tree predicts, which may be one.

    Raises:
        KnowledgeError: the adversary knows no column of the table, one that is not there, or the secret.
    """
    here = "--knows" if where == OPTIONS else f"{where}: adversary {declared.name!r}"
    if isinstance(declared.knows, str):
        names, said = _by_word(declared, columns, here)
        names = None if names is None else tuple(each for each in names if each != secret)
    else:
        if declared.columns:
            raise KnowledgeError(
                here, "columns explains a preset, but no preset is used; remove columns"
            )
        words = WORDS if len(declared.knows) == 1 else ()
        names = tuple(found_column(name, columns, here, words) for name in declared.knows)
        said = ()
    if names is not None:
        names = tuple(dict.fromkeys(names))
        if secret in names:
            problem = f"names {secret!r}, the sensitive column; leave it out"
            raise KnowledgeError(here, problem)
    knows_target = declared.target or (names is not None and target in names)
    if knows_target and secret == target:
        option = "--target-known" if where == OPTIONS else "target"
        other = "--secret COLUMN" if where == OPTIONS else "secret"
        problem = (
            f"{option} gives the adversary the column {target!r}, which is the column to protect"
        )
        raise KnowledgeError(
            here, f"{problem}; protect another column ({other}), or remove {option}"
        )
    if names is not None:
        names = tuple(name for name in names if name != target)
        if not names and not knows_target:
            problem = f"knows no column of the table; name some of {listed(columns)}"
            raise KnowledgeError(here, problem)
    return Adversary(declared.name, names, knows_target, said)


def check_names(declared: Sequence[DeclaredAdversary], where: str) -> None:
    """Check that no two adversaries have one name.

    Raises:
        KnowledgeError: two have.
    """
    seen: set[str] = set()
    for declared_adversary in declared:
        if declared_adversary.name in seen:
            problem = (
                f"two adversaries are called {declared_adversary.name!r}; give them different names"
            )
            raise KnowledgeError(where, problem)
        seen.add(declared_adversary.name)


def found_column(name: str, columns: Collection[str], here: str, words: Sequence[str] = ()) -> str:
    """Return the column that is meant by a name; ``words`` could have stood there instead.

    Raises:
        KnowledgeError: there is none, or several are spelled like it.
    """
    if name in columns:
        return name
    alike = [column for column in columns if are_alike(name, column)]
    if len(alike) == 1:
        return alike[0]
    several = _several(name, columns)
    if several:
        raise KnowledgeError(here, f"no column {name!r}; name each column by itself: {several}")
    meant = get_close_matches(name.casefold(), words, n=1)
    preset = f"; did you mean the preset {meant[0]!r}?" if meant else ""
    near = near_text(name, columns)
    raise KnowledgeError(here, f"no column {name!r}{near}; the table has {listed(columns)}{preset}")


def _several(name: str, columns: Collection[str]) -> list[str]:
    """Return the columns that a text names with commas between them, if it does."""
    parts = [part.strip() for part in name.split(",")]
    is_list = all(any(are_alike(part, column) for column in columns) for part in parts)
    return parts if is_list and len(parts) > 1 else []


def _by_word(
    declared: DeclaredAdversary, columns: Collection[str], here: str
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the columns that a word stands for, None for all, and what was taken for what."""
    word = str(declared.knows)
    if word == ALL:
        return None, ()
    if word not in PRESETS:
        several = _several(word, columns) or [each for each in columns if are_alike(word, each)]
        instead = f"the list {several} if columns are meant" if several else "or a list of columns"
        problem = (
            f"{word!r} is not a preset{near_text(word, WORDS)}; use {listed(WORDS)}, {instead}"
        )
        raise KnowledgeError(here, problem)
    preset = PRESETS[word]
    strange = [name for name in declared.columns if name not in preset.attributes]
    if strange:
        problem = f"{word!r} does not include {strange[0]!r}; it knows {listed(preset.attributes)}"
        raise KnowledgeError(here, problem)
    found = {
        name: tuple(_matches(name, declared.columns, columns, here)) for name in preset.attributes
    }
    pairs = "; ".join(f"{name}: {words_of(each)}" for name, each in found.items() if each)
    missing = [
        name for name, each in found.items() if not each and declared.columns.get(name) != ""
    ]
    said = [f"{preset.source}; known columns: {pairs or 'none'}"]
    if missing:
        said.append(
            f"no column was found for {words_of(missing)}; name it under columns in a knowledge "
            'file, or write "" there if the table has none'
        )
    return tuple(column for each in found.values() for column in each), tuple(said)


def _matches(
    attribute: str, declared_columns: Mapping[str, str], columns: Collection[str], here: str
) -> Iterator[str]:
    """Yield the columns that an attribute of a preset is: the one that was told, or all with a usual name."""
    if attribute in declared_columns:
        if declared_columns[attribute]:
            yield found_column(declared_columns[attribute], columns, here)
        return
    for column in columns:
        if any(are_alike(column, usual) for usual in USUAL[attribute]):
            yield column
