"""The arguments of a call in Python: the same request that the command line would make of them, errors, and who hears.

What takes long is told to nobody, to standard error as on the command line, or to a function of the caller.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypedDict

from treewarden.audit.knowledge.knowledge import Knowledge, knowledge_of
from treewarden.audit.option_spec import Content
from treewarden.audit.options import KNOWLEDGE, OPTION_SPECS, AuditOptions, find_conflict
from treewarden.audit.progress import Step, silent
from treewarden.jobs.audit_request import (
    FILE_SPECS,
    JUDGMENT_SPECS,
    AuditFiles,
    Earlier,
    FileForm,
    JudgmentForm,
    Request,
)
from treewarden.jobs.inputs import (
    ModelBytes,
    ModelInput,
    OutputBytes,
    OutputInput,
    TableInput,
    read,
    table_input,
    table_name,
)
from treewarden.policies.pack import Pack, pack_of
from treewarden.policies.verdict import SEVERITIES
from treewarden.ppdm_models.errors import TableError, TreewardenError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.counting.addresses import TableAddress, has_no_records
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.frames import column_names, table_of_frame, table_of_pair
from treewarden.ppdm_models.tables.matching import has_column
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table
from treewarden.terminal.progress import ProgressPrinter

# The errors that only Python meets, of the one family that the command line tells of.


class ArgumentError(TreewardenError, ValueError):
    """An argument is not what is needed, or does not go with another."""


class VerdictError(TreewardenError):
    """The policy does not pass: what ``raise_for_verdict`` raises."""


class UnknownArgumentError(ArgumentError):
    """A keyword argument that a function does not have; ``arguments`` are those that it was looked for in."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        near = get_close_matches(name, arguments, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; use {', '.join(arguments)}"
        super().__init__(name, f"is not an argument{hint}")
        self.known = tuple(arguments)

    def of_function(self, function: Callable[..., Any]) -> UnknownArgumentError:
        """Return the same for a function that has arguments of its own before those that were looked through."""
        parameters = signature(function).parameters.values()
        own = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
        return UnknownArgumentError(self.where, list(dict.fromkeys((*own, *self.known))))


class FailedError(VerdictError):
    """A clause of the policy does not hold."""


class UndeterminedError(VerdictError):
    """Something could not be decided, which is never a pass."""


Listener = bool | Callable[[str], object] | None


def step_of(progress: Listener) -> Step:
    """Return what tells each step to whoever listens; what a function raises ends the run.

    Raises:
        ArgumentError: it is no listener.
    """
    if progress is None or progress is False:
        return silent
    if progress is True:
        return ProgressPrinter().step
    if not callable(progress):
        problem = f"give True or a function that takes one text, not {type(progress).__name__}"
        raise ArgumentError("progress", problem)
    tell = progress

    @contextmanager
    def step(doing: str) -> Iterator[None]:
        tell(doing)
        yield

    return step


def say_of(progress: Listener) -> Callable[[str], None]:
    """Return what tells what is no step, such as what came of one of many changes."""
    if progress is None or progress is False:
        return _nothing
    if progress is True:
        return ProgressPrinter().say
    tell = progress

    def say(text: str) -> None:
        tell(text)

    return say


def _nothing(text: str) -> None:
    """Tell nobody."""


AnyPath = str | os.PathLike[str]
PolicyLike = AnyPath | Mapping[str, object] | Pack
KnowledgeLike = AnyPath | Mapping[str, object] | Knowledge


class Options(TypedDict, total=False):
    """What else an audit can be asked; each is the flag of the same name of ``treewarden audit``."""

    weights: str | None
    sampling_weights: str | None
    columns: Mapping[str, str] | None
    claims: str | None
    knows: str | Iterable[str] | None
    adversary: AnyPath | Iterable[AnyPath] | None
    dictionary: AnyPath | None
    population: object
    beside: AnyPath | Iterable[object] | None
    domain: AnyPath | None
    secret: str | None
    bins: Iterable[float] | None
    target_known: bool
    leaf: Literal["labels", "rates", "counts", "as-published"]
    split: Literal["none", "gini", "entropy", "gain-ratio", "as-published"]
    learner: str | None
    marginal: bool
    accuracy: bool
    row_order: Literal["known", "unknown"]
    strict_labels: bool
    min_leaf: int | None
    time_limit: float | None
    rows: Literal["integer", "real"]
    worlds: bool
    worlds_all: bool
    strict_ties: bool
    levels: bool
    blame: bool
    same_everywhere: bool
    smallest_reasons: bool
    withholding_costs: str | None
    attack: object


