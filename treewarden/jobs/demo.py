"""The whole way on real data, told line by line: publish, audit, fail, repair, audit again, report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.tree import DecisionTreeClassifier
from statsmodels.datasets import fair

from treewarden.audit.ipopt.backends import doors
from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock, audit_file
from treewarden.jobs.repairing import repair_file
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import Finding
from treewarden.reports.document.words import percent
from treewarden.reports.renderers import renderer
from treewarden.terminal.outputs import write_files
from treewarden.terminal.progress import ProgressPrinter
from treewarden.terminal.summary import summary_lines

# The demonstration's data: a survey of marriages that statsmodels ships, and a tree grown on it.

SENSITIVE = "affair"
FEATURES = {
    "rate_marriage": "rating",
    "age": "age",
    "yrs_married": "years_married",
    "children": "children",
    "religious": "religious",
    "educ": "education",
    "occupation": "occupation",
    "occupation_husb": "occupation_husband",
}


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey as its owner holds it: the table as CSV, and the tree trained on it."""

    records: int
    share_yes: float
    csv: bytes
    tree: Tree
    accuracy: float


def survey() -> Survey:
    """Return Fair's survey of 6,366 married women (1978), and a tree that guesses who had an affair."""
    frame = fair.load_pandas().data
    columns = {ours: frame[theirs].to_numpy(float) for theirs, ours in FEATURES.items()}
    answers = np.where(frame["affairs"].to_numpy(float) > 0, "yes", "no")
    inputs = np.column_stack(list(columns.values()))
    fitted = DecisionTreeClassifier(criterion="entropy", max_depth=6, random_state=0)
    fitted.fit(inputs, answers)
    tree = from_sklearn(
        fitted, feature_names=tuple(columns), class_names=tuple(fitted.classes_), target=SENSITIVE
    )
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table({**columns, SENSITIVE: answers}), sink)
    return Survey(
        records=len(answers),
        share_yes=float(np.mean(answers == "yes")),
        csv=sink.getvalue().to_pybytes(),
        tree=tree,
        accuracy=float(fitted.score(inputs, answers)),
    )


POLICY = "strict"
WIDTH = 100


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """The files of the demonstration, all in one folder."""

    folder: Path

    @property
    def table(self) -> Path:
        """The survey."""
        return self.folder / "survey.csv"

    @property
    def model(self) -> Path:
        """The tree as it would be published."""
        return self.folder / "tree.pmml"

    @property
    def repaired(self) -> Path:
        """The tree that may be published."""
        return self.folder / "tree-repaired.pmml"

    def report(self, name: str) -> Path:
        """The report of a command."""
        return self.folder / f"{name}.html"


def story(stage: DemoFiles, progress: ProgressPrinter) -> Iterator[str]:
    """Do each step, and yield the lines that tell it."""
    with progress.step("reading the survey and training a tree"):
        data = survey()
        pmml = writers()["pmml"].write(data.tree)
        write_files({stage.table: data.csv, stage.model: pmml})
    yield from _opening(data, stage)

    clock = CommandClock()
    request = Request(stage.model, stage.table, AuditOptions(SENSITIVE), policy=POLICY)
    done = audit_file(request, progress.step)
    with progress.step("reporting"):
        provenance = clock.provenance(request, done.subject.pack)
        document = audit_document(done.audit, done.decision, provenance)
        write_files({stage.report("audit"): renderer("html").render(document)})
    yield from _audit(document)

    fixed = repair_file(done.subject, stage.repaired.name, step=progress.step)
    fixed = fixed.with_levels(done.subject, progress.step)
    with progress.step("reporting"):
        provenance = clock.provenance(request, done.subject.pack)
        mended = repair_document(fixed.repair, provenance)
        files = {stage.report("repair"): renderer("html").render(mended)}
        write_files(files | ({stage.repaired: fixed.file} if fixed.file else {}))
    yield from _repair(mended, stage)
    yield from _closing(document, mended, stage)


def _opening(data: Survey, stage: DemoFiles) -> Iterator[str]:
    known = ", ".join(feature.name.replace("_", " ") for feature in data.tree.features)
    yield "1. The data"
    yield f"   {data.records:,} married women answered a magazine's survey (R. Fair, 1978; statsmodels ships it)."
    yield f"   {percent(data.share_yes)} of them reported an affair. Columns that others may know:"
    yield f"   {known}."
    yield "2. The tree"
    leaves, right = len(data.tree.leaves), percent(data.accuracy)
    yield f"   scikit-learn trains a tree with {leaves} leaves. It predicts {right} of the answers correctly."
    yield f"   The file to publish: {stage.model}"


def _audit(document: Document) -> Iterator[str]:
    yield f"3. The audit, under the policy “{document.policy.title}”"
    for line in summary_lines(document, (), SENSITIVE):
        yield f"   {line}".rstrip()
    broken = [each for each in document.findings if each.verdict != "PASS"]
    if broken and broken[0].where:
        yield from _wrapped(_instance(document, broken[0]))
    yield from _wrapped(_solvers(document))


def _instance(document: Document, finding: Finding) -> str:
    """Tell of one of the worst places; of one where the file says yes, if there is any."""
    worst = [place for place in finding.where if place.value == finding.where[0].value]
    place = next((each for each in worst if document.tree[each.index].label == "yes"), worst[0])
    says = document.tree[place.index].label
    return f"Example: line {place.line} of the file, {place.value.text}: {place.path}. It predicts: {says}."


def _repair(document: Document, stage: DemoFiles) -> Iterator[str]:
    yield "4. The repair"
    if document.repair is None:
        return
    yield from _wrapped(document.repair.message)
    if document.repair.is_found:
        yield f"   Audited again: {document.verdict}. The repaired file: {stage.repaired}"


def _closing(before: Document, after: Document, stage: DemoFiles) -> Iterator[str]:
    yield ""
    yield from _table(before, after)
    yield ""
    yield f"Reports: {stage.report('audit')}"
    yield f"         {stage.report('repair')}"


def _table(before: Document, after: Document) -> Iterator[str]:
    """Yield the lines of before and after: verdict, cost, and each demand of the policy."""
    rows = [
        ("", "before", "after", "required"),
        ("verdict", before.verdict, after.verdict, ""),
        ("leaves", str(before.model.leaves), str(after.model.leaves), ""),
    ]
    for tried in after.repair.attempts if after.repair else ():
        if tried.is_recommended:
            right = (tried.accuracy_before.text, tried.accuracy_after.text)
            rows.append(("training accuracy", *right, ""))
            rows.append(("predictions changed", "", tried.predictions_changed_text, ""))
    for was, now in zip(before.findings, after.findings, strict=False):
        limit = now.limit_text + (" (advisory)" if now.severity == "warning" else "")
        rows.append((now.clause, was.value.text, now.value.text, limit))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, first, second, limit in rows:
        said = f"{name:{widths[0]}}  {first:>{widths[1]}}  {second:>{widths[2]}}  {limit}"
        yield said.rstrip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="   ", subsequent_indent="     ")


def _solvers(document: Document) -> str:
    """Say which solver doors work here and which was left out, and how the estimate was found."""
    probes = {name: door.probe() for name, door in doors().items()}
    works = ", ".join(probe.version for probe in probes.values() if probe.works) or "none"
    absent = ", ".join(name for name, probe in probes.items() if not probe.works)
    left_out = f", without {absent} (details: treewarden doctor)" if absent else ""
    assert document.solver is not None
    status = document.solver.status
    found = "It found the optimum" if status == "optimal" else f"Status: {status}"
    return f"Solver: {works}{left_out}. {found}."
