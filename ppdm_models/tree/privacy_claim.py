"""A claim of differential privacy: the loss that is promised, to whom, by which mechanism, and what voids the promise.

A mechanism M is epsilon-differentially private where P(M(D) = o) <= e^epsilon P(M(D') = o) for every output o and all
tables D, D' that differ in one record (Dwork et al. 2006). What a file says of it is written as ``epsilon=1,
mechanism=permute-and-flip-monotonic``: the same words in files, on the command line and in Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

MOST_CHARACTERS = 1_000
"""So long may the words of a claim be."""


class LabelMechanism(StrEnum):
    """How the label of a leaf is drawn from the counts of its classes.

    ``permute-and-flip`` takes the classes in random order, each with probability e^(-epsilon gap / 2), until one is
    taken (McKenna & Sheldon 2020); ``exponential`` takes each in proportion to e^(epsilon count / 2) (McSherry & Talwar
    2007). Counts only grow with a record, so that half the noise has the same epsilon: ``-monotonic`` means that.
    """

    PERMUTE_AND_FLIP = "permute-and-flip"
    PERMUTE_AND_FLIP_MONOTONIC = "permute-and-flip-monotonic"
    EXPONENTIAL = "exponential"
    EXPONENTIAL_MONOTONIC = "exponential-monotonic"
    UNKNOWN = "unknown"


class SplitOrigin(StrEnum):
    """Where the tests come from: no record had a part in them, a part of epsilon was spent on them, or not known."""

    INDEPENDENT = "independent"
    PRIVATE = "private"
    UNKNOWN = "unknown"


class TreeRecords(StrEnum):
    """Which records each of several trees saw: one tree each record, all trees all records, or not known."""

    PARTS = "parts"
    ALL = "all"
    UNKNOWN = "unknown"


class BoundsOrigin(StrEnum):
    """Where the ends of the columns come from: public knowledge, the training table, or not known."""

    PUBLIC = "public"
    TABLE = "table"
    UNKNOWN = "unknown"


class ClaimUnit(StrEnum):
    """Between which tables the promise holds: one record more or less, or all records of one person.

    What is not said is judged, and written, as a record; what is said cannot be stated otherwise.
    """

    RECORD = "record"
    PERSON = "person"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProducerFacts:
    """What is known of the files of a program whose mechanism is not evaluated here.

    ``unprotected`` are reasons why its own file breaks the promise, ``unevaluated`` reasons why the claim stays open,
    which no statement of the owner removes. ``is_of_whole`` says that the claim is about all trees of a model, whatever
    its words say. ``bins`` is into how many parts treewarden's own learner cuts the range of each column; None in files
    of others.
    """

    unprotected: tuple[str, ...] = ()
    unevaluated: tuple[str, ...] = ()
    is_of_whole: bool = False
    bins: int | None = None


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """What a file, or its owner, says of the differential privacy of a model.

    ``epsilon`` is promised for the whole file, in nats, with ``delta``; ``label_epsilon`` is spent on the labels of
    each tree, None where that is not said. ``bounds`` are the least and largest value that the learner lets a feature
    have, by its name; ``may_read_classes`` says that the list of classes may come from the table. ``is_seeded`` says
    that the file holds what its draws came from. ``spent`` is what an accountant in the file adds up. ``where`` is who
    says so. ``producer`` is what is known of the program. ``is_relied_on`` says that an audit found nothing against it.
    """

    epsilon: float
    delta: float = 0.0
    unit: ClaimUnit = ClaimUnit.UNKNOWN
    mechanism: LabelMechanism = LabelMechanism.UNKNOWN
    label_epsilon: float | None = None
    splits: SplitOrigin = SplitOrigin.UNKNOWN
    trees: TreeRecords = TreeRecords.UNKNOWN
    bounds_origin: BoundsOrigin = BoundsOrigin.UNKNOWN
    bounds: tuple[tuple[str, float, float], ...] = ()
    may_read_classes: bool = False
    is_seeded: bool = False
    spent: float | None = None
    where: str = "the file"
    is_relied_on: bool = False
    producer: ProducerFacts = ProducerFacts()

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 <= self.delta <= 1):
            raise ValueError("epsilon must be above 0, and delta from 0 to 1")
        if self.label_epsilon is not None and not self.label_epsilon > 0:
            raise ValueError("label_epsilon is not a number above 0")

    @property
    def words(self) -> str:
        """What is claimed, as it is written in files and on the command line."""
        said = {name: value for name, value in self._stated().items() if value}
        return ", ".join(f"{name}={value}" for name, value in said.items())

    def _stated(self) -> dict[str, str]:
        labels = self.label_epsilon
        return {
            "epsilon": f"{self.epsilon!r}",
            "delta": f"{self.delta!r}" if self.delta else "",
            "unit": (ClaimUnit.PERSON if self.unit is ClaimUnit.PERSON else ClaimUnit.RECORD).value,
            "mechanism": _unless(self.mechanism, LabelMechanism.UNKNOWN),
            "label_epsilon": "" if labels is None else f"{labels!r}",
            "splits": _unless(self.splits, SplitOrigin.UNKNOWN),
            "trees": _unless(self.trees, TreeRecords.UNKNOWN),
            "bounds": _unless(self.bounds_origin, BoundsOrigin.UNKNOWN),
            "seed": "known" if self.is_seeded else "",
        }


def _any_of(enum: type[StrEnum]) -> str:
    return f"(?:{'|'.join(word.value for word in enum)})"


def _unless(word: StrEnum, unknown: StrEnum) -> str:
    return "" if word is unknown else word.value


def add_epsilons(numbers: Iterable[float]) -> float:
    """Return the sum of numbers as they are written: 0.1 and 0.2 are 0.3; infinite where one is."""
    found = list(numbers)
    if not all(map(math.isfinite, found)):
        return math.inf
    return float(sum((Decimal(repr(number)) for number in found), Decimal(0)))


WRITTEN_NUMBER = re.compile(
    r"[0-9]{1,24}(?:\.[0-9]{0,24})?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]{1,24}|inf"
)
"""A number of a claim as people write it."""
_NUMBER = "(?:[0-9.e+-]{1,24}|inf)"
CLAIM_WORDS = re.compile(
    f"epsilon={_NUMBER}(?:, delta={_NUMBER})?(?:, unit={_any_of(ClaimUnit)})?"
    f"(?:, mechanism={_any_of(LabelMechanism)})?(?:, label_epsilon={_NUMBER})?(?:, splits={_any_of(SplitOrigin)})?"
    f"(?:, trees={_any_of(TreeRecords)})?(?:, bounds={_any_of(BoundsOrigin)})?(?:, seed=known)?"
)
"""How ``PrivacyClaim.words`` writes a claim: anything else in its place in a file may be a sentence."""
WORDS: Mapping[str, tuple[str, type[StrEnum]]] = {
    "unit": ("unit", ClaimUnit),
    "mechanism": ("mechanism", LabelMechanism),
    "splits": ("splits", SplitOrigin),
    "trees": ("trees", TreeRecords),
    "bounds": ("bounds_origin", BoundsOrigin),
}
"""The keys of a claim that are words: the field of each, and what it may be."""
NUMBERS = ("epsilon", "delta", "label_epsilon")
SEED = "seed"
_ORDER = tuple(field.name for field in fields(PrivacyClaim))


def read_claim(text: str, where: str, claim_of_file: PrivacyClaim | None = None) -> PrivacyClaim:
    """Return the claim that is written in words; what these leave out is as the claim of the file says.

    Raises:
        ValueError: an entry is no KEY=VALUE of a claim, or says other than the file does.
    """
    given = _fields(text)
    if claim_of_file is None:
        if "epsilon" not in given:
            raise ValueError("epsilon is missing; write epsilon=1, or the number that is claimed")
        return PrivacyClaim(**given, where=where)  # type: ignore[arg-type]  # by name, checked above
    return _joined(given, claim_of_file, where)


SEPARATOR = ";"
"""Between the claims of several models, in their order; an empty part is what the file of that model says."""


def check_claims(text: str) -> None:
    """Check that words can be a claim, or a part of one, or those of several models.

    Raises:
        ValueError: they cannot; it begins with the name of the option, as errors of options do.
    """
    try:
        plain_claims(text)
    except ValueError as error:
        raise ValueError(f"claims: {error}") from error


def plain_claims(text: str) -> str:
    """Return the words of claims in one form, whatever their order and the space between them.

    Raises:
        ValueError: they are none.
    """
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if not any(parts):
        raise ValueError("nothing is claimed; write KEY=VALUE, such as epsilon=1")
    return f"{SEPARATOR} ".join(_plain(part) if part else "" for part in parts).strip()


def claim_of_each(text: str, models: int) -> tuple[str, ...]:
    """Return the words for each of several models, "" where only its file says: one for all, or one for each.

    Raises:
        ValueError: there are as many as neither.
    """
    parts = tuple(part.strip() for part in text.split(SEPARATOR))
    if len(parts) == models:
        return parts
    if len(parts) == 1:
        return parts * models
    problem = f"{len(parts)} claims for {models} {'model' if models == 1 else 'models'}"
    advice = (
        "write one"
        if models == 1
        else f"write one for all, or one for each, with {SEPARATOR} between them"
    )
    raise ValueError(f"{problem}; {advice}")


def _plain(part: str) -> str:
    fields = _fields(part)
    names = {"is_seeded": SEED} | {field: key for key, (field, _) in WORDS.items()}
    return ", ".join(
        f"{names.get(field, field)}={'known' if value is True else value}"
        for field, value in sorted(fields.items(), key=lambda item: _ORDER.index(item[0]))
    )


def _fields(text: str) -> dict[str, object]:
    """Return the fields that words state, by name."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"more than {MOST_CHARACTERS:,} characters")
    given: dict[str, object] = {}
    for entry in text.split(","):
        key, equals, value = (part.strip() for part in entry.partition("="))
        known = (*NUMBERS, *WORDS, SEED)
        if not equals or key not in known:
            problem = (
                f"unknown key {key[:60]!r}" if equals else f"{entry.strip()[:60]!r} has no “=”"
            )
            raise ValueError(f"{problem}; write KEY=VALUE, with the keys {', '.join(known)}")
        name = "is_seeded" if key == SEED else WORDS[key][0] if key in WORDS else key
        if name in given:
            raise ValueError(f"{key} occurs twice; write it once")
        given[name] = _value(key, value)
    return given


