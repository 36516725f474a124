"""The same people before and after: a tree of scikit-learn and a private one, audited as their files.

    python -m benchmarks.private_before_after --data FOLDER [--svg FILE]

FOLDER holds the public tables of the studies; the people are those of Heart (Cleveland), 303 records. Both trees have
depth 3. The private tree is drawn once, so that figures differ each time.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from treewarden.learn import PrivateTreeClassifier

EPSILON = 1.0
DEPTH = 3
COLUMNS = ("age", "trestbps", "chol", "thalach")
BOUNDS = {"age": (0, 120), "trestbps": (50, 250), "chol": (50, 600), "thalach": (40, 240)}
NAMES = ("plain tree", "private tree, epsilon = 1")


@dataclass(frozen=True)
class Row:
    """One number of both trees."""

    name: str
    before: float
    after: float


def people_of(folder: Path) -> pd.DataFrame:
    """Return the people: four numbers of each, and whether they are ill."""
    table = pd.read_csv(folder / "heart_cleveland.csv")
    people = table[list(COLUMNS)].astype(float)
    people["ill"] = np.where(table["num"].astype(float) > 0, "ill", "well")
    return people.dropna()


def rows_of(people: pd.DataFrame) -> list[Row]:
    """Return what both trees give away, and how often they are right."""
    inputs, truth = people[list(COLUMNS)], people["ill"]
    plain = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(inputs, truth)
    private = PrivateTreeClassifier(
        EPSILON, bounds=BOUNDS, classes=["ill", "well"], max_depth=DEPTH
    ).fit(inputs, truth)
    readings = [
        tw.audit(model, people, sensitive="ill", policy="standard").to_dict()["readings"]
        for model in (plain, private)
    ]
    right = [float((model.predict(inputs) == truth).mean()) for model in (plain, private)]
    most = [float(reading["disclosure"]["high"]) for reading in readings]
    proved = [float(reading["certain_disclosure"]["high"]) for reading in readings]
    return [
        Row("people whose value is proved", *(number / len(people) for number in proved)),
        Row("most certain inference about a person", *most),
        Row("correct predictions", *right),
    ]


def drawn(rows: list[Row]) -> str:
    """Return a bar chart of both trees as SVG."""
    height = 58 * len(rows) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" '
        'font-family="sans-serif" font-size="13">',
        f"<title>The same people before and after: {NAMES[0]}, {NAMES[1]}</title>",
        f'<rect width="640" height="{height}" fill="#fff"/>',
    ]
    for place, (name, color) in enumerate(zip(NAMES, ("#b3541e", "#2a6f97"), strict=True)):
        parts.append(f'<rect x="{10 + 130 * place}" y="10" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{28 + 130 * place}" y="21">{name}</text>')
    for index, row in enumerate(rows):
        top = 58 * index + 48
        parts.append(f'<text x="10" y="{top + 16}">{row.name}</text>')
        for place, (share, color) in enumerate(((row.before, "#b3541e"), (row.after, "#2a6f97"))):
            at = top + 18 * place
            parts.append(
                f'<rect x="270" y="{at}" width="{300 * share:.1f}" height="15" fill="{color}"/>'
            )
            parts.append(f'<text x="{276 + 300 * share:.1f}" y="{at + 12}">{share:.0%}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Print both, and draw them where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = rows_of(people_of(asked.data))
    for row in rows:
        print(f"{row.name:40} {row.before:7.1%} {row.after:7.1%}")
    if asked.svg is not None:
        asked.svg.write_text(drawn(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
