"""ACRO's risk appetite, the YAML file by which a research environment sets its output checks, as a pack.

Each limit becomes the clause that asks the same of a tree. What has no meaning for a tree is named in a comment of the
pack, with the reason; a key that ACRO does not know is an error, so that no limit is lost by a slip of the pen.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError

from treewarden.ppdm_models.errors import PolicyError

# A mapping from a YAML file that a stranger may have written: bounded, without aliases, each key once.

MOST_BYTES = 100_000
MOST_EVENTS = 2_000
DEEPEST = 4
"""How deep lists and mappings may be nested; the files in question are a mapping of numbers and one list."""


def read_mapping(data: bytes, where: str) -> dict[str, object]:
    """Return what a YAML file says, by its keys in the file's order.

    Only plain values, lists and mappings are made of it, whatever tags it carries.

    Raises:
        PolicyError: no YAML, no mapping, a key twice, an alias, or larger or deeper than such a file can be.
    """
    yaml = _library(where)
    if len(data) > MOST_BYTES:
        problem = (
            f"too large for an ACRO configuration ({len(data):,} bytes, at most {MOST_BYTES:,}); "
            "give ACRO's YAML file"
        )
        raise PolicyError(where, problem)
    try:
        text = data.decode("utf-8-sig")
        _check(yaml, text, where)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            raise PolicyError(
                where, "not an ACRO configuration; give a file with lines of the form 'key: value'"
            )
        _check_keys(root, where)
        said: dict[str, object] = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise PolicyError(where, "not text in UTF-8; save it as UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(where, f"not a YAML file ({reason}); correct it") from error
    return said


def _library(where: str) -> ModuleType:
    """Return the optional library, imported only where a YAML file is read."""
    try:
        return importlib.import_module("yaml")
    except ImportError as error:
        problem = "reading YAML needs a library; pip install 'treewarden[acro]'"
        raise PolicyError(where, problem) from error


def _check(yaml: ModuleType, text: str, where: str) -> None:
    """Check the size and the shape of a file before anything is made of it.

    Raises:
        PolicyError: it has an alias, several documents, or more or deeper parts than such a file can have.
    """
    depth = documents = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        place = f"{where}:{event.start_mark.line + 1}"
        if number >= MOST_EVENTS:
            raise PolicyError(
                place, f"more than {MOST_EVENTS:,} parts; give the risk appetite alone"
            )
        if isinstance(event, yaml.AliasEvent):
            raise PolicyError(
                place, f"YAML aliases (*{event.anchor}) are not supported; write the value itself"
            )
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise PolicyError(place, "the file contains several YAML documents; keep one")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise PolicyError(place, f"nested more than {DEEPEST} deep; give plain values")
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_keys(root: Any, where: str) -> None:  # noqa: ANN401  # a node of an optional library
    """Check that each key is a word and stands once: YAML itself would take the last of several.

    Raises:
        PolicyError: a key is no text, or stands twice.
    """
    seen: set[str] = set()
    for key, _ in root.value:
        place = f"{where}:{key.start_mark.line + 1}"
        if key.tag != "tag:yaml.org,2002:str":
            raise PolicyError(
                place, f"the key {str(key.value)!r:.60} is not a text; correct or delete it"
            )
        if key.value in seen:
            raise PolicyError(place, f"the key {key.value!r:.60} occurs twice; delete one of them")
        seen.add(key.value)


MOST = 1_000_000_000
"""The largest limit that is believed to be one."""

Whole = Annotated[int, Field(strict=True, ge=1, le=MOST)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]

LEFT_OUT = {
    "check_missing_values": "ACRO asks a person to review tables whose means omit cells. Here a record with missing "
    "values follows the tree, and if it has no single leaf, the checks on leaves cannot be decided",
    "survival_safe_threshold": "it applies to survival tables and curves, which a tree does not have",
    "safe_round_base": "it sets how ACRO rounds a table that failed; to change a tree, use `treewarden repair`",
    "federated": "it sets where ACRO runs its checks, not what they require",
    "blocked_extensions": "it applies to names of files; `side_leaks` checks the content of a model's file",
    "output_template_file": "it names a file that ACRO writes",
    "safe_tests": "it lists statistical tests",
}
"""Keys that ACRO has or had and that ask nothing of a tree, and why not."""
MISNAMED = {"safe_p_percent": "safe_pratio_p"}
"""What ACRO's pages call a key, and what its program reads."""
WANTED = {
    "safe_nk_k": "a share above 0 and at most 1, as 0.9",
    "safe_pratio_p": "a share above 0 and at most 1, as 0.1",
    "zeros_are_disclosive": "true or false",
}
"""What a key must be, where it is not a whole number."""

HEAD = """\
# ACRO's risk appetite as a policy for trees. Made by `treewarden policy import` from {file}.
# The smallest size is required of each leaf and of the people in it who share a value: every cell of the table of
# leaves and values, as in ACRO's check of tables and in the structural attack of SACRO-ML.
#
# Not covered, because no risk appetite covers it: values that the tree proves (certain_disclosure), the confidence of
# an adversary (disclosure, label_disclosure), and content of the file other than the tree (side_leaks).
# The built-in policy `research-output` covers these too. Compare the two before you use this one.
# Removing numbers never fixes the checks on leaves: they use the owner's real counts.
#
# Left out:
{left_out}
name = "acro"
version = "1.0.0"
title = "ACRO's risk appetite"
description = "The limits of a research environment's output checks, as set in its risk appetite for ACRO."
"""
CLAUSE = """
[[check]]
id = "{id}"
measure = "{measure}"
rule = "{rule}"
limit = {limit}
why = "{why}"
source = "ACRO's risk appetite: {source}"
"""


