"""The result of an audit in Python: the verdict first, findings and readings as tables, and reports in any form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from treewarden.api.frames import (
    Card,
    assumed_facts,
    cases,
    findings_frame,
    readings_frame,
    reasons,
)
from treewarden.api.leaf_views import changes_frame, draw_leaves, leaves_frame
from treewarden.api.requests import (
    ArgumentError,
    FailedError,
    UndeterminedError,
    UnknownArgumentError,
)
from treewarden.audit.exposures import with_levels
from treewarden.audit.options import AuditOptions
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.people_rows import RebuiltPeople
from treewarden.audit.result import Audit
from treewarden.jobs.audit_request import FILE_SPECS, FLAG, GOING_ON
from treewarden.jobs.inputs import known_as
from treewarden.jobs.posterior import audit_table
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.errors import OutputError, TreewardenError
from treewarden.ppdm_models.files.convert import MODELS, SUFFIXES, converted
from treewarden.ppdm_models.formats import ESTIMATOR
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.redacted import redacted
from treewarden.reports.document.document import Document, Provenance, summary_of
from treewarden.reports.document.parts import Part
from treewarden.reports.document.words import printable
from treewarden.reports.renderers import names, rendered, renderer
from treewarden.terminal.outputs import check_file, check_no_input, write_files

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from treewarden.api.requests import AnyPath


class Verdict(StrEnum):
    """PASS, FAIL, or UNDETERMINED: nothing fails but something could not be decided, which is never a pass."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNDETERMINED = "UNDETERMINED"


