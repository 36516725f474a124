"""Attacks by trial on membership: LiRA, RMIA and the worst-case attack, with shadow models that are trained anew.

Each names people of a register as members by a score. What it finds is a lower bound of what the exact posterior gives
(Neyman and Pearson's lemma), and what it misses is not safe: nothing here decides anything.

- LiRA, online (Carlini et al. 2022, "Membership inference attacks from first principles", algorithm 1): the model's
  confidence in a person's class, as log p / (1 - p), is compared with that of shadow models which saw the person and of
  others which did not, each taken to be normal; the score is the likelihood ratio.
- RMIA, online (Zarifzadeh et al. 2024, "Low-cost high-power membership inference attacks", equations 2 to 4): the share
  of other people z with (p(x) / mean p(x)) / (p(z) / mean p(z)) >= gamma, where means are over the shadow models.
- Worst case (SACRO-ML, ``WorstCaseAttack``): a random forest is trained to part members from others by the model's
  sorted probabilities, on four fifths of both, and tried on the rest, ten times: it is told who most members are.

Metrics have SACRO-ML's names: ``AUC``, ``TPR@0.001``, ``TPR@0.01`` (true positive rate at this false positive rate) and
``Advantage`` (greatest TPR - FPR; Yeom et al. 2018, definition 4).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.progress import Share, counted_by
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

SHADOW_MODELS = 60
"""Half of them saw each person: 30 on either side, more than the 8 at which LiRA's authors pool variances."""
FALSE_ALARMS = (0.001, 0.01)
GAMMA = 2.0
REPETITIONS = 10
TEST_SHARE = 0.2
ATTACK_FOREST = {"min_samples_split": 20, "min_samples_leaf": 10, "max_depth": 5}
SMALLEST = 1e-6
"""Confidences this near to 0 or 1 are moved so far away, as leaves of one class give exactly these."""
LEAST_SPREAD = 1e-2
SEED = 20_221
"""Draws start from here, so that results repeat; it stands in no file."""

Refit = Callable[[IndexArray, int], FloatArray]
"""Trains on some rows of the register, with a seed; returns everybody's probabilities of the classes, (N, m)."""


@dataclass(frozen=True, slots=True, eq=False)
class AttackedPeople:
    """People of a register: ``confidence`` (N, m) by the model, ``class_of`` (N,), and who ``is_member`` (N,)."""

    confidence: FloatArray
    class_of: IndexArray
    is_member: BoolArray

    @property
    def own_confidence(self) -> FloatArray:
        """The model's confidence in each person's class, (N,)."""
        return own_confidence(self.confidence, self.class_of)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """How well one attack named members; ``metrics`` have SACRO-ML's names."""

    name: str
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class ShadowModels:
    """The confidence of K shadow models in each person's class, (K, N), and whom each saw, (K, N)."""

    confidence: FloatArray
    saw: BoolArray


def own_confidence(confidence: FloatArray, class_of: IndexArray) -> FloatArray:
    """Return the probability of each person's own class, (N,), of those of all classes, (N, m)."""
    return np.asarray(confidence[np.arange(len(class_of)), class_of], dtype=np.float64)


def train_shadow_models(
    people: AttackedPeople, refit: Refit, share: Share | None = None
) -> ShadowModels:
    """Return shadow models, each trained on as many people as the model, drawn at random."""
    size, members = len(people.class_of), int(people.is_member.sum())
    random = np.random.default_rng(SEED)
    saw = np.zeros((SHADOW_MODELS, size), dtype=bool)
    found = np.zeros((SHADOW_MODELS, size))
    for number in counted_by(share, range(SHADOW_MODELS), SHADOW_MODELS, "models"):
        chosen = _drawn(random, people.class_of, members)
        saw[number, chosen] = True
        found[number] = own_confidence(refit(chosen, number), people.class_of)
    return ShadowModels(found, saw)


def _drawn(random: np.random.Generator, class_of: IndexArray, members: int) -> IndexArray:
    """Return so many people at random, somebody of each class among them."""
    order = random.permutation(len(class_of))
    first = np.unique(class_of[order], return_index=True)[1]
    needed = np.zeros(len(order), dtype=bool)
    needed[first] = True
    order = np.concatenate([order[needed], order[~needed]])
    return np.sort(order[: max(members, int(needed.sum()))])


def _logits(confidence: FloatArray) -> FloatArray:
    near = np.clip(confidence, SMALLEST, 1.0 - SMALLEST)
    return np.asarray(np.log(near / (1.0 - near)))