class _Appetite(BaseModel):
    """The limits that ask something of a tree."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    safe_threshold: Whole
    safe_dof_threshold: Whole
    safe_nk_n: Whole | None = None
    safe_nk_k: Share | None = None
    safe_pratio_p: Share | None = None
    zeros_are_disclosive: StrictBool = True

    @property
    def dominance(self) -> tuple[int, str]:
        """The smallest group that both rules of dominance allow where each person counts one, and the rules.

        Of N people the n first make up n / N, which has to stay below k; and N - 2 have to be at least p of one.
        """
        size, rules = 1, []
        if self.safe_nk_n and self.safe_nk_k:
            size = math.floor(self.safe_nk_n / Fraction(repr(self.safe_nk_k))) + 1
            rules.append(f"safe_nk_n = {self.safe_nk_n}, safe_nk_k = {self.safe_nk_k:g}")
        if self.safe_pratio_p:
            size = max(size, math.ceil(2 + self.safe_pratio_p))
            rules.append(f"safe_pratio_p = {self.safe_pratio_p:g}")
        return size, ", ".join(rules)


def imported(data: bytes, where: str) -> bytes:
    """Return the pack that asks of a tree what a risk appetite of ACRO asks of tables and regressions.

    Raises:
        PolicyError: the file is not such a risk appetite; says the key and what to do.
    """
    said = read_mapping(data, where)
    appetite = _appetite(said, where)
    left_out = [f"# - {key}: {why}." for key, why in LEFT_OUT.items() if key in said]
    left_out += _not_taken_over(appetite)
    head = HEAD.format(file=ascii(where), left_out="\n".join(left_out) or "# (nothing)")
    return (head + "".join(_clauses(appetite))).encode("utf-8")


def _appetite(settings: Mapping[str, object], where: str) -> _Appetite:
    for wrong, right in MISNAMED.items():
        if wrong in settings:
            raise PolicyError(f"{where}: {wrong}", f"ACRO does not read this key; write {right}")
    for one, other in (("safe_nk_n", "safe_nk_k"), ("safe_nk_k", "safe_nk_n")):
        if one in settings and other not in settings:
            raise PolicyError(
                f"{where}: {other}", f"it is missing, but {one} is given; give both or none"
            )
    try:
        return _Appetite.model_validate({k: v for k, v in settings.items() if k not in LEFT_OUT})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0])
        place = f"{where}: {key if key.isidentifier() else repr(key):.60}"
        raise PolicyError(place, _problem(key, first["type"], first["input"])) from error


def _problem(key: str, kind: str, value: object) -> str:
    if kind == "extra_forbidden":
        return f"ACRO has no such key; it has {', '.join((*_Appetite.model_fields, *LEFT_OUT))}"
    if kind == "missing":
        return "it is missing; give the limit, as ACRO needs it"
    return f"it is {str(value)!r:.60}; give {WANTED.get(key, f'a whole number from 1 to {MOST:,}')}"


def _not_taken_over(appetite: _Appetite) -> Iterator[str]:
    size, rules = appetite.dominance
    if rules:
        clause = "smallest-leaf" if size <= appetite.safe_threshold else "dominance"
        yield f"# - {rules}: dominance is defined for sums of amounts. If people are counted, each weighs one, and the"
        yield f"#   rules hold in every group of {size} or more, which the check {clause} requires. A tree that"
        yield "#   predicts an amount is UNDETERMINED, because the amounts of its people are not known."
    if not appetite.zeros_are_disclosive:
        yield "# - zeros_are_disclosive is off: a value that nobody in a leaf has does not count as a disclosure."


def _clauses(appetite: _Appetite) -> Iterator[str]:
    least, freedom = appetite.safe_threshold, appetite.safe_dof_threshold
    size, rules = appetite.dominance
    threshold = f"safe_threshold = {least}"
    why = "A rule is a fact about a group only if the group is large enough."
    yield _clause("smallest-leaf", ("k_anonymity", "at_least", least), why, threshold)
    why = "A few people in a leaf who share a value are singled out by it."
    yield _clause("small-groups", ("smallest_class", "at_least", least), why, threshold)
    if size > least:
        why = "In a smaller group, a few people make up too large a part."
        yield _clause("dominance", ("k_anonymity", "at_least", size), why, rules)
    why = "If everybody in a leaf has the same value, knowing a person's leaf discloses the value."
    always = "no key; ACRO always checks that not all values of a cell are the same"
    yield _clause("mixed-leaves", ("distinct_diversity", "at_least", 2), why, always)
    if appetite.zeros_are_disclosive:
        said = "zeros_are_disclosive" in appetite.model_fields_set
        source = f"zeros_are_disclosive{'' if said else ', which is on by default'}"
        why = "If nobody in a leaf has a value, knowing a person's leaf excludes that value."
        yield _clause("class-disclosure", ("absent_values", "at_most", 0), why, source)
    why = "A model with as many fitted numbers as there are people may contain the table itself."
    asks = ("residual_freedom", "at_least", freedom)
    yield _clause("residual-freedom", asks, why, f"safe_dof_threshold = {freedom}")


def _clause(name: str, asks: tuple[str, str, int], why: str, source: str) -> str:
    measure, rule, limit = asks
    return CLAUSE.format(id=name, measure=measure, rule=rule, limit=limit, why=why, source=source)