def request_of(
    model: object,
    data: object,
    *,
    sensitive: str | None,
    qi: str | Iterable[str] | None,
    judgment: Mapping[str, Any],
    knowledge: KnowledgeLike | None,
    settings: Mapping[str, Any],
    alone: bool = False,
) -> Request:
    """Return what the job functions are asked; ``settings`` are options by name. Only ``alone`` does without data.

    ``judgment`` is what judges it, and what is accepted: ``policy``, ``fail_on`` and so on, by name.

    Raises:
        ArgumentError: an argument cannot be, is not known, or says again what the knowledge says.
        TreewardenError: the data are no table, or the model is no fitted one.
    """
    table, target = (None, sensitive) if data is None and alone else _table(data, sensitive, model)
    settings = dict(settings)
    arguments = {spec.argument for spec in FILE_SPECS.values()}
    files = {name: settings.pop(name) for name in arguments & set(settings)}
    settings |= _lists(settings)
    estimator = settings.get("attack")
    if estimator is not None and not isinstance(estimator, str):
        settings["attack"] = _estimator_words(estimator)
    options = _options({"sensitive": target, "qi": _names(qi), **settings})
    said = [name for name in KNOWLEDGE if name in settings]
    if knowledge is not None and said:
        raise ArgumentError(
            "knowledge", f"already contains these settings; leave out {', '.join(said)}"
        )
    conflict = find_conflict(options)
    if conflict is not None:
        raise ArgumentError(conflict.name, conflict.problem)
    file = model_input(model, table, options)
    return Request(
        file,
        table,
        options,
        _files({**files, "knowledge": knowledge}, model),
        **{name: _judged_by(name, value) for name, value in judgment.items()},
        estimator=None if isinstance(estimator, str) else estimator,
    )


def _judged_by(name: str, value: Any) -> Any:  # noqa: ANN401  # as it is given, and as its field has it
    """Return what judges a request, or is accepted, as a request holds it."""
    form = JUDGMENT_SPECS[name].form
    if form is JudgmentForm.POLICY:
        return _policy(value)
    if form is JudgmentForm.SEVERITY:
        if value not in SEVERITIES:
            problem = f"unknown severity {value!r}; use one of {', '.join(reversed(SEVERITIES))}"
            raise ArgumentError(name, problem)
        return value
    if value is None or isinstance(value, str | os.PathLike):
        return None if value is None else Path(value)
    raise ArgumentError(name, f"give the path of a file, not {type(value).__name__}")


def _estimator_words(estimator: object) -> str:
    """Return what reports call an estimator that attacks train anew.

    Raises:
        ArgumentError: it is none.
    """
    if not all(hasattr(estimator, name) for name in ("fit", "predict_proba", "get_params")):
        raise ArgumentError(
            "attack",
            "give a scikit-learn classifier, or its name as text, for example "
            '"sklearn.tree.DecisionTreeClassifier()"',
        )
    return " ".join(repr(estimator).split())[:200]


