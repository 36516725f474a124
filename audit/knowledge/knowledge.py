"""What the adversary is assumed to know beside the quasi-identifiers: a level, or a TOML file that states everything.

Errors that pydantic finds in the file are put in words of TOML. A gate with nothing to do imports this module alone, so
it imports nothing heavy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    Field,
    FiniteFloat,
    StrictBool,
    StrictInt,
    ValidationError,
)

from treewarden.audit.knowledge.levels import (
    MOST,
    DeclaredAdversary,
    KnowledgeSection,
    LeafLevel,
    RowOrder,
    SecretColumn,
    SplitLevel,
    words_of,
)
from treewarden.audit.knowledge.statement import FACT_KEYS, FACT_TYPES, Fact, fact_slip
from treewarden.ppdm_models.errors import KnowledgeError, near_text, toml_reason, toml_words
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Node, Task, Tree

# Errors in a knowledge file, in its own terms: in which table, which key, and which keys there are.

FIELDS = {"fact": "facts", "adversary": "adversaries"}
"""The tables of a file of which there can be several, and what holds them all."""
KEYS: Mapping[str, Sequence[str]] = {
    "facts": FACT_KEYS,
    "adversaries": tuple(DeclaredAdversary.model_fields),
    "secret": tuple(SecretColumn.model_fields),
}
"""What can stand in each table, by what holds it."""
LENGTHS = ("too_long", "too_short")
UNKNOWN = "extra_forbidden"
Location = tuple[int | str, ...]


def slip(error: ValidationError, document: Mapping[str, Any], fields: Collection[str]) -> str:
    """Return the first thing that is wrong in the ``document``, which may hold these fields.

    A key that is not known explains one that is missing, and comes first.
    """
    found = error.errors(include_url=False)
    first = found[0]
    table = first["loc"][0]
    unknown = (each for each in found if each["type"] == UNKNOWN and each["loc"][0] == table)
    first = next(unknown, first)
    location = tuple(each for each in first["loc"] if not _is_of_schema(each))
    is_inside = table in KEYS and len(location) > 1
    keys = list(KEYS[str(table)]) if is_inside else keys_of(fields)
    if first["type"] in LENGTHS:  # the key is right, so that others help nobody
        return f"{_place(location, document)}: {toml_words(first)}"
    problem = toml_words(first).lower()
    if first["type"] == UNKNOWN:
        *above, key = location
        location, problem = tuple(above), f"{problem} {key!r}{near_text(str(key), keys)}"
        problem += "; put it above all tables" if is_inside and key in keys_of(fields) else ""
    elif first["type"] == "missing":
        *above, key = location
        location, problem = tuple(above), f"{key!r} is missing"
    place = f"{_place(location, document)}: " if location else ""
    return f"{place}{problem}; use {', '.join(keys)}"


def keys_of(fields: Collection[str]) -> list[str]:
    """Return fields as they are called in a file."""
    names = {field: key for key, field in FIELDS.items()}
    return [names.get(field, field) for field in fields]


def _is_of_schema(part: int | str) -> bool:
    """Return whether part of a place is no key, but which of several types was tried."""
    return isinstance(part, str) and (
        "[" in part or part in (*(kind.__name__ for kind in FACT_TYPES), "constrained-str")
    )


def _place(location: Location, document: Mapping[str, Any]) -> str:
    """Return where in a file something stands: of several tables with one name, which of them, by its name too."""
    names = {field: key for key, field in FIELDS.items()}
    if len(location) > 1 and location[0] in names and isinstance(location[1], int):
        field, number = str(location[0]), location[1]
        table = f"[[{names[field]}]] number {number + 1}{_called(document[field][number])}"
        return ": ".join([table, *(".".join(map(str, rest)) for rest in [location[2:]] if rest)])
    return ".".join(names.get(str(part), str(part)) for part in location)


def _called(table: object) -> str:
    name = table.get("name") if isinstance(table, Mapping) else None
    return f" ({name!r})" if name and isinstance(name, str) else ""


MOST_SEEDS = 1000
Seed = Annotated[StrictInt, Field(ge=0, lt=2**32)]


class Knowledge(KnowledgeSection):
    """Everything the adversary is assumed to know.

    ``min_leaf`` is the learner's smallest allowed leaf (records); ``learner`` the program that grew the tree, where the
    file does not say it; ``training`` settings of a boosted model's training that leaf values depend on, by the names
    that its library gives them, where the file withholds them. Who knows the order of the records can repeat what was
    drawn from a seed; ``seeds`` are those to be tried beside what the file says. ``adversaries`` are those who know
    some columns only, beside the one of whom all this is said; ``secret`` is what they are after, where that is not
    the tree's target.
    """

    leaf: LeafLevel = LeafLevel.AS_PUBLISHED
    split: SplitLevel = SplitLevel.AS_PUBLISHED
    marginal: StrictBool = False
    accuracy: StrictBool = False
    row_order: RowOrder = RowOrder.KNOWN
    strict_labels: StrictBool = False
    min_leaf: Annotated[StrictInt, Field(ge=1)] | None = None
    learner: Tool | None = None
    training: dict[str, Annotated[FiniteFloat, Field(ge=0, strict=True)]] = {}
    seeds: Annotated[tuple[Seed, ...], Field(max_length=MOST_SEEDS)] = ()
    facts: tuple[Fact, ...] = ()
    adversaries: Annotated[tuple[DeclaredAdversary, ...], Field(max_length=MOST)] = ()
    secret: SecretColumn | None = None


def read_knowledge(data: bytes, where: str) -> Knowledge:
    """Read a TOML file that says what the adversary knows.

    Raises:
        KnowledgeError: the bytes are not TOML, or say something that is not understood.
    """
    return knowledge_of(toml_of(data, where), where)


def toml_of(data: bytes, where: str) -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises:
        KnowledgeError: the bytes are not TOML.
    """
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KnowledgeError(
            where,
            f"not valid TOML ({toml_reason(error)}); correct the file (example: docs/adversary.md)",
        ) from error


