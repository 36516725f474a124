"""What Sharkey et al. 2008 found, finding by finding, held against our figures by limits that we set from its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.studies.sharkey_runs import DIVERSITY, PRIVACY_MODELS, Private, Pseudo, Scores

TREE, BAYES, RULE = "decision tree", "naive Bayes", "conjunctive rule (stand-in)"
NEAR_POINTS, SAME_POINTS, SHARP_POINTS, FAR_POINTS = 5.0, 2.0, 10.0, 30.0
NO_DATA_FROM = DIVERSITY.index((4, 10))


@dataclass(frozen=True)
class Found:
    """All figures, by data set, and the numbers of sources that were run."""

    pseudo: dict[str, Pseudo]
    private: dict[str, Private]
    sources: tuple[int, ...]
    private_sources: tuple[int, ...]

    def mean(self, name: str, method: str, count: int, model: str, of: str = "right") -> float:
        """Return a mean over folds, in points."""
        scores = self.pseudo[name][method, count, model]
        return 100 * float(np.mean([getattr(each, of) for each in scores]))

    def over(self, name: str, method: str, model: str, of: str = "right") -> float:
        """Return the mean over the numbers of sources."""
        return float(np.mean([self.mean(name, method, n, model, of) for n in self.sources]))

    def diverse(
        self, name: str, method: str, need: tuple[int, int], count: int, model: str
    ) -> float | None:
        """Return a mean over the folds that gave data, in points; None where none did."""
        scores: list[Scores | None] = self.private[name][method, need, count, model]
        right = [each.right for each in scores if each is not None]
        return 100 * float(np.mean(right)) if right else None


@dataclass(frozen=True)
class Finding:
    """A finding of the paper; ``judged`` gives the parts that must hold and our figures in words."""

    said: str
    needs: tuple[str, ...]
    judged: Callable[[Found], tuple[Sequence[bool], str]]

    def row(self, found: Found) -> tuple[str, str, str]:
        """Return the finding, whether it reproduces, and our figures."""
        known = found.private if self.judged in _PRIVATE else found.pseudo
        if any(name not in known for name in self.needs):
            return self.said, "not judged", "the data set is missing or was not run"
        parts, ours = self.judged(found)
        if not parts:
            return self.said, "not judged", ours
        return self.said, "yes" if all(parts) else "partly" if any(parts) else "no", ours


def _near(found: Found) -> tuple[list[bool], str]:
    gaps = {
        name: found.mean(name, "BASIS", 0, TREE) - found.over(name, "PGEN", TREE)
        for name in ("Adult", "Car", "Nursery")
    }
    return [gap <= NEAR_POINTS for gap in gaps.values()], "points lost: " + _said(gaps)


def _basegen_below(found: Found) -> tuple[list[bool], str]:
    gaps = {
        name: found.mean(name, "BASIS", 0, TREE)
        - max(found.mean(name, "BASEGEN", count, TREE) for count in found.sources)
        for name in ("Adult", "Car", "Nursery")
    }
    return [gap > 0 for gap in gaps.values()], "least points lost: " + _said(gaps)


def _pgen_ahead(found: Found) -> tuple[list[bool], str]:
    ahead = {
        name: found.over(name, "PGEN", TREE) - found.over(name, "BASEGEN", TREE)
        for name in ("Adult", "Car", "Nursery")
    }
    return [gap > 0 for gap in ahead.values()], "points ahead: " + _said(ahead)


def _trend(found: Found) -> tuple[list[bool], str]:
    rise = {
        f"{name} {method}": _rise(found, name, method, TREE)
        for name in ("Car", "Nursery")
        for method in ("PGEN", "BASEGEN")
    }
    return [(gap > 0) == key.endswith(" PGEN") for key, gap in rise.items()], _ends(found, rise)


def _bayes_nearer(found: Found) -> tuple[list[bool], str]:
    gaps = {
        f"{name}, {model}": abs(
            found.over(name, "PGEN", model) - found.over(name, "BASEGEN", model)
        )
        for name in ("Car", "Nursery")
        for model in (TREE, BAYES)
    }
    parts = [gaps[f"{name}, {BAYES}"] < gaps[f"{name}, {TREE}"] for name in ("Car", "Nursery")]
    return parts, "points apart: " + _said(gaps)


def _bayes_rises(found: Found) -> tuple[list[bool], str]:
    rise = {model: _rise(found, "Adult", "BASEGEN", model) for model in (BAYES, TREE)}
    return [rise[BAYES] > max(rise[TREE], 0)], _ends(found, rise)


def _tree_best(found: Found) -> tuple[list[bool], str]:
    right = {
        f"{name}, {model}": found.over(name, "PGEN", model)
        for name in ("Adult", "Nursery")
        for model in (TREE, BAYES, RULE)
    }
    parts = [
        right[f"{name}, {TREE}"] > max(right[f"{name}, {BAYES}"], right[f"{name}, {RULE}"])
        for name in ("Adult", "Nursery")
    ]
    return parts, "% right: " + _said(right)


def _by_set(found: Found) -> tuple[list[bool], str]:
    ahead = {
        model: found.over("Nursery", "PGEN", model) - found.over("Adult", "PGEN", model)
        for model in (TREE, BAYES, RULE)
    }
    return [ahead[TREE] > 0, ahead[BAYES] > 0, ahead[RULE] < 0], (
        "points that Nursery is ahead: " + _said(ahead)
    )


def _bayes_methods(found: Found) -> tuple[list[bool], str]:
    ahead = {
        name: found.over(name, "PGEN", BAYES) - found.over(name, "BASEGEN", BAYES)
        for name in ("Nursery", "Adult")
    }
    return [abs(ahead["Nursery"]) <= SAME_POINTS, ahead["Adult"] > SAME_POINTS], (
        "points that PGEN is ahead: " + _said(ahead)
    )


def _rule_basegen(found: Found) -> tuple[list[bool], str]:
    gap = found.over("Adult", "BASEGEN", RULE) - found.over("Adult", "PGEN", RULE)
    return [gap > NEAR_POINTS], f"points that BASEGEN is ahead: {gap:.1f}"


def _match_follows(found: Found) -> tuple[list[bool], str]:
    agree = []
    for name, pseudo in found.pseudo.items():
        for model in {key[2] for key in pseudo}:
            for n in found.sources:
                one, two = (
                    found.mean(name, "PGEN", n, model, of)
                    - found.mean(name, "BASEGEN", n, model, of)
                    for of in ("right", "match")
                )
                agree.append(one * two > 0 or one == two == 0)
    share = float(np.mean(agree))
    said = f"PGEN and BASEGEN stand in the same order by both in {share:.0%} of {len(agree)} cases"
    return [share >= 0.8], said


def _few_paths(found: Found) -> tuple[list[bool], str]:
    shared = np.array(
        [
            found.mean(name, method, n, TREE, "paths")
            for name in found.pseudo
            for method in ("PGEN", "BASEGEN")
            for n in found.sources
        ]
    )
    below, hardly = float((shared < 30).mean()), float((shared < 1).mean())
    said = f"below 30 % in {below:.0%} and below 1 % in {hardly:.0%} of {len(shared)} cases"
    return [below > 0.5, hardly > 0.25], said


def _far_ahead(name: str) -> Callable[[Found], tuple[list[bool], str]]:
    def judged(found: Found) -> tuple[list[bool], str]:
        said, parts = [], []
        for model in PRIVACY_MODELS:
            gaps = _gaps(found, name, model)
            if not gaps:
                return [], "no demand under which both give data"
            parts += [min(gaps) > 0, min(gaps) > FAR_POINTS]
            said.append(
                f"{model}: {np.mean(gaps):.1f} points on average, {min(gaps):.1f} to {max(gaps):.1f}"
            )
        return parts, "; ".join(said) + " (where both give data)"

    return judged


def _ld_stops(found: Found) -> tuple[list[bool], str]:
    gives = [found.diverse("Nursery", "LD", need, 0, TREE) is not None for need in DIVERSITY]
    last = [f"(l = {l}, c = {c})" for (l, c), any_ in zip(DIVERSITY, gives, strict=True) if any_]  # noqa: E741  # the notion's name
    said = f"data up to {last[-1]}" if last else "no data at all"
    return [gives == [place < NO_DATA_FROM for place in range(len(DIVERSITY))]], said


def _still_usable(found: Found) -> tuple[list[bool], str]:
    beyond = [v for model in PRIVACY_MODELS for v in _ppgen(found, model, DIVERSITY[NO_DATA_FROM:])]
    real = [v for v in beyond if v is not None]
    if not real:
        return [False], "no data"
    said = f"data in {len(real)} of {len(beyond)} cases, {min(real):.1f} to {max(real):.1f} % right"
    return [len(real) > len(beyond) / 2, min(real) >= FAR_POINTS], said


def _falls(found: Found) -> tuple[list[bool], str]:
    drops = {}
    for model in PRIVACY_MODELS:
        before, after = (
            [v for v in _ppgen(found, model, part) if v is not None]
            for part in (DIVERSITY[:NO_DATA_FROM], DIVERSITY[NO_DATA_FROM:])
        )
        drops[model] = float(np.mean(before) - np.mean(after)) if after else 100.0
    return [drop >= SHARP_POINTS for drop in drops.values()], "points lost: " + _said(drops)


def _fewer_with_sources(found: Found) -> tuple[list[bool], str]:
    falls = {}
    for model in PRIVACY_MODELS:
        pairs = [
            [found.diverse("Nursery", "PPGEN", need, n, model) for n in _first_last(found)]
            for need in DIVERSITY
        ]
        falls[model] = float(np.mean([a - b for a, b in pairs if a is not None and b is not None]))
    one, last = _first_last(found)
    return [
        fall > 0 for fall in falls.values()
    ], f"points lost from {one} to {last}: {_said(falls)}"


_STUDIED = _far_ahead("Nursery"), _far_ahead("Car")
_PRIVATE = (*_STUDIED, _ld_stops, _still_usable, _falls, _fewer_with_sources)

FINDINGS = (
    Finding("Trees from PGEN are about as good as BASIS (5a)", ("Adult", "Car", "Nursery"), _near),
    Finding("Trees from BASEGEN are consistently worse than BASIS", ("Adult", "Car", "Nursery"), _basegen_below),
    Finding("Trees from PGEN are better than from BASEGEN", ("Adult", "Car", "Nursery"), _pgen_ahead),
    Finding("Car, Nursery: with more sources PGEN rises and BASEGEN falls", ("Car", "Nursery"), _trend),
    Finding("PGEN and BASEGEN are nearer for naive Bayes than for trees (5b)", ("Car", "Nursery"), _bayes_nearer),
    Finding("Adult, naive Bayes: BASEGEN gains more from more sources than for trees", ("Adult",), _bayes_rises),
    Finding("Trees beat naive Bayes and the conjunctive rule (6)", ("Adult", "Nursery"), _tree_best),
    Finding("Trees and naive Bayes do better on Nursery than on Adult, rules worse", ("Adult", "Nursery"), _by_set),
    Finding("Naive Bayes: PGEN equals BASEGEN on Nursery and beats it on Adult", ("Adult", "Nursery"), _bayes_methods),
    Finding("Adult: the conjunctive rule does much better with BASEGEN than with PGEN", ("Adult",), _rule_basegen),
    Finding("Class match is very similar to accuracy", (), _match_follows),
    Finding("Trees share few paths: typically below 30 %, frequently below 1 %", (), _few_paths),
    Finding("Nursery: PPGEN beats LD by more than 30 points over the whole range (7)", ("Nursery",), _STUDIED[0]),
    Finding("Nursery: LD gives no data from l = 4, c = 10 on", ("Nursery",), _ld_stops),
    Finding("Nursery: PPGEN still gives usable data there, 30 % right", ("Nursery",), _still_usable),
    Finding("Nursery: PPGEN falls sharply from there on", ("Nursery",), _falls),
    Finding("Nursery: more sources lower the accuracy of PPGEN", ("Nursery",), _fewer_with_sources),
    Finding("Car: as on Nursery, PPGEN beats LD by more than 30 points", ("Car",), _STUDIED[1]),
)  # fmt: skip


def _rise(found: Found, name: str, method: str, model: str) -> float:
    first, last = found.sources[0], found.sources[-1]
    return found.mean(name, method, last, model) - found.mean(name, method, first, model)


def _ends(found: Found, rise: dict[str, float]) -> str:
    return f"points gained from {found.sources[0]} to {found.sources[-1]} sources: {_said(rise)}"


def _first_last(found: Found) -> tuple[int, int]:
    return found.private_sources[0], found.private_sources[-1]


def _gaps(found: Found, name: str, model: str) -> list[float]:
    """Return by how many points PPGEN is ahead of LD, where both give data."""
    gaps = []
    for need in DIVERSITY:
        ld = found.diverse(name, "LD", need, 0, model)
        for count in found.private_sources:
            own = found.diverse(name, "PPGEN", need, count, model)
            if ld is not None and own is not None:
                gaps.append(own - ld)
    return gaps


def _ppgen(found: Found, model: str, needs: Sequence[tuple[int, int]]) -> list[float | None]:
    return [
        found.diverse("Nursery", "PPGEN", need, count, model)
        for need in needs
        for count in found.private_sources
    ]


def _said(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())
