"""How many records a file proves by itself, and which changes of the training stop that.

    python -m benchmarks.studies.reconstruction DATA [--draft FOLDER] [--out docs/engineering/studies] [--seeds 5]

DATA has compas.csv, adult.csv and default_credit.csv of the DRAFT study (Ferry et al., ICML 2024, github.com/vidalt/
DRAFT, folder data): columns of 0 and 1, the last one the class. With ``--draft``, the folder of that study's published
code, it is run on the same forests. Writes reconstruction.md. Needs scikit-learn, and XGBoost for its rows. Every proof
is held against the sample: a wrong one ends the run.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import RandomForestClassifier

from benchmarks.machine import machine
from benchmarks.reconstruction import hold_against, model_of_forest
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import Ensemble

SECONDS = 20.0
FEWEST_INDICATORS = 3
DRAFT_SECONDS = 60
TITLES = {"compas": "COMPAS", "adult": "Adult", "default_credit": "Default credit"}
Settings = dict[str, Any]
FORESTS: tuple[tuple[str, Settings], ...] = (
    ("forest of 100 trees, all records", {"n_estimators": 100}),
    ("10 trees", {"n_estimators": 10}),
    ("3 trees", {"n_estimators": 3}),
    ("leaves of at least 5 records", {"n_estimators": 100, "min_samples_leaf": 5}),
    ("leaves of at least 20 records", {"n_estimators": 100, "min_samples_leaf": 20}),
    ("leaves of at least 20 records, 10 trees", {"n_estimators": 10, "min_samples_leaf": 20}),
    ("bootstrap samples, seeds withheld", {"n_estimators": 100, "bootstrap": True}),
)
SMALLER = (FORESTS[0], FORESTS[1], FORESTS[3], FORESTS[4], FORESTS[6])
"""What is tried on tables whose domains are larger than that of COMPAS."""
BOOSTED: tuple[tuple[str, Settings, int | None], ...] = (
    ("XGBoost, 100 rounds of depth 6", {"max_depth": 6}, None),
    ("XGBoost, min_child_weight 5", {"max_depth": 6, "min_child_weight": 5}, None),
    ("XGBoost, leaf values of 3 digits, other sums removed", {"max_depth": 6}, 3),
)


@dataclass
class StudyRow:
    """One way of training on samples of a table: records of each sample, and of each seed what was found."""

    table: str
    name: str
    records: int
    proved: list[int] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


@dataclass
class DraftRow:
    """DRAFT on the same forests: its errors and seconds, those of one solution here, and how often it had none."""

    records: int
    trees: int
    errors: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    own_errors: list[float] = field(default_factory=list)
    own_seconds: list[float] = field(default_factory=list)
    proved: list[int] = field(default_factory=list)
    nothing: int = 0


def domain_of(frame: pd.DataFrame) -> DeclaredDomain:
    """Return the public domain of a table of indicators: neighbours of which one is always 1 go together."""
    names = [str(name) for name in frame.columns[:-1]]
    groups: list[tuple[str, ...]] = []
    start = 0
    while start < len(names):
        stop = next(
            (
                stop
                for stop in range(len(names), start + FEWEST_INDICATORS - 1, -1)
                if (frame[names[start:stop]].sum(axis=1) == 1).all()
            ),
            start,
        )
        if stop > start:
            groups.append(tuple(names[start:stop]))
        start = max(stop, start + 1)
    grouped = {name for group in groups for name in group}
    bits = DeclaredColumn((0.0, 1.0))
    return DeclaredDomain({name: bits for name in names if name not in grouped}, tuple(groups))


def grow(sample: pd.DataFrame, settings: Settings) -> RandomForestClassifier:
    """Return a forest of scikit-learn, on all records unless it is told otherwise."""
    learner = RandomForestClassifier(**({"bootstrap": False, "random_state": 0} | settings))
    return learner.fit(sample.iloc[:, :-1].to_numpy(), sample.iloc[:, -1].astype(str))


def grow_xgboost(sample: pd.DataFrame, settings: Settings, digits: int | None) -> Ensemble | None:
    """Return a model of XGBoost as its file tells of it; None where the library is not installed."""
    try:
        library = importlib.import_module("xgboost")
    except ImportError:
        return None
    data = library.DMatrix(sample.iloc[:, :-1], sample.iloc[:, -1])
    asked = {"objective": "binary:logistic", "nthread": 1, "verbosity": 0} | settings
    booster = library.train(asked, data, 100)
    model = open_model(bytes(booster.save_raw("json")), "model.json").model
    assert isinstance(model, Ensemble)
    return model if digits is None else with_digits(model, digits)


def with_digits(model: Ensemble, digits: int) -> Ensemble:
    """Return a boosted model whose leaf values have so many digits, and that publishes nothing else of its nodes."""
    assert model.growth is not None
    trees = tuple(
        replace(
            tree,
            values=np.array([float(f"{value:.{digits}g}") for value in tree.values]),
            hessians=None,
            weights=None,
            gains=None,
        )
        for tree in model.growth.trees
    )
    return replace(model, growth=replace(model.growth, trees=trees))


def take(row: StudyRow, model: Ensemble, sample: pd.DataFrame, domain: DeclaredDomain) -> None:
    """Add what a model proves to a row."""
    begun = time.process_time()
    found = reconstruct(model, clock(SECONDS), domain)
    row.seconds.append(time.process_time() - begun)
    if isinstance(found, Undetermined):
        row.reasons.append(found.reason)
        return
    hold_against(model, sample, found)
    row.proved.append(found.records_proved)
    row.whole.append(found.whole_records)


def measure(
    folder: Path, records: int, seeds: int, tables: Sequence[str] = tuple(TITLES)
) -> Iterator[StudyRow]:
    """Yield a row for each table and way of training."""
    for name in tables:
        frame = pd.read_csv(folder / f"{name}.csv")
        domain = domain_of(frame)
        samples = [frame.sample(records, random_state=seed) for seed in range(seeds)]
        for words, settings in FORESTS if name == "compas" else SMALLER:
            row = StudyRow(name, words, records)
            for sample in samples:
                model = model_of_forest(grow(sample, settings), sample)
                take(row, model, sample, domain)
            print(row, file=sys.stderr, flush=True)
            yield row
        for words, settings, digits in BOOSTED if name == "compas" else ():
            row = StudyRow(name, words, records)
            for sample in samples:
                boosted = grow_xgboost(sample, settings, digits)
                if boosted is not None:
                    take(row, boosted, sample, domain)
            print(row, file=sys.stderr, flush=True)
            yield row


def error_of(guess: np.ndarray, sample: np.ndarray) -> float:
    """Return the mean share of wrong columns after the best matching of records, as the DRAFT study counts it."""
    cost = np.abs(guess[:, None, :] - sample[None, :, :]).mean(axis=2)
    rows, columns = linear_sum_assignment(cost)
    return float(cost[rows, columns].mean())


def beside(folder: Path, draft: Path, seeds: int) -> Iterator[DraftRow]:
    """Yield DRAFT's results on forests of COMPAS beside those of this library."""
    sys.path.insert(0, str(draft))
    code = importlib.import_module("DRAFT")
    frame = pd.read_csv(folder / "compas.csv")
    domain = domain_of(frame)
    places = {str(name): place for place, name in enumerate(frame.columns)}
    groups = [[places[name] for name in group] for group in domain.one_of]
    for records, trees in ((50, 10), (100, 10)):
        row = DraftRow(records, trees)
        for seed in range(seeds):
            sample = frame.sample(records, random_state=seed)
            values = sample.iloc[:, :-1].to_numpy()
            learner = grow(sample, {"n_estimators": trees})
            extractor = code.DRAFT(learner, one_hot_encoded_groups=groups)
            begun = time.perf_counter()
            said = extractor.fit(bagging=False, timeout=DRAFT_SECONDS, n_jobs=1, seed=0)
            taken = time.perf_counter() - begun
            if said["status"] in ("FEASIBLE", "OPTIMAL"):
                row.errors.append(error_of(np.array(said["reconstructed_data"]), values))
                row.seconds.append(taken)
            else:
                row.nothing += 1
            begun = time.perf_counter()
            found = reconstruct(model_of_forest(learner, sample), clock(SECONDS), domain)
            row.own_seconds.append(time.perf_counter() - begun)
            assert not isinstance(found, Undetermined)
            assert found.counts.table is not None
            row.own_errors.append(error_of(_table_of(found, list(places)[:-1]), values))
            row.proved.append(found.records_proved)
        print(row, file=sys.stderr, flush=True)
        yield row


