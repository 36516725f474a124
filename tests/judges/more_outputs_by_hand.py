"""Regressions, performance, survival and anonymised tables of small tables, and which labels agree with them.

As in ``outputs_by_hand`` nothing is shared with the product but the files that it reads; fits are Newton's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tests.judges.outputs_by_hand import (
    Agrees,
    Labels,
    PrintedOutput,
    SmallTable,
    fitted,
    is_printed_as,
    rounded,
    values,
)

NEAR = 1e-9
MOST_LOG_ODDS = 8.0
"""A larger ratio has more digits than Newton's method settles."""
Drawing = Callable[[np.random.Generator, SmallTable], PrintedOutput | None]


def more_outputs(
    random: np.random.Generator, table: SmallTable, *, is_tree: bool
) -> list[PrintedOutput]:
    """Return one or two further outputs; of the model's predictions only where it is one tree."""
    kinds: list[Drawing] = [extremes, anonymised]
    if len(table.classes) == 2:
        kinds += [odds, linear, cox, kaplan_meier]
    if is_tree:
        kinds += [matrix, metrics] if len(table.classes) == 2 else [matrix]
    chosen = random.permutation(len(kinds))[: int(random.integers(1, 3))]
    found = (kinds[number](random, table) for number in chosen.tolist())
    return [output for output in found if output is not None]


def complete(table: SmallTable) -> list[int]:
    return [person for person, age in enumerate(table.ages) if age is not None]