def _value(key: str, value: str) -> object:
    if key in WORDS:
        words = WORDS[key][1]
        if value not in {word.value for word in words}:
            raise ValueError(f"{key}={value[:60]}: choose one of {', '.join(words)}")
        return words(value)
    if key == SEED:
        if value != "known":
            raise ValueError("seed: write seed=known, or leave it out")
        return True
    number = float(value) if WRITTEN_NUMBER.fullmatch(value) else math.nan
    low_is_enough = number >= 0 if key == "delta" else number > 0
    if not (low_is_enough and (key != "delta" or number <= 1)):
        raise ValueError(f"{key}={value[:60]}: give a number above 0")
    return number


def spends_all_on_labels(claim: PrivacyClaim, trees: int) -> bool:
    """Return whether so many trees can spend epsilon on labels alone, each of which counts each record once.

    Of a program whose mechanism is not evaluated, nobody knows what it is spent on.
    """
    if (
        claim.producer.unevaluated
        or claim.splits is not SplitOrigin.INDEPENDENT
        or claim.unit is ClaimUnit.PERSON
    ):
        return False
    return trees == 1 or claim.trees is TreeRecords.ALL


MOST_LABEL_SHARE = 0.999
"""The largest share of epsilon for labels where splits are private: with more, nothing is left for the splits."""
SPENDING_TOLERANCE = 1e-9
"""What a sum of decimal numbers may differ by, as a share of it."""


