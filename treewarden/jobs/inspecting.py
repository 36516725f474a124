"""What a model publishes, and how a terminal shows that: grouped, short, every name made harmless.

It also puts in words what the file by itself proves of the records it was trained on.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import ModelBytes, ModelInput, opened
from treewarden.ppdm_models.errors import KnowledgeError, with_advice
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.ppdm_models.semantics.consistency import producer
from treewarden.ppdm_models.semantics.describe import describe, leaf_entries
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.document.words import count, counted, listed, printable

if TYPE_CHECKING:  # heavy: for proofs only
    from treewarden.audit.reconstruction.cells import DomainCoverage
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.audit.reconstruction.result import Reconstruction


WIDTH = 110
LABEL = 15
MOST_NAMES = 12
MOST_SIGNS = 60
SECONDS = 30.0
"""How long an inspection looks for proofs where a public domain is declared."""
UNASKED_SECONDS = 2.0
"""How long it does where none is: nobody has asked, and most often little can be said."""

Said = Mapping[str, Any]
"""A description as ``describe`` returns it: plain values, ready for JSON."""


def said_of(
    model: ModelInput,
    *,
    leaves: bool = False,
    exact: bool = True,
    domain: DeclaredDomain | None = None,
) -> dict[str, Any]:
    """Return what a model publishes, ready for JSON; with its ``leaf`` entries where they are asked for.

    Paths of leaves hold every digit of a threshold where ``exact``, else as many as are read easily. With a public
    ``domain``, which may be an empty one, what its numbers prove of its records is worked out too.

    Raises:
        TreeFormatError: it holds no model that is understood.
        KnowledgeError: the domain does not fit the model.
    """
    if isinstance(model, Path):
        model = ModelBytes(read_bytes(model), model.name)
    file = opened(model)
    said: dict[str, Any] = {
        "format": file.model.format,
        "producer": producer(model.data) if isinstance(model, ModelBytes) else None,
        **describe(file.model, file.leaks),
    }
    if domain is not None:
        said["rebuilt"] = rebuilt_values(rebuilt_of(file.model, domain))
    if leaves:
        said["leaf"] = list(leaf_entries(file.model, exact=exact))
    return said


def rebuilt_of(
    model: Model, declared: DeclaredDomain | None = None, *, where: str = "domain"
) -> Reconstruction | Undetermined:
    """Return which records every table has that fits a model's file; ``where`` is what declares the domain.

    Raises:
        KnowledgeError: what is declared does not fit the model.
    """
    from treewarden.audit.reconstruction.domain import PublicDomainError
    from treewarden.audit.reconstruction.of_model import NOTHING_PUBLIC, reconstruct

    try:
        if declared is None or declared == NOTHING_PUBLIC:
            return reconstruct(model, clock(UNASKED_SECONDS), NOTHING_PUBLIC)
        return reconstruct(model, clock(SECONDS), declared)
    except PublicDomainError as error:
        raise KnowledgeError(
            where, with_advice(str(error), "use the names of the model's columns")
        ) from error


def rebuilt_values(rebuilt: Reconstruction | Undetermined) -> dict[str, Any]:
    """Return what is proved as plain values, ready for JSON; no record is among them."""
    if isinstance(rebuilt, Undetermined):
        return {"reason": rebuilt.reason}
    tables = rebuilt.tables
    is_infinite = tables is not None and math.isinf(tables)
    return {
        "records": rebuilt.records,
        "records_proved": rebuilt.records_proved,
        "whole_records": rebuilt.whole_records,
        "columns": rebuilt.columns_proved,
        "tables": "infinite" if is_infinite else tables,
        "decided": rebuilt.is_decided,
        "assumes": list(rebuilt.assumed),
        "domain": _domain_values(rebuilt.coverage),
    }


def _domain_values(coverage: DomainCoverage | None) -> dict[str, Any] | None:
    """Return what of the tested columns was declared as plain values; None where nothing was."""
    if coverage is None or not coverage.declared:
        return None
    return {
        "declared": list(coverage.declared),
        "tested": coverage.tested,
        "points": coverage.points,
        "method": None if coverage.method is None else coverage.method.value,
        "words": coverage.words,
    }


def lines(description: Said) -> Iterator[str]:
    """Yield the lines that say what one file publishes."""
    for name, text in facts(description):
        yield from _wrapped(name, text)


def facts(description: Said) -> Iterator[tuple[str, str]]:
    """Yield what a model publishes in words, each with what it is about; "" goes on with the one before."""
    maker = f"written by {description['producer']}" if description["producer"] else ""
    origin = ", ".join(part for part in (str(description["format"]), maker) if part)
    yield "what", f"{_kind(description)} ({origin or 'in memory'})"
    yield "predicts", _predicts(description)
    depth = f"depth {'at most ' if description['trees'] > 1 else ''}{description['depth']}"
    yield (
        "size",
        f"{counted(description['nodes'], 'node', 'nodes')}, "
        f"{counted(description['leaves'], 'leaf', 'leaves')}, {depth}",
    )
    yield "splits on", _tests(description["features"])
    yield from _untested_values(description["features"])
    yield "publishes", _publishes(description["publishes"], description["leaves"])
    if description["publishes"]["unused"]:
        yield "", f"{', '.join(description['publishes']['unused'])}: not used by audits"
    yield "people", _people(description["support"])
    yield "smallest leaf", _smallest(description["support"])
    if description["trees"] > 1:
        qualities = description["support"]["qualities"]
        yield (
            "trees",
            ", ".join(
                f"{count(number)} with {PUBLISHED[quality]}"
                for quality, number in qualities.items()
            ),
        )
    if description["criterion"]:
        yield "criterion", str(description["criterion"])
    if "rebuilt" in description:
        for position, text in enumerate(rebuilt_lines(description["rebuilt"])):
            yield ("proves" if not position else ""), text
    if description["claim"] is not None:
        yield "claims", _claims(description["claim"])
    yield from _leaks(description["leaks"])
    for position, note in enumerate(description["notes"]):
        yield ("notes" if not position else ""), str(note)


def leaf_lines(entries: Iterable[Said]) -> Iterator[str]:
    """Yield one line per leaf: its region, what it says, its records, and what that number is."""
    rows = [_leaf(entry) for entry in entries]
    if not rows:
        return
    heads = ("leaf", "predicts", "records", "region")
    table = [heads, *rows]
    widths = [min(max(len(row[i]) for row in table), 32) for i in range(3)]
    yield ""
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join(cells)}  {row[3]}".rstrip()


def _kind(description: Said) -> str:
    if "combination" not in description:
        return f"one {description['task']} tree"
    if description["combination"] == "additive":
        return f"{description['task']} by an additive model of {counted(description['trees'], 'term', 'terms')}"
    how = str(description["combination"]).replace("-", " ")
    others = description["others"]
    more = f", and {counted(len(others), 'part', 'parts')} that are not trees" if others else ""
    return f"{description['task']} by {counted(description['trees'], 'tree', 'trees')}{more}, combined by {how}"


def _predicts(description: Said) -> str:
    target = f"“{description['target']}”" if description["target"] else "an unnamed target"
    classes = description["classes"]
    if description["outputs"] > 1:
        return f"{count(description['outputs'])} unnamed outputs, each a number"
    if not classes:
        return (
            f"{target}, a number" if description["task"] == "regression" else f"{target}, unnamed"
        )
    return f"{target}, one of {len(classes)} classes: {_first_names(classes)}"


def _tests(features: Sequence[Said]) -> str:
    tested = [str(feature["name"]) for feature in features if feature["tested"]]
    if not tested:
        return f"none of {counted(len(features), 'feature', 'features')}"
    return (
        f"{len(tested)} of {counted(len(features), 'feature', 'features')}: {_first_names(tested)}"
    )


def _untested_values(features: Sequence[Said]) -> Iterator[tuple[str, str]]:
    """Yield which features have values in the file though no node tests them."""
    names = [
        f"{feature['name']} ({count(feature['values'])})"
        for feature in features
        if feature.get("values") and not feature["tested"]
    ]
    if names:
        of_features = counted(len(names), "feature", "features")
        yield (
            "",
            f"the file also lists the values of {of_features} that no node tests: {_first_names(names)}",
        )


def _publishes(description: Said, leaves: int) -> str:
    words = {
        "labels": "predicted value",
        "sizes": "number of records",
        "rates": "class shares",
        "counts": "class counts",
    }
    if description["counts"] == description["rates"]:
        del words["rates"]
    of_all = [text for key, text in words.items() if leaves and description[key] == leaves]
    of_some = [
        f"{text} ({description[key]:,} leaves)"
        for key, text in words.items()
        if 0 < description[key] < leaves
    ]
    parts = [f"for every leaf: {listed(of_all)}"] if of_all else []
    parts += [f"for some leaves: {listed(of_some)}"] if of_some else []
    if description["impurities"]:
        parts.append(f"for {counted(description['impurities'], 'node', 'nodes')}: impurity")
    return "; ".join(parts) or "nothing about the leaves"


def _claims(claim: Said) -> str:
    words = str(claim["words"]) or "epsilon unknown"
    parts = [f"differential privacy: {words}"]
    if claim["seeded"]:
        parts.append("void, because the file contains the random seed")
    if "bounds=table" in words:
        parts.append("void, because its bounds or classes were read from the table")
    parts += [f"void, because {reason}" for reason in claim["unprotected"]]
    if claim["spent"] is not None:
        parts.append(f"its accountant spent {claim['spent']:g} in total")
    parts += [f"not evaluated: {reason}" for reason in claim["open"]]
    parts += [_claim_of_trees(entry) for entry in claim["trees"]]
    return "; ".join(parts)


def _claim_of_trees(entry: Said) -> str:
    trees = counted(entry["trees"], "tree claims", "trees claim")
    return f"{trees} {entry['words'] or 'nothing'}"


PUBLISHED = {
    "exact": "exact counts",
    "derived": "counts that follow from other numbers",
    "weighted": "sums of weights only",
    "normalised": "shares only",
    "hessian": "sums of weights only",
    "absent": "no counts",
    "inconsistent": "contradictory numbers",
}
"""What the leaves of a tree publish, by the quality of its counts."""


def _people(support: Said) -> str:
    if not support["counts_people"]:
        return f"unknown: {support['reason']} ({support['quality']})"
    records = support["records"]
    total = f"{count(records)} in all; " if records is not None else ""
    return f"{total}{support['reason']} ({support['quality']})"


def _smallest(support: Said) -> str:
    if support["smallest_leaf"] is not None:
        empty = support["empty_leaves"]
        more = f"; {counted(empty, 'leaf holds', 'leaves hold')} none" if empty else ""
        return counted(support["smallest_leaf"], "person", "people") + more
    if support["smallest_published"] is not None:
        sums = support["quality"] in ("hessian", "weighted")
        what = "sum of weights in" if sums else "number of"
        return f"unknown (the smallest {what} a leaf is {count(support['smallest_published'])})"
    return "unknown; audit the file with its training table"


def _leaks(leaks: Sequence[Said]) -> Iterator[tuple[str, str]]:
    """Yield one line per kind of leak, with the first of that kind."""
    if not leaks:
        yield "also contains", "nothing outside the trees"
        return
    removable = sum(leak["removable"] for leak in leaks)
    how = f"{removable} removable with “treewarden redact”" if removable else "none removable"
    yield "also contains", f"{counted(len(leaks), 'finding', 'findings')} outside the trees, {how}"
    for kind in dict.fromkeys(leak["kind"] for leak in leaks):
        same = [leak for leak in leaks if leak["kind"] == kind]
        # The one that speaks for the fewest people stands for its kind.
        first = min(same, key=lambda leak: leak["records"] or math.inf)
        people = f" [{counted(first['records'], 'person', 'people')}]" if first["records"] else ""
        more = f"; and {len(same) - 1} more" if len(same) > 1 else ""
        yield "", f"- {kind}: {first['what']}{people} ({_cut(first['where'])}){more}"


def _cut(where: str) -> str:
    return where if len(where) <= MOST_SIGNS else f"{where[: MOST_SIGNS - 3]}..."


def _leaf(entry: Said) -> tuple[str, str, str, str]:
    says = entry["says"]
    value = "–" if says is None else number_text(says) if isinstance(says, float) else str(says)
    records = "–" if entry["records"] is None else count(entry["records"])
    name = f"{entry['tree']}/{entry['node']}"
    quality = str(entry["quality"])
    return printable(name), printable(value), f"{records} {quality}", printable(entry["region"])


def _first_names(names: Sequence[object]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(str(name) for name in names[:MOST_NAMES]) + more


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=f"  {name:{LABEL}}",
        subsequent_indent=" " * (LABEL + 2) + ("  " if text.startswith("- ") else ""),
        break_long_words=False,
        break_on_hyphens=False,
    )


LARGEST_SAID = 10**6
"""Larger numbers of tables are said by their powers of ten."""
MOST_COLUMNS = 4
RECORD = "a record here is what the model predicts and the columns that it tests, without a name"


def rebuilt_lines(rebuilt: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is proved without any table, in words."""
    if "reason" in rebuilt:
        yield f"unknown: {rebuilt['reason']}"
        return
    number, of_all = rebuilt["records_proved"], rebuilt["records"]
    records = (
        counted(number, "person", "people")
        if of_all is None
        else f"{count(number)} of {counted(of_all, 'person', 'people')}"
    )
    columns = sorted(rebuilt["columns"].items(), key=lambda item: -item[1])
    by_column = [f"{name}: {count(number)}" for name, number in columns if number]
    if len(by_column) > MOST_COLUMNS:
        by_column[MOST_COLUMNS:] = [f"{len(by_column) - MOST_COLUMNS} more columns"]
    values = f" ({', '.join(by_column)})" if by_column else ""
    whole = counted(rebuilt["whole_records"], "complete record", "complete records")
    yield f"the file alone proves values of {records}{values}, and {whole}"
    yield RECORD
    if rebuilt["domain"] is not None:
        yield f"the public domain was {rebuilt['domain']['words']}"
    if rebuilt["tables"] is not None:
        yield _tables(rebuilt["tables"])
    if rebuilt["assumes"]:
        yield f"provided that {', and that '.join(rebuilt['assumes'])}"
    if not rebuilt["decided"]:
        yield _undecided(rebuilt["domain"])


def _undecided(domain: Mapping[str, Any] | None) -> str:
    """Return that more may be provable, and what to do about it where something can be done."""
    if domain is not None and len(domain["declared"]) == domain["tested"]:
        return "not everything was searched, so more records may be provable"
    return "not everything was searched. To prove more, give the possible values of the columns (--domain)"


def _tables(tables: int | str) -> str:
    if tables == 1:
        return "only one table is consistent with the file: anyone with the file has the table"
    if isinstance(tables, str):
        return "values are known as ranges; to prove more, give the public values of the columns (--domain)"
    if tables > LARGEST_SAID:
        return f"at most about 10^{len(str(tables)) - 1} tables are consistent with the file"
    return f"at most {count(tables)} tables are consistent with the file"