def knowledge_of(document: Mapping[str, Any], where: str) -> Knowledge:
    """Return the knowledge that a file says, as TOML reads it.

    Raises:
        KnowledgeError: it says something that is not understood.
    """
    for key, field in FIELDS.items():
        if field in document:
            problem = f"unknown key {field!r} (did you mean {key!r}?); write the line [[{key}]] before each of them"
            raise KnowledgeError(where, problem)
    told = {FIELDS.get(key, key): value for key, value in document.items()}
    for number, fact in enumerate(_list(told.get("facts")), start=1):
        problem = fact_slip(fact) if isinstance(fact, Mapping) else ""
        if problem:
            raise KnowledgeError(where, f"[[fact]] number {number}: {problem}")
    try:
        if isinstance(told.get("secret"), str):
            told["secret"] = {"column": told["secret"]}
        if not isinstance(told.get("secret", {}), dict):
            problem = 'secret: give a column: secret = "...", or [secret] with column and bins'
            raise KnowledgeError(where, problem)
        for key, field in FIELDS.items():
            if isinstance(told.get(field), dict):
                problem = f"{key}: must be a list; write the line [[{key}]] before each of them, not [{key}]"
                raise KnowledgeError(where, problem)
        return Knowledge.model_validate(told)
    except ValidationError as error:
        raise KnowledgeError(where, slip(error, told, Knowledge.model_fields)) from error


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def resolved(knowledge: Knowledge, tree: Tree) -> tuple[Knowledge, tuple[str, ...]]:
    """Return the knowledge with the split criterion as the file gives it, and warnings about what that leaves out.

    The leaf level "as published" stays: files publish more of one leaf and less of another. So does that of splits
    where the file does not name the criterion (``possible_criteria``).
    """
    split, warnings = knowledge.split, []
    more = understated(knowledge, tree)
    if more:
        warnings.append(
            f"{tree.source} publishes {more}, but the adversary is assumed not to use it: a PASS "
            "would hold only for a file without it"
        )
    if split is SplitLevel.AS_PUBLISHED:
        split, said = _published_split(knowledge, tree)
        warnings += [said] if said else []
    return knowledge.model_copy(update={"split": split}), tuple(warnings)


