"""The whole result of an audit: what each adversary can infer, and what each measure reads from it.

Tested columns that the adversary was assumed to know are listed apart: the verdict says nothing of an adversary who
lacks one of them and learns it from the model. Where the sizes of nodes prove such a value, the column is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.measures import MeasureCall, Parameters, call, measures
from treewarden.audit.partial.attributes.size_inference import SizeInference, infer_from_sizes
from treewarden.audit.reading import Interval, Measurement, Reading, Undetermined
from treewarden.ppdm_models.tables.table import ColumnMeaning
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # where it is asked
    from treewarden.audit.blame.result import Blame
    from treewarden.audit.knowledge.adversaries import Adversary
    from treewarden.audit.membership.attacks import AttackResult


NOT_BLAMED = Undetermined("not computed; add --blame to see which numbers prove it")
NOT_MEASURED = Measurement(Undetermined("the audit did not measure it"))
KNOWS_ALL = "knows all"
"""The adversary who knows every quasi-identifier of everybody: the yardstick."""


@dataclass(frozen=True, slots=True)
class KnowledgeLevel:
    """What an adversary with one level of knowledge can do: readings of three measures."""

    name: str
    guess_accuracy: Reading
    disclosure: Reading
    kl_overall: Reading


@dataclass(frozen=True, slots=True)
class Lacking:
    """What an adversary could tell who did not know one of his columns: readings of three measures."""

    column: str
    certain_disclosure: Reading
    confidence: Reading
    guess_accuracy: Reading


@dataclass(frozen=True, slots=True)
class Exposure:
    """What one adversary can infer.

    ``dropped`` are rows that the true table breaks; ``disagreements`` numbers of the file that it breaks and
    that no row says. ``readings`` are of what was ``asked`` for and of every measure with its defaults, each taken
    once. ``levels`` is what each kind of published information adds, from the least to all that this adversary knows;
    empty where there is nothing to tell apart, or nobody asked. ``under`` is what this adversary is assumed to know
    other than the audit assumes, as a policy's clause says it; "" where it is what the audit assumes. ``of`` names
    what it is about where that is not the model of the audit and who knows all: another release, or an adversary who
    knows other columns: ``who``, with what they would be ``lacking`` by each column that they did not know.
    ``is_alone`` says that it is about what somebody infers who holds that release alone, or those of its table, where
    others are audited too.
    """

    adversary: str
    evidence: Evidence
    solver: SolverReport
    dropped: tuple[DroppedRow, ...]
    disagreements: tuple[DroppedRow, ...]
    asked: tuple[MeasureCall, ...]
    readings: Mapping[MeasureCall, Measurement]
    levels: tuple[KnowledgeLevel, ...] = ()
    under: str = ""
    of: str = ""
    is_alone: bool = False
    who: Adversary | None = None
    lacking: tuple[Lacking, ...] = ()

    @property
    def is_of_adversary(self) -> bool:
        """Whether it is about somebody who knows other columns than all that the tree tests."""
        return self.who is not None

    def measured(self, name: str, parameters: Parameters | None = None) -> Measurement:
        """Return what a measure read, with its defaults but for what is given."""
        return self.readings.get(call(name, parameters or {}), NOT_MEASURED)


@dataclass(frozen=True, slots=True)
class Audit:
    """What each adversary can infer, and what the reader should know about the audit as a whole.

    ``stopped`` is why it ended before everything was read, if it did; what was not read never passes. ``secret`` is the
    column that is to stay secret, where that is not the target. ``meanings`` are what columns are called for people.
    ``blame`` is which published numbers prove people's values. ``attacks`` are what attacks by trial found of members,
    where they were asked for: no part of any reading.
    """

    exposures: tuple[Exposure, ...]
    warnings: tuple[str, ...] = ()
    stopped: str = ""
    secret: str = ""
    meanings: tuple[ColumnMeaning, ...] = ()
    blame: Blame | Undetermined = NOT_BLAMED
    attacks: tuple[AttackResult, ...] = ()

    @property
    def dropped(self) -> tuple[DroppedRow, ...]:
        """What of the knowledge that the audit assumes the true table breaks, whoever was to know it, each once."""
        found = (
            dropped_row
            for exposure in self.exposures
            if not exposure.under
            for dropped_row in exposure.dropped
        )
        return tuple(dict.fromkeys(found))

    @property
    def adversaries(self) -> tuple[Exposure, ...]:
        """What those can infer who know other columns than all that the tree tests, under what the audit assumes."""
        return tuple(
            exposure
            for exposure in self.exposures
            if exposure.is_of_adversary and not exposure.under
        )

    @property
    def primary_exposure(self) -> Exposure:
        """What is told of first: where the secret is not the target, what the first of the adversaries can infer."""
        return self.adversaries[0] if self.secret and self.adversaries else self.full

    @property
    def full(self) -> Exposure:
        """What the adversary can infer who knows all quasi-identifiers: the first."""
        return self.exposures[0]

    def judged(self, measure_calls: Iterable[MeasureCall], under: str = "") -> tuple[Exposure, ...]:
        """Return the exposures that these measures are judged of, all at once.

        What no knowledge of columns changes is the same of everybody; where the secret is not the target, what the
        model says of the target is not asked.
        """
        exposures = [exposure for exposure in self.exposures if exposure.under == under]
        if not any(
            measures()[measure_call.measure].is_of_knowledge for measure_call in measure_calls
        ):
            return tuple(exposure for exposure in exposures if not exposure.is_of_adversary)
        return tuple(
            exposure for exposure in exposures if exposure.is_of_adversary or not self.secret
        )

    def worst(self, measure_call: MeasureCall) -> Reading:
        """Return what a measure reads of the adversary of whom it is worst; not told where it is not told of one."""
        exposures = [
            exposure
            for exposure in self.judged([measure_call])
            if not exposure.of or exposure.is_of_adversary
        ]
        readings = [
            exposure.readings.get(measure_call, NOT_MEASURED).reading for exposure in exposures
        ]
        intervals = [each for each in readings if not isinstance(each, Undetermined)]
        if len(intervals) < len(readings) or not intervals:
            pairs = zip(exposures, readings, strict=True)
            first = next(((by, r) for by, r in pairs if isinstance(r, Undetermined)), None)
            if first is None:
                return NOT_MEASURED.reading
            by, reading = first
            return Undetermined(f"{by.of}: {reading.reason}") if by.of else reading
        pick = min if measures()[measure_call.measure].risk == "low" else max
        return Interval(
            pick(interval.low for interval in intervals),
            pick(interval.high for interval in intervals),
        )


@dataclass(frozen=True, slots=True)
class ProvedColumn:
    """A column that node sizes prove of some people to an adversary who knows the other tested columns.

    ``release`` names its model. ``node`` is the name of the node that proves it of most people at once, ``path`` the
    way there, in the tree of that number, from 0; ``people_of_node`` are proved there. ``is_of_several`` says that the
    model has several trees.
    """

    column: str
    people: float
    release: str
    tree: int
    node: str
    path: str
    people_of_node: float
    is_of_several: bool


@dataclass(frozen=True, slots=True)
class AssumedColumns:
    """The tested columns that were assumed known, tree by tree, and what sizes of nodes prove of them.

    ``incomplete`` says why sizes may prove more than was found, one reason a release; nothing where all was looked at.
    """

    names: tuple[str, ...] = ()
    proved: tuple[ProvedColumn, ...] = ()
    incomplete: tuple[str, ...] = ()


def assumed_columns(audit: Audit) -> AssumedColumns:
    """Return the tested columns that an audit took as known, those of all its releases."""
    secret = audit.secret
    names, proved, incomplete = dict[str, None](), list[ProvedColumn](), list[str]()
    releases = list(_releases(audit))
    for exposure in releases:
        evidence = exposure.evidence
        own = names_of_tested(evidence.trees, but=secret)
        names.update(dict.fromkeys(own))
        size_inference = (
            infer_from_sizes(evidence.forest, evidence.population, own) if own else None
        )
        if size_inference is not None:
            proved += _in_words(exposure, size_inference)
            said = size_inference.incomplete
            release = f"{evidence.source}: " if len(releases) > 1 else ""
            incomplete += [f"{release}{said}"] if said else []
    return AssumedColumns(tuple(names), tuple(proved), tuple(incomplete))


def names_of_tested(trees: tuple[Tree, ...], but: str = "") -> tuple[str, ...]:
    """Return the columns that some split of some tree tests, all ``but`` one."""
    found = dict.fromkeys(feature.name for tree in trees for feature in tree.used_features())
    return tuple(name for name in found if name != but)


def _releases(audit: Audit) -> Iterator[Exposure]:
    """Yield an exposure of each model that was audited, the last release first."""
    seen = set[int]()
    for exposure in audit.exposures:
        model = exposure.evidence.model
        is_told = exposure.is_of_adversary or exposure.under or exposure.is_alone
        if not is_told and id(model) not in seen:
            seen.add(id(model))
            yield exposure


def _in_words(exposure: Exposure, size_inference: SizeInference) -> Iterator[ProvedColumn]:
    evidence = exposure.evidence
    for proof in size_inference.proofs:
        tree = evidence.trees[proof.tree]
        yield ProvedColumn(
            column=proof.column,
            people=proof.people,
            release=evidence.source,
            tree=proof.tree,
            node=tree.nodes[proof.node].name,
            path=path_text(tree, proof.node),
            people_of_node=proof.people_of_node,
            is_of_several=len(evidence.trees) > 1,
        )