class Result:
    """An audit and its verdict. A notebook shows it as a card with the full report.

    What each kind of published information adds is worked out when a report is first asked for.
    """

    def __init__(
        self,
        audit: Audit,
        decision: Decision,
        provenance: Provenance,
        options: AuditOptions,
        inputs: Iterable[Path] = (),
    ) -> None:
        self._audit = audit
        self._decision = decision
        self._provenance = provenance
        self._options = options
        self._inputs = tuple(inputs)

    @property
    def verdict(self) -> Verdict:
        """PASS, FAIL or UNDETERMINED."""
        return Verdict[self._decision.verdict.name]

    @property
    def passed(self) -> bool:
        """Whether the verdict is PASS. False also if a required check could not be decided."""
        return self.verdict is Verdict.PASS

    @cached_property
    def findings(self) -> pd.DataFrame:
        """One row per check of the policy: verdict, value and limit."""
        return findings_frame(self._brief.findings)

    @cached_property
    def readings(self) -> pd.DataFrame:
        """One row per metric: its value, from ``low`` to ``high``."""
        return readings_frame(self._brief.readings)

    @cached_property
    def leaves(self) -> pd.DataFrame:
        """The leaves that people stop in, one row each; none where the model has no leaves to count.

        Columns: ``tree`` (from 0), ``node``, ``path``, ``records``, ``prediction``, the ``commonest`` true value and
        its ``share``, and the clauses that the leaf or a group in it ``fails`` or leaves ``undecided``.
        """
        return leaves_frame(self._audit.full.evidence, self._decision)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the leaves by how many people are in them and how alike they are, into ``ax`` or a new picture."""
        return draw_leaves(self.leaves, ax)

    def compare(self, result: Result) -> pd.DataFrame:
        """Return one row per check of this audit or another: verdict, value and limit in both, and the change.

        Raises:
            ArgumentError: it is no result of an audit.
        """
        if not isinstance(result, Result):
            raise ArgumentError(
                "result", f"give the result of another audit, not {type(result).__name__}"
            )
        return changes_frame(self._brief.findings, result._brief.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the audit as a whole."""
        return self._brief.warnings

    @property
    def reconstruction(self) -> RebuiltPeople:
        """Whose whole records the file proves by itself, and how many tables fit it.

        Raises:
            UndeterminedError: that was not worked out; the message says why.
        """
        found = self._audit.full.evidence.rebuilt
        if isinstance(found, Undetermined):
            raise UndeterminedError(self._brief.model.file, found.reason)
        return found

    def posterior(self) -> pd.DataFrame:
        """Return the inferred probabilities: one row per group and class.

        Columns: the quasi-identifiers, ``records``, ``class``, ``probability``, ``low``, ``high``, ``decided``,
        ``certain`` and ``proved_value``; first of all ``adversary``, where some were asked about who know some columns
        only. Of a model of numbers: the quasi-identifiers, and between which ends each person's lies.

        ``low`` and ``high`` are the ends of the inferred probability, not of what is proved; ``decided`` says that it
        was found. What is proved is about the whole group, so that all its rows say the same: ``certain`` is true if
        everybody in it has ``proved_value``, false if another table shows that somebody need not, and missing if
        neither was found. Who is missing counts as proved.

        Raises:
            UndeterminedError: there is no estimate.
        """
        found = audit_table(self._audit)
        if isinstance(found, Undetermined):
            raise UndeterminedError(self._brief.model.file, found.reason)
        return found.to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report as plain values, every list written out (``treewarden-report/1``)."""
        return self._document.model_dump(mode="json", by_alias=True)

    def to_json(self) -> str:
        """Return the JSON report as text."""
        return renderer("json").render(self._document).decode("utf-8")

    def save(self, path: AnyPath, *, redacted: bool = False, form: str | None = None) -> Path:
        """Write the report in the form that the suffix says (``.html``, ``.json``, ``.sarif``): whole, or not at all.

        ``form`` names the form whatever the suffix is: ``"junit"``. With ``redacted`` it has no profile, no true value
        and no count of few people, and may be shown to others.

        Raises:
            OutputError: there is no such form, the suffix stands for none or several, or the file cannot be written or
                is one that was read.
        """
        return save_report(self._document, path, self._inputs, is_redacted=redacted, form=form)

    def save_model(self, path: AnyPath) -> Path:
        """Write the trees that were audited alone, as PMML (``.pmml``) or our own JSON (``.json``).

        That is how a fitted estimator becomes a file; audit it, as the verdict here is about the estimator.

        Raises:
            OutputError: the suffix stands for no format, the format cannot say something that the trees hold, or the
                file cannot be written or is one that was read.
        """
        return save_trees(self._audit.full.evidence.model, path, self._inputs)

    def raise_for_verdict(self) -> None:
        """Raise an error if the model does not pass.

        Raises:
            FailedError: a clause of the policy does not hold.
            UndeterminedError: nothing fails, but a clause could not be decided.
        """
        if self.passed:
            return
        kind = FailedError if self.verdict is Verdict.FAIL else UndeterminedError
        said = [self._brief.headline, *reasons(self._brief)]
        raise kind(self._brief.model.file, " ".join(said))

    def __repr__(self) -> str:
        brief = self._brief
        said = printable(f"{brief.model.file}, {brief.headline} {summary_of(brief)}")
        return f"<Result {self.verdict}: {said}>"

    def _repr_html_(self) -> str:
        brief = self._brief
        return Card(
            verdict=str(self.verdict),
            title=f"{brief.title}, policy “{brief.policy.title}”",
            headline=brief.headline,
            reasons=reasons(brief),
            cases=cases(brief.findings),
            facts=[
                *(("Note", note) for note in brief.model.notes if brief.model.format == ESTIMATOR),
                *(("Warning", each) for each in brief.warnings[:1]),
                *assumed_facts(brief),
            ],
            report=renderer("html").render(self._document).decode("utf-8"),
        ).html()

    @cached_property
    def _brief(self) -> Document:
        """The report without what each kind of published information adds."""
        return in_python(audit_document(self._audit, self._decision, self._provenance))

    @cached_property
    def _document(self) -> Document:
        """The report in full."""
        if not self._options.levels:
            return self._brief
        audit, brief = with_levels(self._audit, self._options), self._brief
        assumed = brief.assumed_known
        return in_python(audit_document(audit, self._decision, self._provenance, assumed=assumed))


def save_report(
    document: Document,
    path: str | os.PathLike[str],
    inputs: Iterable[Path] = (),
    *,
    is_redacted: bool = False,
    form: str | None = None,
) -> Path:
    """Write a report in a form, else in the one that the suffix says, and return where.

    Raises:
        OutputError: there is no such form, or the suffix stands for none or several, the file cannot be written or is
            one that was read; or the table holds too few people for a redacted report.
    """
    file, inputs = Path(path), tuple(inputs)
    made = renderer(form_of(file) if form is None else form)
    made.check()
    shown = redacted(document) if is_redacted else document
    models = [each for each in inputs if each.name == document.model.file]
    known = known_as(models[0]) if models else ""
    return save_bytes(rendered(made, shown, known), file, inputs)


def form_of(file: Path) -> str:
    """Return the form that a file's suffix stands for: of several that fit the longest, then the one of that name.

    Raises:
        OutputError: it stands for none, or for several.
    """
    suffixes = {name: renderer(name).suffix for name in names()}
    name = file.name.lower()
    fitting = {form: said for form, said in suffixes.items() if name.endswith(f".{said}")}
    longest = max(map(len, fitting.values()), default=0)
    forms = [form for form, said in fitting.items() if len(said) == longest]
    if not forms:
        known = ", ".join(f".{said}" for said in dict.fromkeys(suffixes.values()))
        raise OutputError(str(file), f"the suffix is not that of a report format; use {known}")
    named = [form for form in forms if form == suffixes[form]] or forms
    if len(named) > 1:
        problem = f"the suffix fits {', '.join(named)}; choose one with form="
        raise OutputError(str(file), problem)
    return named[0]


def save_trees(model: Model, path: str | os.PathLike[str], inputs: Iterable[Path] = ()) -> Path:
    """Write the trees of a model alone, in the format that the suffix says, and return where.

    Raises:
        OutputError: the suffix stands for no format, the format cannot say something that the trees hold, or the file
            cannot be written or is one that was read.
    """
    file = Path(path)
    forms = {suffix: form for suffix, form in SUFFIXES.items() if form in MODELS}
    form = forms.get(file.suffix.lower())
    if form is None:
        problem = f"the suffix is not that of a model format; use {', '.join(forms)}"
        raise OutputError(str(file), problem)
    return save_bytes(converted(model, form), file, inputs)


def save_bytes(data: bytes, path: str | os.PathLike[str], inputs: Iterable[Path] = ()) -> Path:
    """Write a file, and return where.

    Raises:
        OutputError: it cannot be written or is one that was read.
    """
    file = Path(path)
    check_file(file)
    check_no_input([file], inputs)
    write_files({file: data})
    return file


P = ParamSpec("P")
T = TypeVar("T")
OTHERS = {
    "no-table": "data=None",
    "no-worlds": "worlds=False",
    "out": "save(...)",
    "format": "save(...)",
}
"""Flags that no argument is called after."""
ARGUMENTS = {
    "bound": "bounds",
    **{spec.flag: spec.argument for spec in FILE_SPECS.values() if spec.argument},
}
"""Arguments that are called otherwise than their flags."""


COMMAND = re.compile(r"(“treewarden [^”]*”)")
REPAIR_FILES = re.compile(r"Run “treewarden repair(?: --to (\w+))?” with the same files")
SENTENCES = frozenset(
    {"next_steps", "warnings", "message", "reason", "why", "summary", "note", "detail", "text"}
)
"""Fields of a report that hold sentences of the product."""
TABLES = frozenset({"tree", "leaves", "plots", "provenance", "population"})
"""Fields of a report that hold what files and tables say."""


def with_keywords(text: str) -> str:
    """Return a message with arguments in place of flags: ``--sensitive flu`` is ``sensitive="flu"``.

    Commands in quotes stay as they are typed; a repair is a call.
    """
    text = REPAIR_FILES.sub(_repair_call, text)
    if "--" not in text:
        return text
    parts = COMMAND.split(text)
    parts[::2] = [FLAG.sub(_keyword, part) for part in parts[::2]]
    return "".join(parts)


def _repair_call(command: re.Match[str]) -> str:
    target = "" if command[1] is None else f' and to="{command[1]}"'
    return f"Call treewarden.repair with the same arguments{target}"


def in_python(part: T, *, is_sentence: bool = False) -> T:
    """Return a report, or a part of one, whose sentences name arguments in place of flags."""
    changed: Any = part
    if isinstance(part, str):
        changed = with_keywords(part) if is_sentence else part
    elif isinstance(part, tuple):
        items = tuple(in_python(item, is_sentence=is_sentence) for item in part)
        is_same = all(new is item for new, item in zip(items, part, strict=True))
        changed = part if is_same else items
    elif isinstance(part, dict):
        changed = {key: in_python(item) for key, item in part.items()}
    elif isinstance(part, Part):
        new = {
            name: in_python(value, is_sentence=name in SENTENCES)
            for name, value in part
            if name not in TABLES
        }
        update = {name: value for name, value in new.items() if value is not getattr(part, name)}
        changed = part.model_copy(update=update) if update else part
    return changed  # type: ignore[no-any-return]


def _keyword(flag: re.Match[str]) -> str:
    name, value = flag[1], flag[2]
    if name in OTHERS:
        return OTHERS[name] + ("" if value is None else f" {value}")
    argument = ARGUMENTS.get(name, name.replace("-", "_"))
    if value is None or value in GOING_ON:
        return f"{argument}=" + ("" if value is None else f" {value}")
    if value.isupper():
        return f"{argument}={value}"
    number = re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{argument}={value}" if number else f'{argument}="{value}"'


def naming_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Let the errors that a function raises name arguments."""

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except UnknownArgumentError as error:
            raise error.of_function(function) from None
        except TreewardenError as error:
            if error.where.startswith("--"):
                error.where = with_keywords(error.where).removesuffix("=")
            error.problem = with_keywords(error.problem)
            error.notes = tuple(map(with_keywords, error.notes))
            error.args = (error.where, error.problem)
            raise

    return called