def understated(knowledge: Knowledge, tree: Tree) -> str:
    """Return what a file publishes beyond what the adversary is said to know, in words; "" where nothing."""
    more = []
    numbers = [leaf.class_counts or leaf.class_shares or leaf.bands or () for leaf in tree.leaves]
    known = [sum(number is not None for number in each) for each in numbers]
    if knowledge.leaf is LeafLevel.LABELS and any(known):
        more.append("class numbers of its leaves")
    elif knowledge.leaf is LeafLevel.RATES and max(known) > 1 and len(tree.classes) > 2:
        more.append("more of its leaves than error rates")
    left_out = knowledge.leaf is LeafLevel.LABELS or (
        knowledge.leaf is LeafLevel.RATES and len(tree.classes) > 2
    )
    if left_out and not more and any(map(_is_counted, tree.nodes)):
        more.append("class numbers of its inner nodes")
    if left_out and any(not node.is_leaf and node.score in tree.classes for node in tree.nodes):
        more.append("labels of its inner nodes")
    if left_out and any(node.impurity is not None for node in tree.nodes):
        more.append("impurities of its nodes")
    by = published_criterion(tree)
    if knowledge.split is SplitLevel.NONE and by is not None and tree.learner.all_features:
        more.append(f"that its splits were chosen by {by.value}")
    return " and ".join(more)


def _is_counted(node: Node) -> bool:
    return not node.is_leaf and bool(node.class_counts or node.class_shares)


def published_criterion(tree: Tree) -> Criterion | None:
    """Return the criterion by which a file says that its splits were chosen; None where it does not say it.

    A learner prints at nodes the impurity that it compared: ``gini = 0.42``.
    """
    if tree.learner.criterion is not None or tree.task is Task.REGRESSION:
        return tree.learner.criterion
    printed = {node.impurity.criterion for node in tree.nodes if node.impurity is not None}
    return printed.pop() if len(printed) == 1 else None


USUAL_CRITERIA = (Criterion.GINI, Criterion.ENTROPY)
"""By which rpart, scikit-learn and Spark choose splits for classes."""
OTHER_RULES = (Tool.POLICY_TREE, Tool.WEKA)
"""Programs that choose splits by rules of their own."""


def possible_criteria(knowledge: Knowledge, tree: Tree) -> tuple[Criterion, ...]:
    """Return the criteria by which splits may have been chosen, where neither the file nor the knowledge says which.

    An adversary may suppose any of them: libraries have a default. Where noise had a part in the splits, none.
    """
    tool = knowledge.learner or tree.learner.tool
    is_open = knowledge.split is SplitLevel.AS_PUBLISHED and published_criterion(tree) is None
    if not is_open or tree.task is Task.REGRESSION or tool in OTHER_RULES or tree.learner.saw_noise:
        return ()
    return tuple(Criterion) if tool is Tool.UNKNOWN else USUAL_CRITERIA


def is_program_known(knowledge: Knowledge, tree: Tree) -> bool:
    """Whether the program is known that trained a tree, so that it used one of its criteria."""
    return (knowledge.learner or tree.learner.tool) is not Tool.UNKNOWN


def suppositions(knowledge: Knowledge, tree: Tree, criterion: Criterion) -> Iterator[Knowledge]:
    """Yield the knowledge of adversaries who suppose that splits were chosen by a criterion, who suppose most first.

    Where the program is not known they may suppose that it compared all splits, as rpart does.
    """
    known = knowledge.model_copy(update={"split": SplitLevel(criterion.value)})
    if not is_program_known(knowledge, tree):
        yield known.model_copy(update={"learner": Tool.RPART})
    yield known