def extremes(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    places, cells, parts = int(random.integers(0, 2)), [], list[Agrees]()
    for klass in range(len(table.classes)):
        numbers = values(table, table.labels, klass)
        if not numbers:
            cells.append("")
            continue
        texts = [rounded(numbers[place], places) for place in (0, -1)]
        cells.append(" - ".join(texts))
        parts.append(_has_ends(table, klass, texts))
    text = f'{",".join(("", *table.classes))}\n"age, range",{",".join(cells)}\n'
    return PrintedOutput("range.csv", text, tuple(parts)) if parts else None


def _has_ends(table: SmallTable, klass: int, texts: Sequence[str]) -> Agrees:
    def agrees(labels: Labels) -> bool:
        numbers = values(table, labels, klass)
        return bool(numbers) and all(
            is_printed_as(text, numbers[place]) for text, place in zip(texts, (0, -1), strict=True)
        )

    return agrees


def odds(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    fit, places = fitted(table, table.labels), int(random.integers(2, 5))
    if fit is None or max(fit) > MOST_LOG_ODDS:
        return None
    texts = [f"{np.exp(number):.{places}f}" for number in fit]
    half = 0.5 * 10.0**-places

    def agrees(labels: Labels) -> bool:
        found = fitted(table, labels)
        return found is not None and all(
            abs(np.exp(number) - float(text)) <= half + NEAR
            for number, text in zip(found, texts, strict=True)
        )

    terms = ("(Intercept)", "age", f"sort[{table.sorts[0]}]")
    rows = [f"{term},{text}" for term, text in zip(terms, texts, strict=True)]
    return PrintedOutput("odds.csv", "\n".join(["term,OR", *rows, "(C),1", ""]), (agrees,))


def linear(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    people = complete(table)
    x = np.array(
        [[1.0, float(table.ages[p] or 0), table.sorts[p] == table.sorts[0]] for p in people]
    )
    terms = ["(Intercept)", "age", f"sort[{table.sorts[0]}]"]
    for width in (3, 2):
        if len(people) >= width and np.linalg.matrix_rank(x[:, :width]) == width:
            break
    else:
        return None
    solver, places = np.linalg.pinv(x[:, :width]), int(random.integers(2, 5))

    def fit(labels: Labels) -> np.ndarray:
        return np.asarray(solver @ np.array([labels[p] == 1 for p in people], dtype=float))

    texts = [f"{number:.{places}f}" for number in fit(table.labels)]
    half = 0.5 * 10.0**-places

    def agrees(labels: Labels) -> bool:
        return bool((np.abs(fit(labels) - np.array(texts, dtype=float)) <= half + NEAR).all())

    rows = [f"{term},{text}" for term, text in zip(terms[:width], texts, strict=True)]
    text = "\n".join(["term,estimate", *rows, "(model),linear", ""])
    return PrintedOutput("linear.csv", text, (agrees,))


def cox(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return a Cox regression in which the ages are the times, on one or two columns of 0 and 1."""
    people = complete(table)
    terms = [f"sort[{table.sorts[0]}]", "place[p0]"][: int(random.integers(1, 3))]
    columns = [[table.sorts[p] == table.sorts[0], table.places[p] == 0] for p in people]
    x = np.array(columns, dtype=float).reshape(len(people), 2)[:, : len(terms)]
    times = np.array([float(table.ages[p] or 0) for p in people])
    places, fits = int(random.integers(1, 4)), dict[Labels, np.ndarray | None]()

    def fit(labels: Labels) -> np.ndarray | None:
        if labels not in fits:
            event = np.array([labels[p] == 1 for p in people])
            fits[labels] = _partial_likelihood(x, times, event)
        return fits[labels]

    true = fit(table.labels)
    if true is None:
        return None
    texts, half = [f"{number:.{places}f}" for number in true], 0.5 * 10.0**-places

    def agrees(labels: Labels) -> bool:
        found = fit(labels)
        return found is not None and bool(
            (np.abs(found - np.array(texts, dtype=float)) <= half + NEAR).all()
        )

    rows = [f"{term},{text}" for term, text in zip(terms, texts, strict=True)]
    text = "\n".join(["term,estimate", *rows, "(model),cox", "(time),age", "(ties),breslow", ""])
    return PrintedOutput("cox.csv", text, (agrees,))


def _partial_likelihood(x: np.ndarray, times: np.ndarray, event: np.ndarray) -> np.ndarray | None:
    """Return the coefficients by Breslow's likelihood, None where it has no maximum."""
    beta = np.zeros(x.shape[1])
    for _ in range(60):
        score, information = np.zeros_like(beta), np.zeros((len(beta), len(beta)))
        for person in np.flatnonzero(event).tolist():
            at_risk = times >= times[person]
            weight = np.exp(x[at_risk] @ beta)
            mean = weight @ x[at_risk] / weight.sum()
            off = x[at_risk] - mean
            score += x[person] - mean
            information += off.T @ (weight[:, None] * off) / weight.sum()
        if np.linalg.eigvalsh(information).min(initial=0.0) < 1e-7:
            return None
        step = np.linalg.solve(information, score)
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(beta).max() > 12:
            return None
        if np.abs(step).max() < 1e-13:
            break
    return beta


def kaplan_meier(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return a curve over the ages: all times with events, or some times."""
    people = complete(table)
    every = sorted({table.ages[p] for p in people if table.ages[p] is not None})
    is_full = random.random() < 0.5
    events = [
        at for at in every if any(table.ages[p] == at and table.labels[p] == 1 for p in people)
    ]
    some = [at for at in every if random.random() < 0.5]
    times = events if is_full else some
    if not times:
        return None
    places = int(random.integers(1, 4))
    has_events, has_survival = random.random() < 0.7, random.random() < 0.7
    if not has_events and not has_survival:
        has_events = True

    def dead(labels: Labels, low: Fraction, high: Fraction) -> int:
        return sum(low < (table.ages[p] or 0) <= high and labels[p] == 1 for p in people)

    def survival(labels: Labels, until: Fraction) -> Fraction:
        left = Fraction(1)
        for at in every:
            if at <= until:
                size = sum((table.ages[p] or 0) >= at for p in people)
                here = sum(table.ages[p] == at and labels[p] == 1 for p in people)
                left *= Fraction(size - here, size)
        return left

    before = [Fraction(-1), *times[:-1]]
    counts = [dead(table.labels, low, high) for low, high in zip(before, times, strict=True)]
    left = [rounded(survival(table.labels, at), places) for at in times]

    def agrees(labels: Labels) -> bool:
        said = zip(before, times, counts, left, strict=True)
        for low, high, count, text in said:
            if has_events and dead(labels, low, high) != count:
                return False
            if has_survival and not is_printed_as(text, survival(labels, high)):
                return False
        # A full list tells that nothing happened at other times, and that something did at these.
        listed = {at for at in every if any(table.ages[p] == at and labels[p] == 1 for p in people)}
        return not is_full or listed == set(times)

    head = ["age"] + ["n.event"] * has_events + ["survival"] * has_survival + ["n.risk"]
    rows = [
        [f"{float(at):g}"]
        + [str(count)] * has_events
        + [text] * has_survival
        + [str(sum((table.ages[p] or 0) >= at for p in people))]
        for at, count, text in zip(times, counts, left, strict=True)
    ]
    text = "\n".join(map(",".join, [head, *rows])) + "\n"
    return PrintedOutput("curve.csv", text, (agrees,))


def _predicted(table: SmallTable) -> list[int]:
    """Return the class that the tree predicts for each person: the first of the largest in the leaf."""
    counts = table.leaf_counts(table.labels)
    return [counts[place].index(max(counts[place])) for place in table.places]


def matrix(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    predicted, parts, lines = _predicted(table), list[Agrees](), []
    for actual, name in enumerate(table.classes):
        cells = [name]
        for code in range(len(table.classes)):
            people = [p for p, said in enumerate(predicted) if said == code]
            count = sum(table.labels[p] == actual for p in people)
            is_told = random.random() < 0.6
            cells.append(str(count) if is_told else "*")
            parts += [_has_count(people, actual, count)] if is_told else []
        lines.append(",".join(cells))
    text = "\n".join([",".join(("actual", *table.classes)), *lines]) + "\n"
    return PrintedOutput("matrix.csv", text, tuple(parts)) if parts else None


def _has_count(people: Sequence[int], klass: int, count: int) -> Agrees:
    return lambda labels: sum(labels[p] == klass for p in people) == count


def metrics(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    predicted, counts = _predicted(table), table.leaf_counts(table.labels)
    scores = [Fraction(counts[place][1], sum(counts[place])) for place in table.places]
    people = range(len(table.labels))

    def share(inside: Sequence[int], right: Callable[[int], bool]) -> Fraction | None:
        return Fraction(sum(right(p) for p in inside), len(inside)) if inside else None

    def area(labels: Labels) -> Fraction | None:
        pairs = [(p, q) for p in people for q in people if labels[p] == 1 and labels[q] == 0]
        if not pairs:
            return None
        won = sum(2 * (scores[p] > scores[q]) + (scores[p] == scores[q]) for p, q in pairs)
        return Fraction(won, 2 * len(pairs))

    def of_class(labels: Labels, klass: int) -> Fraction | None:
        return share([p for p in people if labels[p] == klass], lambda p: predicted[p] == klass)

    def of_label(labels: Labels, klass: int) -> Fraction | None:
        return share([p for p in people if predicted[p] == klass], lambda p: labels[p] == klass)

    kinds: dict[str, Callable[[Labels], Fraction | None]] = {
        "AUC": area,
        "accuracy": lambda labels: share(list(people), lambda p: predicted[p] == labels[p]),
        "sensitivity": lambda labels: of_class(labels, 1),
        "specificity": lambda labels: of_class(labels, 0),
        "PPV": lambda labels: of_label(labels, 1),
        "NPV": lambda labels: of_label(labels, 0),
        "Brier score": lambda labels: (
            sum(((scores[p] - labels[p]) ** 2 for p in people), Fraction(0)) / len(scores)
        ),
    }
    rows, parts, places = ["metric,value"], list[Agrees](), int(random.integers(1, 4))
    for number in random.permutation(len(kinds))[: int(random.integers(1, 4))].tolist():
        name, metric = list(kinds.items())[number]
        true = metric(table.labels)
        if true is not None:
            text = rounded(true, places)
            rows.append(f"{name},{text}")
            parts.append(_is_metric(metric, text))
    return PrintedOutput("metrics.csv", "\n".join(rows) + "\n", tuple(parts)) if parts else None


def _is_metric(metric: Callable[[Labels], Fraction | None], text: str) -> Agrees:
    return lambda labels: is_printed_as(text, metric(labels))


def anonymised(random: np.random.Generator, table: SmallTable) -> PrintedOutput | None:
    """Return records with ranges of ages and sorts, some of which are hidden; now and then one is left out."""
    cut = sorted(table.ages[p] or Fraction(0) for p in complete(table))[len(complete(table)) // 2]
    hides_some = random.random() < 0.4
    records: list[tuple[str, str, int]] = []
    for person, age in enumerate(table.ages):
        band = "*" if age is None else f"< {float(cut):g}" if age < cut else f"≥ {float(cut):g}"
        is_hidden = hides_some and random.random() < 0.4
        records.append((band, "*" if is_hidden else table.sorts[person], table.labels[person]))
    if random.random() < 0.4:
        del records[int(random.integers(len(records)))]

    def fits(record: tuple[str, str, int], person: int, labels: Labels) -> bool:
        age, (band, sort, label) = table.ages[person], record
        is_in = band == "*" or (age is not None and (age < cut) == band.startswith("<"))
        return is_in and sort in ("*", table.sorts[person]) and labels[person] == label

    def agrees(labels: Labels) -> bool:
        """Whether each record can be another person's: a matching, grown path by path."""
        owner: dict[int, int] = {}

        def place(record: int, seen: set[int]) -> bool:
            for person in range(len(labels)):
                if person not in seen and fits(records[record], person, labels):
                    seen.add(person)
                    if person not in owner or place(owner[person], seen):
                        owner[person] = record
                        return True
            return False

        return all(place(record, set()) for record in range(len(records)))

    order = random.permutation(len(records)).tolist()
    rows = [f"{records[r][0]},{records[r][1]},{table.classes[records[r][2]]}" for r in order]
    return PrintedOutput("records.csv", "\n".join(["age,sort,ill", *rows]) + "\n", (agrees,))
