"""The people of an audit, and the adversaries who know only some of their columns, from a table and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from audit.adversaries import Asked
from audit.adversary.declared import Declared, SecretColumn, words_of
from audit.adversary.knowledge import Knowledge
from audit.adversary.presets import ALL, PRESETS
from audit.options import AuditOptions
from audit.partial.dependencies import Codes, closed
from audit.partial.domains import told_apart
from audit.partial.outcome import outcome_tellers
from audit.partial.secret import Secret, secret_of, tellers
from audit.partial.who import adversary_of, check_names, found_column
from audit.people.population import Population, build_population
from audit.people.said import said_of
from audit.result import KNOWS_ALL
from ppdm_models.errors import KnowledgeError, TableError
from ppdm_models.files.load import OpenedFile
from ppdm_models.records.matching import are_alike, has_column
from ppdm_models.records.table import Table
from ppdm_models.tree.ensemble import Model, trees_of
from ppdm_models.tree.tree import Task, Tree
from treewarden.jobs.inputs import ModelInput

ELSE = Declared(name="who knows all else", knows=ALL, target=True)
"""The adversary of whom every audit asks where the secret is no target: the others are held beside him."""


def people_and_adversaries(
    given: ModelInput,
    model: Model,
    table: Table,
    options: AuditOptions,
    knowledge: Knowledge,
    where: str,
) -> tuple[Population, Asked]:
    """Return the people of a table, and whom the audit asks about beside the one who knows all.

    ``where`` is what says what the adversaries know. A column that no test asks about is a quasi-identifier too where
    it is the secret, or where an adversary knows it and it gives a tested one away.

    Raises:
        KnowledgeError: an adversary knows what is not there, or the secret; the secret is not there, has no bins, or
            has some that part nothing.
        TableError: the table is not the model's.
    """
    people = people_of(given, model, table, options)
    declared, wanted = list(knowledge.adversaries), knowledge.secret
    if not declared and wanted is None:
        if options.target_known:
            raise KnowledgeError(where, "--target-known needs another --secret than the target")
        return people, Asked()
    target = options.sensitive or model.target
    columns = _columns(table, model, people, target)
    secret = target if wanted is None else found_column(wanted.column, columns, f"{where}: secret")
    is_feature = secret != target
    bins = wanted.bins if wanted is not None and wanted.bins else None
    if bins is not None and not is_feature:
        raise KnowledgeError(f"{where}: secret", _no_bins(model, secret))
    check_names(declared, where)
    for each in declared:
        # Who knows every column is the one whom every audit asks about, where the secret is the target.
        if each.name in (KNOWS_ALL, ELSE.name) and (is_feature or each.knows != ALL):
            problem = (
                f"{each.name!r} is what every audit calls somebody of its own; call yours otherwise"
            )
            raise KnowledgeError(where, f"adversary {problem}")
    if is_feature:
        declared = [ELSE, *declared]
    everyone = tuple(adversary_of(each, columns, secret, target, where) for each in declared)
    rebuilt = _Rebuilt(given, model, table, options)
    told = [name for each in everyone for name in each.knows or ()]
    if not is_feature:
        people = rebuilt.with_columns(people, _adding(rebuilt, people, told, None))
        return people, Asked(everyone)
    if not isinstance(model, Tree):
        problem = (
            f"secret {secret!r} is a feature, which is asked of single trees only; leave it out"
        )
        raise KnowledgeError(where, problem)
    more, here = _other_values(model, secret), f"{where}: secret"
    people = rebuilt.with_columns(people, (secret,))
    hidden = secret_of(people, secret, bins, here, more)
    people = rebuilt.with_columns(people, _adding(rebuilt, people, told, hidden))
    return people, Asked(everyone, secret_of(people, secret, bins, here, more))


def _no_bins(model: Model, target: str) -> str:
    """Return why no bins part what the model predicts."""
    if model.task is Task.REGRESSION:
        return f"bins part another column than {target!r}, which the model predicts; leave them out"
    return f"bins part numbers, and {target!r} holds categories; leave them out"


def _other_values(model: Model, name: str) -> tuple[str, ...]:
    """Return the categories that the model names of a column, whoever has them."""
    return next((each.values for each in model.features if each.name == name), ())


@dataclass(frozen=True, slots=True)
class _Rebuilt:
    """What people are built from, to build them once more with further columns."""

    given: ModelInput
    model: Model
    table: Table
    options: AuditOptions

    def with_columns(self, people: Population, names: Sequence[str]) -> Population:
        """Return the people told apart by further columns too."""
        new = tuple(name for name in dict.fromkeys(names) if name not in people.qi)
        if not new:
            return people
        options = replace(self.options, qi=(*people.qi, *new))
        return people_of(self.given, self.model, self.table, options)


def _adding(
    rebuilt: _Rebuilt, people: Population, told: Sequence[str], secret: Secret | None
) -> tuple[str, ...]:
    """Return those known columns that are no quasi-identifiers and say more than nothing.

    The model has them, so that splits on them may have been compared; or they give a column away that it has, the
    target or the secret, one-hot columns of one attribute together.
    """
    new = tuple(name for name in dict.fromkeys(told) if name not in people.qi)
    if not new:
        return ()
    wide = rebuilt.with_columns(people, new)
    adding = {feature.name for feature in rebuilt.model.features}
    tested = {each.name for tree in trees_of(rebuilt.model) for each in tree.used_features()}
    adding |= set(outcome_tellers(tested, wide, new))
    columns = Codes(wide, told_apart(list(trees_of(rebuilt.model)), wide.columns))
    if secret is not None:
        adding |= set(tellers(columns, secret, new))
    never = new if secret is None else (*new, secret.name)
    return tuple(name for name in new if name in adding or closed(columns, [name], never).said)


def _columns(table: Table, model: Model, people: Population, target: str) -> tuple[str, ...]:
    """Return the columns that there are: by the names that the model has for them, where it has one."""
    left_out = (each.name for each in model.features if has_column(table, each.name))
    own = tuple(dict.fromkeys(name for name in (*people.qi, *left_out, target) if name))
    others = (name for name in table.columns if not any(are_alike(name, each) for each in own))
    return (*own, *others)


def with_options(knowledge: Knowledge, options: AuditOptions) -> Knowledge:
    """Return the knowledge with the adversary and the secret that options declare, if they do.

    Raises:
        KnowledgeError: an end of the bins is no number.
    """
    everyone = (*_by_option(options), *knowledge.adversaries)
    secret = _wanted(options, knowledge)
    return knowledge.model_copy(update={"adversaries": everyone, "secret": secret})


def _by_option(options: AuditOptions) -> list[Declared]:
    """Return the adversary that options declare, if they do."""
    if options.knows is None:
        return []
    word = options.knows[0]
    if len(options.knows) == 1 and (word == ALL or word in PRESETS):
        return [Declared(name=word, knows=word, target=options.target_known)]
    name = f"who knows {words_of(options.knows)}"
    return [Declared(name=name, knows=options.knows, target=options.target_known)]


def _wanted(options: AuditOptions, knowledge: Knowledge) -> SecretColumn | None:
    if options.secret is None:
        return knowledge.secret
    try:
        return SecretColumn(column=options.secret, bins=tuple(map(float, options.bins or ())))
    except ValueError as error:
        problem = "an end is no number; give the ends that part the secret's numbers"
        raise KnowledgeError("bins", problem) from error


def people_of(given: ModelInput, model: Model, table: Table, options: AuditOptions) -> Population:
    """Return the people of a table as a model sees them.

    Raises:
        TableError: the table is not the model's.
    """
    named = options.sensitive
    if isinstance(given, OpenedFile) and named and not has_column(table, named):
        # No file names the target here, so that a slip in its name would go unseen.
        raise TableError(table.source, table.lacks(named))
    try:
        return build_population(
            model,
            table,
            sensitive=options.sensitive,
            qi=options.qi,
            weights=options.weights,
            sampling_weights=options.sampling_weights,
        )
    except TableError as error:
        raise _with_notes(error, model) from error


def nobody(model: Model, options: AuditOptions) -> Population:
    """Return the people where there is no table: the leaves, as far as the file tells.

    Raises:
        TableError: the options name columns of a table.
    """
    for name in ("qi", "weights", "sampling_weights", "knows", "secret"):
        if getattr(options, name) is not None:
            problem = f"--{name.replace('_', '-')} names columns of a table, and none is given; leave it out"
            raise TableError(model.source, problem)
    named = options.sensitive
    if named is not None and model.target and named != model.target:
        problem = f"the sensitive column {named!r} is not the tree's target {model.target!r}; name that, or none"
        raise TableError(model.source, problem)
    return said_of(model, named).population


def _with_notes(error: TableError, tree: Model) -> TableError:
    """Return the error with what was remarkable about the tree, as that may be why the table does not fit it."""
    return TableError(error.where, error.problem, tree.notes)