def check_label_epsilon(claim: PrivacyClaim, trees: int) -> None:
    """Check that the labels of so many trees spend all of epsilon, where there is nothing else to spend it on.

    Raises:
        ValueError: they spend more or less.
    """
    labels = claim.label_epsilon
    if labels is None or not spends_all_on_labels(claim, trees):
        return
    if math.isclose(labels * trees, claim.epsilon, rel_tol=SPENDING_TOLERANCE):
        return
    problem = (
        f"label_epsilon is {labels:g}, but with independent splits the labels spend all of epsilon"
    )
    raise ValueError(
        f"{problem} = {claim.epsilon:g}; write label_epsilon={claim.epsilon / trees!r}"
    )


def _joined(stated: dict[str, object], claim_of_file: PrivacyClaim, where: str) -> PrivacyClaim:
    """Return the claim of a file with what else is stated of it.

    Raises:
        ValueError: both say the same thing differently.
    """
    unset = PrivacyClaim(claim_of_file.epsilon)
    for name, value in stated.items():
        said = getattr(claim_of_file, name)
        is_open = said == getattr(unset, name) and name != "epsilon"
        if said != value and not is_open:
            key = {field: key for key, (field, _) in WORDS.items()}.get(name, name)
            problem = f"{key} is {value}, and the file says {said}; leave it out"
            raise ValueError(problem)
    return replace(claim_of_file, **stated, where=f"the file, and {where}")  # type: ignore[arg-type]  # by name


# What several trees of one model claim, each for itself, and what that promises of the whole.
#
# A claim that names which records its trees saw (trees=all, trees=parts) is about the model; without these words it is
# about the tree that it stands in. Mechanisms on the same records compose: their epsilons and deltas add up (Dwork et
# al. 2006). Elsewhere the whole is held to the worst that a tree says, and what differs stays open: a model has no
# claim that one of its trees does not make.