def earlier_of(
    models: Sequence[object], request: Request, sensitive: str | None, own_data: object = None
) -> tuple[Earlier, ...]:
    """Return the releases before the model of a request: each a model, or a pair of one and its own table.

    What is handed in twice, or is ``own_data`` that the request's table was made of, is one table.

    Raises:
        ArgumentError: the request has no table.
        TreewardenError: the data are no table, or the model is no fitted one.
    """
    if isinstance(models, str | bytes | os.PathLike | Mapping) or not isinstance(models, Sequence):
        raise ArgumentError(
            "earlier", "give a list of models, or of pairs of a model and its table"
        )
    if request.data is None:
        raise ArgumentError(
            "earlier", "several models can be audited only with their tables; give data"
        )
    earlier_audits = []
    tables: list[tuple[object, TableInput]] = [(own_data, request.data)]
    for each in models:
        model, data = each if isinstance(each, tuple) and len(each) == 2 else (each, None)
        known = (table for one, table in tables if data is None or _is_same(one, data))
        table = next(known, None)
        if table is None:
            table = _table(data, sensitive, model)[0]
            tables.append((data, table))
        earlier_audits.append(Earlier(model_input(model, table, request.options), table))
    return tuple(earlier_audits)


def _is_same(one: object, value: object) -> bool:
    """Return whether data are the same objects in memory: a table, or both parts of a pair (X, y)."""
    if isinstance(one, tuple) and isinstance(value, tuple):
        return len(one) == len(value) and all(map(operator.is_, one, value))
    return one is value


def holdout_table(data: object, request: Request, model: object) -> Table:
    """Return records that a model was not grown on, given as its training table may be.

    Raises:
        TableError: they are no table.
    """
    return read(_table(data, request.options.sensitive, model)[0])


def model_input(
    model: object, table: TableInput | None = None, options: AuditOptions | None = None
) -> ModelInput:
    """Return the model that is meant: a path, the bytes of a file, or else a fitted estimator.

    Raises:
        TreeFormatError: the estimator is not fitted, or not one that is understood.
    """
    if isinstance(model, str | os.PathLike):
        return Path(model)
    if isinstance(model, bytes | bytearray | memoryview):
        return ModelBytes(bytes(model))
    options = options or AuditOptions()
    names: tuple[str, ...] = ()
    if isinstance(table, Path | TableAddress):
        names = tuple(_read_names(table)) if not _knows_names(model) else ()
    elif table is not None:
        names = tuple(table.columns)
    others = (options.sensitive, options.weights, options.sampling_weights)
    inputs = tuple(name for name in names if name not in others)
    return open_fitted(model, target=options.sensitive or "", names=inputs)


def _read_names(table: Path | TableAddress) -> Iterable[str]:
    if isinstance(table, TableAddress) or has_no_records(table):
        return open_source(table).names
    return read_table(table).columns


def _knows_names(estimator: object) -> bool:
    return getattr(estimator, "feature_names_in_", None) is not None


def _table(data: object, sensitive: str | None, model: object) -> tuple[TableInput, str | None]:
    """Return the table, and the sensitive column: y where the data are a pair."""
    if not (sensitive is None or isinstance(sensitive, str)):
        problem = f"give the name of a column, not {type(sensitive).__name__}"
        raise ArgumentError("sensitive", problem)
    if isinstance(data, str | os.PathLike):
        return (table_input(data) if isinstance(data, str) else Path(data)), sensitive
    if isinstance(data, tuple):
        names = getattr(model, "feature_names_in_", None)
        is_named = bool(data) and bool(column_names(data[0]))
        return table_of_pair(data, sensitive, () if names is None or is_named else tuple(names))
    table = data if isinstance(data, Table) else table_of_frame(data)
    if sensitive is not None and not has_column(table, sensitive):
        raise TableError(table_name(table), f"{table.lacks(sensitive)}; correct --sensitive")
    return table, sensitive


def _register(data: object, model: object, argument: str) -> TableInput:
    """Return a table beside the training table, by the name of its argument where it is in memory."""
    table = _table(data, None, model)[0]
    return replace(table, source=argument) if isinstance(table, Table) else table


def _outputs(outputs: object, argument: str) -> tuple[OutputInput, ...]:
    """Return outputs beside the model: paths, or data frames that are published as CSV files.

    Raises:
        ArgumentError: one is neither.
    """
    several = outputs if isinstance(outputs, list | tuple) else [outputs]
    found: list[OutputInput] = []
    for number, each in enumerate(several):
        if isinstance(each, str | os.PathLike):
            found.append(Path(each))
        elif hasattr(each, "to_csv"):
            found.append(
                OutputBytes(each.to_csv(index=False).encode("utf-8"), f"{argument}[{number}]")
            )
        else:
            problem = f"give paths of CSV files, or data frames, not {type(each).__name__}"
            raise ArgumentError(argument, problem)
    return tuple(found)