def _table_of(found: Any, names: Sequence[str]) -> np.ndarray:  # noqa: ANN401 - a Reconstruction
    """Return one table that fits, a value of each column: where several are possible, the first."""
    rows = []
    for cell, people in enumerate(found.counts.table.sum(axis=1).tolist()):
        if people:
            values = dict.fromkeys(names, 0.0)
            chosen = [options[0] for options in found.cells.options_of(cell)]
            for factor, option in zip(found.cells.domain.factors, chosen, strict=True):
                for name, column in factor.columns.items():
                    values[name] = float(column.samples.numbers[option])
            rows += [list(values.values())] * people
    return np.array(rows)


def _range(numbers: Sequence[float], form: str = "g") -> str:
    if not numbers:
        return "-"
    ends = f"{min(numbers):{form}}", f"{max(numbers):{form}}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def document(
    rows: Sequence[StudyRow], drafts: Sequence[DraftRow], seeds: int, day: datetime.date
) -> str:
    """Return the page of a run on a day."""
    lines = [
        "# Records that a file proves, and what stops it",
        "",
        "<!-- Written by python -m benchmarks.studies.reconstruction; do not edit. -->",
        "",
        f"Samples of the tables of the DRAFT study (Ferry et al., ICML 2024), seeds 0 to {seeds - 1}. The public",
        "domain is declared: columns of 0 and 1, of some of which exactly one is 1. A cell shows the range over the",
        "seeds. Every proof was held against the sample, and none was wrong.",
        "",
        "```console",
        "$ python -m benchmarks.studies.reconstruction DATA --draft DRAFT",
        "```",
        "",
        f"Seconds are those of the processor, at most {SECONDS:g} of a clock for each model.",
        f"Run on {day.isoformat()}. {machine().replace('; ', ', ')}",
        "",
        "| Table | Training | Records | Proved | With every tested column | Seconds |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        proved = _range(row.proved)
        if row.reasons:
            proved = "not decided" if not row.proved else f"{proved}, else not decided"
        lines.append(
            f"| {TITLES[row.table]} | {row.name} | {row.records} | {proved} | "
            f"{_range(row.whole)} | {_range(row.seconds, '.1f')} |"
        )
    reasons = sorted({reason for row in rows for reason in row.reasons})
    if reasons:
        lines += [
            "",
            "Not decided, because:",
            "",
            *(f"- {reason.partition(';')[0]}" for reason in reasons),
        ]
    if drafts:
        lines += _beside_lines(drafts)
    return "\n".join(lines) + "\n"


def _beside_lines(drafts: Sequence[DraftRow]) -> list[str]:
    lines = [
        "",
        "## DRAFT on the same forests",
        "",
        f"COMPAS, forests on all records, one thread each, at most {DRAFT_SECONDS} s for DRAFT, on a busy",
        "machine. The error is the share of wrong columns after the best matching of records, of one table that fits.",
        "DRAFT does not tell which of its records are right.",
        "",
        "| Records, trees | DRAFT: error | seconds | no solution | treewarden: error | seconds | proved |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.records}, {row.trees} | {_range(row.errors, '.4f')} | {_range(row.seconds, '.1f')} | {row.nothing} | "
        f"{_range(row.own_errors, '.4f')} | {_range(row.own_seconds, '.1f')} | {_range(row.proved)} |"
        for row in drafts
    ]
    return lines


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--draft", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tables", nargs="+", choices=[*TITLES], default=[*TITLES])
    given = parser.parse_args()
    drafts = [] if given.draft is None else list(beside(given.data, given.draft, given.seeds))
    rows = list(measure(given.data, given.records, given.seeds, given.tables))
    page = document(rows, drafts, given.seeds, datetime.datetime.now(datetime.UTC).date())
    (given.out / "reconstruction.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
