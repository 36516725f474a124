"""What is declared beside the files: adversaries who know some columns, and claims of differential privacy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from treewarden.audit.knowledge.adversaries import ALL, adversary_of, check_names, found_column
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import OPTIONS, DeclaredAdversary
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.functional_dependencies import Codes, attribute_closure
from treewarden.audit.partial.secret_values import (
    AdversaryRequest,
    Secret,
    distinguished_values,
    secret_of,
)
from treewarden.audit.partial.value_rules import implying_columns, outcome_columns
from treewarden.audit.population.population import Population
from treewarden.audit.result import KNOWS_ALL
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import ModelInput
from treewarden.jobs.population import is_preset, people_of
from treewarden.ppdm_models.errors import KnowledgeError, SettingError
from treewarden.ppdm_models.formats import Opened
from treewarden.ppdm_models.tables.matching import are_alike, has_column
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model, claim_of, trees_of, with_claim
from treewarden.ppdm_models.tree.privacy_claim import (
    LabelMechanism,
    check_label_epsilon,
    claim_of_each,
    read_claim,
)
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.document.words import listed


def claim_words(request: Request) -> tuple[str, ...]:
    """Return what the owner claims of each release, "" where nothing.

    Raises:
        KnowledgeError: there are more or fewer claims than releases.
    """
    releases = len(request.earlier) + 1
    try:
        return claim_of_each(request.options.claims or "", releases)
    except ValueError as error:
        raise KnowledgeError("claims", str(error)) from error


def claimed(model: Model, words: str) -> Model:
    """Return a model with what its owner claims of differential privacy, beside what its file does; "" is nothing.

    Raises:
        KnowledgeError: the words are no claim, say other than the file, or contradict themselves.
    """
    if not words:
        return model
    try:
        claim = read_claim(words, "its owner", claim_of(model))
        check_label_epsilon(claim, sum(1 for _ in trees_of(model)))
        return with_claim(model, claim)
    except ValueError as error:
        raise KnowledgeError("claims", str(error)) from error


BEYOND_TREES = (
    "the file also contains {what}, and the claim does not cover it; publish the trees alone (treewarden convert), "
    "and audit that file"
)
MOST_NAMED = 4


def held_to_trees(model: Model, opened: Opened) -> Model:
    """Return a model whose claim, if it makes one, stays open where its file holds more than trees."""
    claim = claim_of(model)
    beyond = () if claim is None else opened.beyond_trees()
    if claim is None or not beyond:
        return model
    more = [f"{len(beyond) - MOST_NAMED} more"] if len(beyond) > MOST_NAMED else []
    reason = BEYOND_TREES.format(what=listed([*beyond[:MOST_NAMED], *more]))
    producer = replace(claim.producer, unevaluated=(*claim.producer.unevaluated, reason))
    return with_claim(model, replace(claim, producer=producer))


def check_labels_are_noise(knowledge: Knowledge, models: Iterable[Model]) -> None:
    """Check that nothing says of labels that they were not drawn, where a claim names how they were.

    Raises:
        KnowledgeError: they are said to lead, or to be those of a program that draws none.
    """
    claims = [claim_of(model) for model in models]
    if all(claim is None or claim.mechanism is LabelMechanism.UNKNOWN for claim in claims):
        return
    noise = "but the claim of differential privacy says that labels were drawn with noise"
    if knowledge.strict_labels:
        problem = f"no leaf is tied, {noise}; remove --strict-labels, or the claim"
        raise SettingError("strict_labels", problem)
    if knowledge.learner is not None:
        problem = f"{knowledge.learner} trained the tree, {noise}; remove --learner, or the claim"
        raise SettingError("learner", problem)


# The adversaries who know only some columns, and the people of a table told apart by what these know.

ELSE = DeclaredAdversary(name="who knows all else", knows=ALL, target=True)
"""The adversary of whom every audit asks where the secret is no target: the others are compared with this one."""


def people_and_adversaries(
    model_input: ModelInput,
    model: Model,
    table: Table,
    options: AuditOptions,
    knowledge: Knowledge,
    where: str,
) -> tuple[Population, AdversaryRequest]:
    """Return the people of a table, and whom the audit asks about beside the one who knows all.

    ``where`` is what says what the adversaries know. A column that no test asks about is a quasi-identifier too where
    it is the secret, or where an adversary knows it and it gives a tested one away.

    Raises:
        KnowledgeError: an adversary knows what is not there, or the secret; the secret is not there, has no bins, or
            has some that part nothing.
        TableError: the table is not the model's.
    """
    people = people_of(model_input, model, table, options)
    declared, secret_column = list(knowledge.adversaries), knowledge.secret
    if not declared and secret_column is None:
        if options.target_known:
            raise KnowledgeError(
                where, "--target-known needs a --secret that is not the target; add --secret COLUMN"
            )
        return people, AdversaryRequest()
    target = options.sensitive or model.target
    columns = _columns(table, model, people, target)
    if is_preset(options) and options.knows and options.knows[0] in columns:
        word = options.knows[0]
        problem = (
            f"{word!r} is a column of the table and also the name of a preset; declare the "
            "adversary in a file (--adversary): "
            f'knows = "{word}" is the preset, knows = ["{word}"] the column'
        )
        raise KnowledgeError("knows", problem)
    here = "--secret" if where == OPTIONS else f"{where}: secret"
    secret = target if secret_column is None else found_column(secret_column.column, columns, here)
    is_feature = secret != target
    bins = secret_column.bins if secret_column is not None and secret_column.bins else None
    if bins is not None and not is_feature:
        raise KnowledgeError(here, _no_bins(model, secret))
    check_names(declared, where)
    for declared_adversary in declared:
        # Who knows every column is the one whom every audit asks about, where the secret is the target.
        if declared_adversary.name in (KNOWS_ALL, ELSE.name) and (
            is_feature or declared_adversary.knows != ALL
        ):
            problem = (
                f"{declared_adversary.name!r} is the name of an adversary that every audit has; "
                "choose another name"
            )
            raise KnowledgeError(where, f"adversary {problem}")
    if is_feature:
        declared = [ELSE, *declared]
    everyone = tuple(adversary_of(each, columns, secret, target, where) for each in declared)
    rebuilt = _Rebuilt(model_input, model, table, options)
    told = [name for adversary in everyone for name in adversary.knows or ()]
    if not is_feature:
        people = rebuilt.with_columns(people, _adding(rebuilt, people, told, None))
        return people, AdversaryRequest(everyone)
    more, here = (
        _other_values(model, secret),
        "--secret" if where == OPTIONS else f"{where}: secret",
    )
    people = rebuilt.with_columns(people, (secret,))
    hidden = secret_of(people, secret, bins, here, more)
    people = rebuilt.with_columns(people, _adding(rebuilt, people, told, hidden))
    return people, AdversaryRequest(everyone, secret_of(people, secret, bins, here, more))


def _no_bins(model: Model, target: str) -> str:
    """Return why no bins part what the model predicts."""
    if model.task is Task.REGRESSION:
        return f"bins are for a secret column, but {target!r} is what the model predicts; remove the bins"
    return f"bins are for numbers, but {target!r} contains categories; remove the bins"


def _other_values(model: Model, name: str) -> tuple[str, ...]:
    """Return the categories that the model names of a column, whoever has them."""
    return next((feature.values for feature in model.features if feature.name == name), ())


@dataclass(frozen=True, slots=True)
class _Rebuilt:
    """What people are built from, to build them once more with further columns."""

    model_input: ModelInput
    model: Model
    table: Table
    options: AuditOptions

    def with_columns(self, people: Population, names: Sequence[str]) -> Population:
        """Return the people told apart by further columns too."""
        new = tuple(name for name in dict.fromkeys(names) if name not in people.qi)
        if not new:
            return people
        options = replace(self.options, qi=(*people.qi, *new))
        return people_of(self.model_input, self.model, self.table, options)


def _adding(
    rebuilt: _Rebuilt, people: Population, known_columns: Sequence[str], secret: Secret | None
) -> tuple[str, ...]:
    """Return those known columns that are no quasi-identifiers and say more than nothing.

    The model has them, so that splits on them may have been compared; or they give a column away that it has, the
    target or the secret, one-hot columns of one attribute together.
    """
    new = tuple(name for name in dict.fromkeys(known_columns) if name not in people.qi)
    if not new:
        return ()
    wide = rebuilt.with_columns(people, new)
    adding = {feature.name for feature in rebuilt.model.features}
    tested = {each.name for tree in trees_of(rebuilt.model) for each in tree.used_features()}
    adding |= set(outcome_columns(tested, wide, new))
    columns = Codes(wide, distinguished_values(list(trees_of(rebuilt.model)), wide.columns))
    if secret is not None:
        adding |= set(implying_columns(columns, secret, new))
    never = new if secret is None else (*new, secret.name)
    return tuple(
        name for name in new if name in adding or attribute_closure(columns, [name], never).said
    )


def _columns(table: Table, model: Model, people: Population, target: str) -> tuple[str, ...]:
    """Return the columns that there are: by the names that the model has for them, where it has one.

    A column spelled like one of these stands for it only where the table has none of that very name.
    """
    left_out = (feature.name for feature in model.features if has_column(table, feature.name))
    own = tuple(dict.fromkeys(name for name in (*people.qi, *left_out, target) if name))
    elsewhere = [name for name in own if name not in table.columns]
    others = (
        name
        for name in table.columns
        if name not in own and not any(are_alike(name, each) for each in elsewhere)
    )
    return (*own, *others)