def lira_scores(confidence: FloatArray, shadows: ShadowModels) -> FloatArray:
    """Return the logarithm of LiRA's likelihood ratio of each person, (N,)."""
    observed, logits = _logits(confidence), _logits(shadows.confidence)
    parts = []
    for saw in (shadows.saw, ~shadows.saw):
        count = np.maximum(saw.sum(axis=0), 1)
        mean = np.where(saw, logits, 0.0).sum(axis=0) / count
        variance = np.where(saw, (logits - mean) ** 2, 0.0).sum(axis=0) / count
        spread = np.sqrt(variance) + LEAST_SPREAD
        parts.append(-np.log(spread) - (observed - mean) ** 2 / (2 * spread**2))
    return np.asarray(parts[0] - parts[1])


def rmia_scores(confidence: FloatArray, shadows: ShadowModels) -> FloatArray:
    """Return RMIA's score of each person, (N,): the share of all others whom the model prefers less by far."""
    inside = np.where(shadows.saw, shadows.confidence, 0.0).sum(axis=0)
    outside = np.where(shadows.saw, 0.0, shadows.confidence).sum(axis=0)
    seen = shadows.saw.sum(axis=0)
    means = inside / np.maximum(seen, 1) + outside / np.maximum(len(shadows.saw) - seen, 1)
    ratio = np.maximum(confidence, SMALLEST) / np.maximum(means / 2, SMALLEST)
    ordered = np.sort(ratio)
    below = np.searchsorted(ordered, ratio / GAMMA * (1 + 1e-12), side="right")
    return np.asarray(below / len(ratio))


def metrics_of(scores: FloatArray, is_member: BoolArray) -> dict[str, float]:
    """Return how well scores name members; people with the same score are named at random (a straight piece)."""
    levels, of = np.unique(-scores, return_inverse=True)
    of = of.reshape(-1)
    true = np.bincount(of[is_member], minlength=len(levels)).cumsum() / is_member.sum()
    false = np.bincount(of[~is_member], minlength=len(levels)).cumsum() / (~is_member).sum()
    true, false = np.r_[0.0, true], np.r_[0.0, false]
    found = {"AUC": float(np.trapezoid(true, false))}
    for rate in FALSE_ALARMS:
        found[f"TPR@{rate:g}"] = _highest_at(rate, false, true)
    return found | {"Advantage": float(np.max(true - false))}


def _highest_at(rate: float, false: FloatArray, true: FloatArray) -> float:
    """Return the true positive rate at a false one: on a step upwards its top."""
    last = int(np.searchsorted(false, rate, side="right")) - 1
    if last + 1 == len(false):
        return float(true[last])
    share = (rate - false[last]) / (false[last + 1] - false[last])
    return float(true[last] + share * (true[last + 1] - true[last]))


def worst_case_metrics(people: AttackedPeople, share: Share | None = None) -> dict[str, float]:
    """Return the mean metrics of the worst-case attack over its repetitions.

    Raises:
        ImportError: scikit-learn, which it needs, is not installed.
        ValueError: there are too few members or others to part them.
    """
    forest = importlib.import_module("sklearn.ensemble").RandomForestClassifier
    split = importlib.import_module("sklearn.model_selection").train_test_split
    inputs = -np.sort(-people.confidence, axis=1)
    found = []
    for repetition in counted_by(share, range(REPETITIONS), REPETITIONS, "attacks"):
        train_inputs, test_inputs, train_members, test_members = split(
            inputs,
            people.is_member,
            test_size=TEST_SHARE,
            stratify=people.is_member,
            random_state=repetition,
        )
        attacker = forest(**ATTACK_FOREST, random_state=repetition)
        attacker.fit(train_inputs, train_members)
        found.append(metrics_of(attacker.predict_proba(test_inputs)[:, 1], test_members))
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def run_attacks(
    people: AttackedPeople, refit: Refit, share: Share | None = None
) -> Iterator[AttackResult]:
    """Yield what each attack finds; errors of ``refit`` and of ``worst_case_metrics`` come through."""
    shadows = train_shadow_models(people, refit, share)
    yield AttackResult(
        "LiRA", metrics_of(lira_scores(people.own_confidence, shadows), people.is_member)
    )
    yield AttackResult(
        "RMIA", metrics_of(rmia_scores(people.own_confidence, shadows), people.is_member)
    )
    yield AttackResult("worst case", worst_case_metrics(people, share))