def _published_split(knowledge: Knowledge, tree: Tree) -> tuple[SplitLevel, str]:
    """Return the criterion of a file's splits, or none and why it is not used."""
    criterion = published_criterion(tree)
    if tree.task is Task.REGRESSION:
        return SplitLevel.NONE, ""
    if criterion is None:
        return _unnamed_split(knowledge, tree)
    if tree.learner.tool is Tool.POLICY_TREE:
        said = (
            f"{tree.source} was trained under a policy with randomly drawn cuts: its choice of "
            "splits is not used"
        )
        return SplitLevel.NONE, said
    if not tree.learner.all_features:
        said = (
            f"{tree.source} was trained on random subsets of its features: its choice of splits is "
            "not used"
        )
        return SplitLevel.NONE, said
    return SplitLevel(criterion.value), ""


def _unnamed_split(knowledge: Knowledge, tree: Tree) -> tuple[SplitLevel, str]:
    """Return what is known of the splits of a file that does not name their criterion, and what to do about it."""
    unnamed = f"{tree.source} does not contain its split criterion"
    criteria = possible_criteria(knowledge, tree)
    if not criteria:
        return SplitLevel.NONE, f"{unnamed}, so the choice of splits is not used"
    said = (
        f"{unnamed}. Proofs do not use it, and a check passes only if it does with each of "
        f"{words_of(criteria)}. If you know the criterion, name it, for example --split "
        f"{criteria[0]}, so that more can be decided"
    )
    return SplitLevel.AS_PUBLISHED, said


# Adversaries in a file of their own, in addition to what the knowledge file states.

TOGETHER = {"adversary", "secret"}


def read_adversaries(data: bytes, where: str) -> Knowledge:
    """Read a TOML file that declares adversaries, and perhaps the secret: ``[[adversary]]`` tables, or one by itself.

    One by itself has its ``name`` and what it ``knows`` at the top of the file, and the name of the file where it
    gives none.

    Raises:
        KnowledgeError: the bytes are not TOML, declare nobody, or say something that is not understood.
    """
    said = toml_of(data, where)
    if "adversary" not in said and "knows" in said:
        _check_of_one(said, where)
        one = {key: value for key, value in said.items() if key != "secret"}
        one = {"name": where.rpartition("/")[2].removesuffix(".toml"), **one}
        said = {"adversary": [one], **{key: said[key] for key in ("secret",) if key in said}}
    if not said.get("adversary"):
        problem = "declares no adversary; add knows = [...], or [[adversary]] tables"
        raise KnowledgeError(where, problem)
    _check_no_more(said.keys() - TOGETHER, where)
    for one in said["adversary"] if isinstance(said["adversary"], list) else ():
        _check_of_one(one, where)
    return knowledge_of(said, where)


def _check_of_one(document: object, where: str) -> None:
    """Check that nothing is said with an adversary that is about everybody."""
    if isinstance(document, dict):
        of_all = set(keys_of(Knowledge.model_fields)) - {*TOGETHER, *DeclaredAdversary.model_fields}
        _check_no_more(document.keys() & of_all, where)


def _check_no_more(keys: Collection[str], where: str) -> None:
    if keys:
        problem = f"{min(keys)!r} applies to all adversaries; put it into the file of --knowledge"
        raise KnowledgeError(where, problem)


def with_adversaries_of(knowledge: Knowledge, files: Sequence[tuple[Knowledge, str]]) -> Knowledge:
    """Return knowledge with the adversaries of further files, each with its name.

    Raises:
        KnowledgeError: two of them name different secrets.
    """
    everyone, secret = list(knowledge.adversaries), knowledge.secret
    for more, where in files:
        if more.secret and secret and more.secret != secret:
            problem = (
                f"the secret is {more.secret.column!r} here and {secret.column!r} elsewhere; keep one "
                "of them"
            )
            raise KnowledgeError(where, problem)
        everyone += more.adversaries
        secret = secret if more.secret is None else more.secret
    return knowledge.model_copy(update={"adversaries": tuple(everyone), "secret": secret})