def _options(arguments: Mapping[str, Any]) -> AuditOptions:
    known = [*OPTION_SPECS, *(spec.argument for spec in FILE_SPECS.values())]
    for name in arguments:
        if name not in known:
            raise UnknownArgumentError(name, known)
    try:
        return AuditOptions(**arguments)
    except ValueError as error:
        name, _, problem = str(error).partition(": ")
        raise ArgumentError(name, problem) from error


def _lists(settings: Mapping[str, Any]) -> dict[str, tuple[str, ...] | None]:
    """Return those of the options that are lists as the command line has them."""
    found: dict[str, tuple[str, ...] | None] = {}
    for name, spec in OPTION_SPECS.items():
        if tuple not in spec.kinds or spec.content is Content.PAIRS or settings.get(name) is None:
            continue
        given = settings[name]
        if spec.content is Content.NUMBERS:
            is_list = isinstance(given, Iterable) and not isinstance(given, str)
            found[name] = tuple(map(str, given)) if is_list else (str(given),)
        else:
            found[name] = _names(given, name)
    return found


def _names(qi: object, argument: str = "qi") -> tuple[str, ...] | None:
    """Return the names of columns; a single text is the name of one."""
    if qi is None:
        return None
    names = (qi,) if isinstance(qi, str) else tuple(qi) if isinstance(qi, Iterable) else (qi,)
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        problem = f"give names of columns, not {type(wrong).__name__}"
        raise ArgumentError(argument, problem)
    if not names:
        raise ArgumentError(argument, "names no column; leave it out")
    return tuple(dict.fromkeys(str(name) for name in names))


def _policy(policy: object) -> str | Pack:
    if isinstance(policy, Pack):
        return policy
    if isinstance(policy, Mapping):
        return pack_of(policy, "policy")
    if isinstance(policy, str | os.PathLike):
        return os.fspath(policy)
    problem = (
        f"give the name of a built-in policy, a path or a mapping, not {type(policy).__name__}"
    )
    raise ArgumentError("policy", problem)


def _files(arguments: Mapping[str, object], model: object) -> AuditFiles:
    """Return the files beside model and table, by the arguments that name them.

    Raises:
        ArgumentError: one is not what is declared.
        TreewardenError: a table is none.
    """
    found: dict[str, Any] = {}
    for name, spec in FILE_SPECS.items():
        value = arguments.get(spec.argument)
        if value is None:
            continue
        if name == "knowledge":
            found[name] = _knowledge(value)
        elif spec.form is FileForm.TABLE:
            found[name] = _register(value, model, spec.argument)
        elif spec.form is FileForm.OUTPUTS:
            found[name] = _outputs(value, spec.argument)
        elif spec.form is FileForm.FILES:
            found[name] = _paths(value, spec.argument)
        elif isinstance(value, str | os.PathLike):
            found[name] = Path(value)
        else:
            problem = f"give the path of {spec.content}, not {type(value).__name__}"
            raise ArgumentError(spec.argument, problem)
    return AuditFiles(**found)


def _paths(files: object, argument: str) -> tuple[Path, ...]:
    """Return one path, or several, as several.

    Raises:
        ArgumentError: what is given is no path, and no list of paths.
    """
    given = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        given = [None]
    paths = list(given)
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        problem = "give a path, or several; the content of such a file can be in knowledge too"
        raise ArgumentError(argument, problem)
    return tuple(map(Path, paths))


def _knowledge(knowledge: object) -> Path | Knowledge:
    if isinstance(knowledge, Knowledge):
        return knowledge
    if isinstance(knowledge, Mapping):
        return knowledge_of(knowledge, "knowledge")
    if isinstance(knowledge, str | os.PathLike):
        return Path(knowledge)
    problem = f"give a path or a mapping, not {type(knowledge).__name__}"
    raise ArgumentError("knowledge", problem)
