"""Everything an audit needs, once it is read, and the audits that are made of it.

Column meanings come from the table itself and from a data dictionary beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treewarden.audit.evidence import Enough
from treewarden.audit.inverters import facts_of, settings_of
from treewarden.audit.knowledge.knowledge import (
    Knowledge,
)
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.secret_values import AdversaryRequest
from treewarden.audit.population.population import Population, rerouted
from treewarden.audit.progress import Share, Step, silent
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.policies.clause import Under
from treewarden.policies.judging.applicability import (
    applying,
    assuming,
    assumptions,
    enough,
    failing,
)
from treewarden.policies.judging.clause_evaluation import of_worlds
from treewarden.policies.pack import Pack, calls
from treewarden.ppdm_models.errors import (
    KnowledgeError,
    TableError,
    TreewardenError,
)
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.tables.matching import alike
from treewarden.ppdm_models.tables.table import (
    ColumnMeaning,
    Table,
    has_labels_for_all,
    listed,
    read_dictionary,
)
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.document.parts import File

if TYPE_CHECKING:
    from treewarden.audit.population.linked_population import KnownGroups, UnlinkedReleases
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.audit.releases import LinkedReleases, ReleaseCase
    from treewarden.ppdm_models.outputs.published import PublishedOutput


MOST_COLUMNS = 100
"""So many columns are told of; reports name no more of them one by one."""


@dataclass(frozen=True, slots=True)
class KnownMeanings:
    """What the columns that reports name mean, the sensitive one first; ``warnings`` are on the dictionary."""

    columns: tuple[ColumnMeaning, ...] = ()
    warnings: tuple[str, ...] = ()


NONE_KNOWN = KnownMeanings()
ABOUT_DICTIONARY = "--dictionary"
"""How a warning begins that is about a dictionary."""


@dataclass(frozen=True, slots=True)
class DataDictionary:
    """What a file says that columns mean, and its name; empty where none was given."""

    name: str = ""
    columns: tuple[ColumnMeaning, ...] = ()


def dictionary_of(source: Path | DataDictionary | None) -> DataDictionary:
    """Return the dictionary at a path, one that was read already, or an empty one.

    Raises:
        DictionaryError: it is not understood.
    """
    if isinstance(source, Path):
        return DataDictionary(source.name, read_dictionary(source))
    return source or DataDictionary()


def known_meanings(
    dictionary: DataDictionary,
    table: Table | None,
    model: Model,
    people: Population,
    adversary_request: AdversaryRequest,
) -> KnownMeanings:
    """Return what the columns of an audit mean; what the ``dictionary`` says goes before what the table says.

    Columns are those that the model tests, what it predicts, what is secret and what adversaries know. A column is
    found as models find it: a difference in case, blanks and points does not count.
    """
    of_table = () if table is None else table.meanings
    secret = () if adversary_request.secret is None else (adversary_request.secret.name,)
    target = people.sensitive or model.target
    features = (feature.name for feature in model.features)
    names = dict.fromkeys(name for name in (*secret, target, *people.qi, *features) if name)
    found = (_meaning_of(name, of_table, dictionary.columns) for name in names)
    columns = [_checked_labels(meaning, table) for meaning in found if meaning is not None]
    warnings = []
    if table is not None:
        known = list(table.columns)
        lacking = [each.name for each in dictionary.columns if not alike(known, [each.name])]
        if lacking:
            problem = (
                f"{ABOUT_DICTIONARY}: {dictionary.name} describes columns or values that the table "
                f"does not have: {listed(lacking)}"
            )
            warnings.append(f"{problem}; correct the names, or leave them out")
    if len(columns) > MOST_COLUMNS:
        more = len(columns) - MOST_COLUMNS
        warnings.append(f"labels of {more:,} more columns are known, and are not shown")
    return KnownMeanings(tuple(columns[:MOST_COLUMNS]), tuple(warnings))


def _meaning_of(
    name: str, of_table: Iterable[ColumnMeaning], written: Iterable[ColumnMeaning]
) -> ColumnMeaning | None:
    """Return what a column means under the name that reports have for it; None where nobody says it."""
    meaning = ColumnMeaning(name)
    for source in (of_table, written):
        by_name = {each.name: each for each in source}
        match = name if name in by_name else next(iter(alike(list(by_name), [name])), None)
        if match is not None:
            meaning = meaning.under(by_name[match])
    return meaning if meaning.label or meaning.values else None


def _checked_labels(meaning: ColumnMeaning, table: Table | None) -> ColumnMeaning:
    """Return a meaning that says whether every value of the table has a label."""
    if table is None or not meaning.values or meaning.left_out:
        return meaning
    names = alike(list(table.columns), [meaning.name])
    column = table.columns[names.pop()] if len(names) == 1 else None
    is_whole = column is not None and has_labels_for_all(meaning, column)
    return replace(meaning, all_labelled=is_whole)


@dataclass(frozen=True, slots=True)
class AuditInputs:
    """Everything an audit needs, read and checked against each other.

    ``earlier`` are the releases before this one, and ``shared`` is who is in which of all of them, if that is known.
    ``asked`` are the adversaries who know only some columns, and what they are after. ``table`` is what reports tell of
    a table that was counted. ``meanings`` are what columns are called for people. ``register`` are the candidates,
    ``beside`` is what is published beside the model, and ``domain`` what is public of the columns, if that is declared.
    """

    file: OpenedFile
    population: Population
    knowledge: Knowledge
    pack: Pack
    options: AuditOptions
    earlier: tuple[ReleaseCase, ...] = ()
    shared: KnownGroups | UnlinkedReleases | None = None
    asked: AdversaryRequest = AdversaryRequest()
    table: File | None = None
    meanings: KnownMeanings = NONE_KNOWN
    register: Population | None = None
    beside: tuple[PublishedOutput, ...] = ()
    domain: DeclaredDomain | None = None

    @property
    def secret(self) -> str:
        """The column that is to stay secret, where that is not the target; "" where it is."""
        return "" if self.asked.secret is None else self.asked.secret.name

    @property
    def tree(self) -> Model:
        """The model as it would be published."""
        return self.file.model

    def audit(
        self,
        file: OpenedFile,
        step: Step = silent,
        *,
        grades: bool = True,
        is_stopped_by_failing: bool = False,
    ) -> Audit:
        """Audit a file, its own or a repaired one, over the same people under the same knowledge and policy.

        Where clauses assume other knowledge, it is audited once for each of these too; all of them share the budget for
        whole records. ``step`` is told of each stage; for ``grades`` see ``treewarden.audit.run``. Where it
        ``is_stopped_by_failing``, clauses about the estimate are not read of what fails by whole records.
        """
        if self.population.is_absent:
            return self._explained(self._alone(file))
        pack, people = self._applying(file.model), self._people(file)
        apart = assumptions(pack)
        sharing = 1 + sum(any(map(of_worlds, asked.clauses)) for _, asked in apart.values())
        options = replace(self.options, worlds_budget=self.options.worlds_budget / sharing)
        own, knowledge = assuming(pack, ""), self._knowledge(file)
        audit = self._run(
            file,
            people,
            knowledge,
            calls=calls(own),
            options=options,
            step=step,
            is_enough=enough(own),
            grades=grades,
            fails=failing(own) if is_stopped_by_failing else None,
        )
        if audit.stopped:
            return self._explained(audit)
        exposures, warnings = list(audit.exposures), list(audit.warnings)
        for words, (under, asked) in apart.items():
            found = self._assuming(
                file, people, under, pack=asked, options=options, audit=audit, step=step
            )
            if isinstance(found, TreewardenError):
                warnings.append(f"no audit could be made under {words}: {found}")
            else:
                exposures += [replace(exposure, under=words) for exposure in found.exposures]
                new = [warning for warning in found.warnings if warning not in audit.warnings]
                warnings += [f"under {words}: {each}" for each in new]
        return self._explained(replace(audit, exposures=tuple(exposures), warnings=tuple(warnings)))

    def _explained(self, audit: Audit) -> Audit:
        """Return an audit with what its columns are called for people."""
        about_register = () if self.register is None else self.register.warnings
        warnings = (*audit.warnings, *self.meanings.warnings, *about_register)
        return replace(audit, warnings=warnings, meanings=self.meanings.columns)

    def _assuming(
        self,
        file: OpenedFile,
        people: Population,
        under: Under,
        pack: Pack,
        options: AuditOptions,
        audit: Audit,
        step: Step,
    ) -> Audit | TreewardenError:
        """Return what the adversary of some clauses can infer; why not, where the table contradicts what they know."""
        knowledge = under.apply_to(self._knowledge(file))
        is_asked = any(map(of_worlds, pack.clauses))
        measurements = audit.full.readings
        if (
            knowledge == self._knowledge(file)
            and not is_asked
            and all(c in measurements for c in calls(pack))
        ):
            return Audit(audit.exposures)
        brief = replace(options, worlds=options.worlds and is_asked, levels=False)

        def tell_stage(stage: str) -> AbstractContextManager[Share | None]:
            return step(f"{stage}, under {under.words}")

        try:
            return self._run(
                file,
                people,
                knowledge,
                calls=calls(pack),
                options=brief,
                step=tell_stage,
                is_enough=enough(pack, under.words),
                grades=False,
            )
        except (KnowledgeError, TableError) as error:
            return error

    def _run(
        self,
        file: OpenedFile,
        people: Population,
        knowledge: Knowledge,
        calls: tuple[MeasureCall, ...],
        options: AuditOptions,
        step: Step,
        is_enough: Enough | None,
        *,
        grades: bool,
        fails: Enough | None = None,
    ) -> Audit:
        """Audit a file under all adversaries; together with the releases before it, where there are some."""
        more = (calls, options, file.leaks, step, is_enough)
        if self.secret:
            from treewarden.audit.adversaries import of_model_alone  # heavy: for a secret only

            audit = of_model_alone(file.model, people, knowledge, self.secret, calls, file.leaks)
        elif self.shared is None:
            run_one = partial(run, file.model, people, knowledge, *more, register=self.register)
            run_one = partial(run_one, beside=self.beside)
            audit = run_one(grades=grades, fails=fails, domain=self.domain)
        else:
            from treewarden.audit.releases import ReleaseCase, run_releases  # heavy: for several

            cases = (*self.earlier, ReleaseCase(file.model, people, file.leaks))
            audit = run_releases(
                cases,
                self.shared,
                knowledge,
                calls=calls,
                options=options,
                step=step,
                enough=is_enough,
            )
        if not self.asked.partial:
            return audit
        from treewarden.audit.adversaries import (
            with_adversaries,  # heavy: for partial knowledge only
        )

        knowing = audit.full.evidence.knowledge
        return with_adversaries(
            audit,
            file.model,
            people,
            knowledge=knowing,
            request=self.asked,
            calls=calls,
            options=options,
            step=step,
            releases=self._linked(file, people),
        )

    def _linked(self, file: OpenedFile, people: Population) -> LinkedReleases | None:
        """Return all releases, where a file is the last of several."""
        if self.shared is None:
            return None
        from treewarden.audit.releases import (  # heavy: for several only
            LinkedReleases,
            ReleaseCase,
        )

        cases = (*self.earlier, ReleaseCase(file.model, people, file.leaks))
        return LinkedReleases(cases, self.shared)

    def _knowledge(self, file: OpenedFile) -> Knowledge:
        """Return what the adversary knows: of a changed file also how the original was trained, withheld or not."""
        people = self.population.records
        facts = {} if file is self.file else facts_of(self.file.model, people)
        of_library = settings_of(file.model)
        told = {name: fact.value for name, fact in facts.items() if name in of_library}
        known = {name: value for name, value in told.items() if value is not None}
        return self.knowledge.model_copy(update={"training": known | self.knowledge.training})

    def glance(self, file: OpenedFile) -> Audit:
        """Take the readings of its audit that need no estimate; what is assumed to be known has no part in them."""
        if self.population.is_absent:
            return self._alone(file)
        pack, people = self._applying(file.model), self._people(file)
        from treewarden.audit.leaf_only_audit import glance  # for a first look only

        audit = glance(file.model, people, self.knowledge, calls(pack), file.leaks)
        return _for_all(replace(audit, secret=self.secret), pack)

    def _alone(self, file: OpenedFile) -> Audit:
        """Take the readings that a file bears without any table."""
        pack, sensitive = applying(self.pack, file.model), self.options.sensitive
        from treewarden.audit.leaf_only_audit import glance_at_file  # without a table only

        audit = glance_at_file(file.model, self.knowledge, calls(pack), file.leaks, sensitive)
        return _for_all(audit, pack)

    def _applying(self, model: Model) -> Pack:
        """Return the clauses of the policy that apply to a model, as it is audited here."""
        has = {
            "population": self.register is not None,
            "totals": bool(self.beside) and model.task is Task.REGRESSION,
        }
        extra_inputs = [name for name, is_given in has.items() if is_given]
        return applying(self.pack, model, self.secret, extra_inputs=extra_inputs)

    def _people(self, file: OpenedFile) -> Population:
        """Return the same people, where they stop in the trees of a file."""
        tree = file.model
        if file is self.file or isinstance(tree, Ensemble):
            return self.population
        return rerouted(tree, self.population)


def _for_all(seen: Audit, pack: Pack) -> Audit:
    """Return readings that no knowledge changes as those under each assumption of a pack too."""
    others = (replace(seen.full, under=words) for words in assumptions(pack))
    return replace(seen, exposures=(*seen.exposures, *others))