SOME_WITHOUT = (
    "{some} of its {trees} trees {make} no claim of differential privacy, so no claim holds for the whole model; "
    "publish only trees that make one"
)
DIFFERENT = (
    "its trees make different claims about the whole model ({words}), so none of them can be relied on; publish trees "
    "of one training"
)
UNLIKE = (
    "its trees differ in {what}, and treewarden judges only trees that were all drawn in the same way; "
    "audit each tree by itself, and add up their epsilons"
)


def claim_of_trees(claims: Sequence[PrivacyClaim | None]) -> PrivacyClaim | None:
    """Return what the claims of all trees promise of the whole; None where no tree makes one that is known."""
    made = [claim for claim in claims if claim is not None]
    if not made:
        return None
    is_whole = [
        claim.producer.is_of_whole or claim.trees is not TreeRecords.UNKNOWN for claim in made
    ]
    if len(set(claims)) == 1 and (len(claims) == 1 or is_whole[0]):
        return made[0]
    epsilons = [claim.epsilon for claim in made]
    deltas = [claim.delta for claim in made]
    labels = [_label_epsilon(claim) for claim in made]
    return PrivacyClaim(
        epsilon=add_epsilons(epsilons),
        delta=min(1.0, add_epsilons(deltas)),
        unit=_shared([claim.unit for claim in made], ClaimUnit.UNKNOWN),
        mechanism=_shared([claim.mechanism for claim in made], LabelMechanism.UNKNOWN),
        label_epsilon=_shared(labels, None),
        splits=_shared([claim.splits for claim in made], SplitOrigin.UNKNOWN),
        trees=_shared([claim.trees for claim in made], TreeRecords.UNKNOWN),
        bounds_origin=_worst_bounds(made),
        bounds=_shared([claim.bounds for claim in made], ()),
        may_read_classes=any(claim.may_read_classes for claim in made),
        is_seeded=any(claim.is_seeded for claim in made),
        producer=ProducerFacts(
            unprotected=_each_once(claim.producer.unprotected for claim in made),
            unevaluated=(
                *_disagreements(claims, made, any(is_whole)),
                *_each_once(claim.producer.unevaluated for claim in made),
            ),
            is_of_whole=True,
        ),
    )


def _label_epsilon(claim: PrivacyClaim) -> float | None:
    """Return what a tree spends on its labels: all of its epsilon, where no record had a part in its tests."""
    if claim.label_epsilon is not None or claim.trees is not TreeRecords.UNKNOWN:
        return claim.label_epsilon
    return claim.epsilon if claim.splits is SplitOrigin.INDEPENDENT else None


Value = TypeVar("Value")


def _shared(values: Sequence[Value], unknown: Value) -> Value:
    return values[0] if len(set(values)) == 1 else unknown


def _worst_bounds(claims: Sequence[PrivacyClaim]) -> BoundsOrigin:
    origins = {claim.bounds_origin for claim in claims}
    for origin in (BoundsOrigin.TABLE, BoundsOrigin.UNKNOWN):
        if origin in origins:
            return origin
    return BoundsOrigin.PUBLIC


def _each_once(reasons: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason for part in reasons for reason in part))


def _disagreements(
    claims: Sequence[PrivacyClaim | None], made: Sequence[PrivacyClaim], has_whole: bool
) -> tuple[str, ...]:
    """Return why what the trees say cannot be judged as one claim."""
    found = []
    lacking = len(claims) - len(made)
    if lacking:
        make = "makes" if lacking == 1 else "make"
        found.append(SOME_WITHOUT.format(some=lacking, trees=len(claims), make=make))
    if has_whole and len(set(made)) > 1:
        words = dict.fromkeys(f"epsilon={claim.epsilon:g}" for claim in made)
        found.append(DIFFERENT.format(words=", ".join(list(words)[:MOST_NAMED])))
    for what, read in ASPECTS.items():
        if len({read(claim) for claim in made}) > 1:
            found.append(UNLIKE.format(what=what))
    return tuple(found)


MOST_NAMED = 4
"""So many different claims are named at most."""
ASPECTS: dict[str, Callable[[PrivacyClaim], object]] = {
    "the mechanism of their labels": lambda claim: claim.mechanism,
    "how their splits were chosen": lambda claim: claim.splits,
    "the epsilon of their labels": _label_epsilon,
    "whom the claim protects (unit)": lambda claim: claim.unit is ClaimUnit.PERSON,
    "their bounds": lambda claim: claim.bounds,
}
"""What is judged of all trees alike, in words, and how it is read."""
