"""Counts the names of the product that carry no meaning, and the class names that stand for several records.

``python -m tests.kit.language`` prints the figures.
"""

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

from tests.kit.syntax import product

PARTICIPLES = frozenset(
    [
        "asked",
        "asking",
        "begun",
        "called",
        "chosen",
        "counted",
        "done",
        "drawn",
        "found",
        "gained",
        "given",
        "gone",
        "got",
        "heard",
        "held",
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "named",
        "needed",
        "open",
        "put",
        "read",
        "said",
        "saved",
        "seen",
        "sent",
        "set",
        "shown",
        "stood",
        "taken",
        "told",
        "tried",
        "used",
        "wanted",
    ]
)
PARTICLES = frozenset(
    [
        "about",
        "above",
        "again",
        "alike",
        "all",
        "also",
        "any",
        "beside",
        "both",
        "each",
        "else",
        "enough",
        "every",
        "few",
        "first",
        "here",
        "how",
        "it",
        "its",
        "last",
        "later",
        "less",
        "many",
        "more",
        "most",
        "much",
        "no",
        "none",
        "now",
        "of",
        "on",
        "once",
        "one",
        "only",
        "other",
        "others",
        "out",
        "own",
        "part",
        "rest",
        "same",
        "so",
        "some",
        "such",
        "that",
        "them",
        "then",
        "there",
        "these",
        "they",
        "thing",
        "things",
        "this",
        "those",
        "together",
        "two",
        "under",
        "very",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "who",
        "whole",
        "whom",
        "whose",
        "why",
        "with",
        "without",
    ]
)
GENERIC = frozenset(
    [
        "arg",
        "args",
        "data",
        "func",
        "helper",
        "info",
        "item",
        "items",
        "misc",
        "obj",
        "object",
        "res",
        "result",
        "stuff",
        "temp",
        "tmp",
        "util",
        "val",
        "var",
    ]
)
EMPTY = PARTICIPLES | PARTICLES | GENERIC
BARE = frozenset(
    [
        "said",
        "told",
        "asked",
        "wanted",
        "held",
        "kept",
        "found",
        "shown",
        "given",
        "known",
        "each",
        "own",
        "more",
        "some",
        "who",
        "of",
        "rest",
        "other",
    ]
)
"""What no new function, class, module or argument is called by itself."""

SAME_IN_SCHEMAS = frozenset({"reports", "service"})
"""Where records are parts of documents and bodies of answers: there the domain's word is the schema's word too."""


def words_of(name: str) -> list[str]:
    """Return the words of a name: ``_leaf_of_record`` and ``LeafOfRecord`` have three."""
    apart = (
        "".join(f"_{sign}" if sign.isupper() else sign for sign in name)
        if not name.isupper()
        else name
    )
    return [word for word in apart.lower().split("_") if word]


def is_empty(name: str) -> bool:
    """Return whether no word of a name says what it stands for."""
    words = words_of(name)
    return bool(words) and all(word in EMPTY for word in words)


@cache
def bound_names() -> tuple[tuple[str, str, str], ...]:
    """Return kind, path and name of whatever the product gives a name: modules, classes, functions and so on."""
    return tuple(
        (kind, path, name)
        for path, facts in product().items()
        for kind, name in (("modules", Path(path).stem), *facts.names)
    )


def bare_names() -> dict[str, list[str]]:
    """Return, by kind, ``path:name`` of each function, class, module and argument that is called by a bare word."""
    bare = defaultdict(set)
    for kind, path, name in bound_names():
        if kind != "variables" and name.lstrip("_").lower() in BARE:
            bare[kind].add(f"{path}:{name}")
    return {kind: sorted(names) for kind, names in sorted(bare.items())}


def shared_class_names() -> dict[str, list[str]]:
    """Return the class names that stand for several records, with where; a schema may say what its domain says."""
    places_of = defaultdict(set)
    for path, facts in product().items():
        for name in facts.top_classes:
            places_of[name].add(path)
    shared = {}
    for name, paths in sorted(places_of.items()):
        domain = [path for path in paths if path.split("/")[0] not in SAME_IN_SCHEMAS]
        schemas = Counter(
            path.split("/")[0] for path in paths if path.split("/")[0] in SAME_IN_SCHEMAS
        )
        if len(domain) > 1 or any(number > 1 for number in schemas.values()):
            shared[name] = sorted(paths)
    return shared


def annotated_names(record: str) -> set[str]:
    """Return the names under which functions take a record of this class."""
    return {
        name
        for facts in product().values()
        for name, annotation in facts.annotated
        if annotation == record
    }


def figures() -> str:
    """Return the counts as lines of text."""
    total, empty = Counter(), Counter()
    for kind, _, name in bound_names():
        total[kind] += 1
        empty[kind] += is_empty(name)
    lines = [f"{'':10} {'names':>8} {'empty':>8}"]
    for kind in (*total, "all"):
        number, bad = (
            (total.total(), empty.total()) if kind == "all" else (total[kind], empty[kind])
        )
        lines.append(f"{kind:10} {number:8,} {bad:8,} {bad / number:6.1%}")
    lines.append(f"class names that stand for several records: {len(shared_class_names())}")
    lines.append(
        f"names of a population where functions take one: {', '.join(sorted(annotated_names('Population')))}"
    )
    lines.append(
        f"modules: {len(product())}, without heads of packages and plug-ins: {len(concepts())}"
    )
    return "\n".join(lines)


def concepts() -> list[str]:
    """Return the modules that are neither the head of a package nor found by looking into a folder."""
    found_by_looking = (
        "audit/constraints/",
        "audit/inverters/",
        "audit/measures/",
        "policies/rules/",
        "policies/remedies/",
        "reports/renderers/",
        "treewarden/commands/",
        "service/commands/",
        "service/api/",
        "service/pages/",
        "ppdm_models/formats/",
        "ppdm_models/outputs/readers/",
        "audit/membership/learners/",
    )
    return [
        path
        for path in product()
        if Path(path).name != "__init__.py"
        and not (
            path.startswith(found_by_looking)
            and not Path(path).name.startswith("_")
            and "/common/" not in path
        )
    ]


if __name__ == "__main__":
    print(figures())
