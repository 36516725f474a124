"""What an audit was asked: model, table and settings as given, and the subject of the audit once they are read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treewarden.audit.evidence import Enough
from treewarden.audit.facts.kinds import check_facts
from treewarden.audit.inverters import facts_of, settings_of
from treewarden.audit.knowledge.knowledge import (
    Knowledge,
    read_adversaries,
    read_knowledge,
    with_adversaries_of,
)
from treewarden.audit.measures import MeasureCall
from treewarden.audit.of_releases import KEY_OPTION, KeySetting
from treewarden.audit.options import DEFAULT, KNOWLEDGE, AuditOptions
from treewarden.audit.partial.adversary_request import AdversaryRequest
from treewarden.audit.population.population import Population, rerouted
from treewarden.audit.progress import Share, Step, silent
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.audit.run_tree import start_early
from treewarden.jobs.column_meanings import NONE_KNOWN, KnownMeanings, dictionary_at, known_meanings
from treewarden.jobs.counting import columns_needed, counted, source_of
from treewarden.jobs.inputs import (
    ModelInput,
    TableInput,
    called,
    model_name,
    opened,
    read,
    release_names,
    table_name,
)
from treewarden.jobs.population import nobody, people_of, with_contributors, with_options
from treewarden.jobs.training_consistency import check_training
from treewarden.policies.clause import Under
from treewarden.policies.judging.applicability import (
    applying,
    assuming,
    assumptions,
    enough,
    failing,
)
from treewarden.policies.judging.clause_evaluation import of_worlds
from treewarden.policies.pack import Pack, calls, load_pack
from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.errors import (
    KnowledgeError,
    OutputsError,
    TableError,
    TreeFormatError,
    TreewardenError,
)
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.tables.counting.addresses import parted
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.claimed_models import claim_of, with_claim
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, outputs_of
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.reports.document.parts import File

if TYPE_CHECKING:
    from treewarden.audit.population.linked_population import KnownGroups, UnlinkedReleases
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.audit.releases import LinkedReleases, ReleaseCase
    from treewarden.jobs.outputs_beside import OutputInput
    from treewarden.ppdm_models.outputs.published import PublishedOutput


@dataclass(frozen=True, slots=True)
class Earlier:
    """A model that was published before, of the same people or of some of them, with its own table."""

    model: ModelInput
    data: TableInput


@dataclass(frozen=True, slots=True)
class Request:
    """The model and the table of an audit, and how it is done; each may be a file, or in memory.

    ``knowledge`` says more of what the adversary knows than options can: a TOML file, or what such a file says.
    ``adversaries`` are files that declare who knows some columns only.
    ``policy`` is a pack that ships, by name, the path of another, or a pack. Without ``data`` only what the file of the
    model says by itself is judged. ``waivers`` and ``baseline`` are files
    that say what is accepted, ``name`` is the model's name in a gate, ``today`` decides which waivers have expired.
    Clauses of the severity ``fail_on`` or a graver one have to be met; None: what the pack itself has, errors if it is
    read from a file. ``earlier`` are the models that were published before, in that order; records of different tables
    are one person where the column ``key`` holds the same; without one that is not known, and nothing passes.
    ``key_setting`` is what messages call the naming of that column. ``dictionary`` is a CSV file that says what columns
    and values are called for people; nothing is judged by it. ``population`` is a register of candidates: people any of
    whom may be in the table, and its own among them; checks of membership need it. ``beside`` are outputs of the same
    people that are published beside the model. ``domain`` is a TOML file with what
    is public of the columns, by which whole records may follow from the file alone.
    """

    model: ModelInput
    data: TableInput | None
    options: AuditOptions = DEFAULT
    knowledge: Path | Knowledge | None = None
    policy: str | Pack = "standard"
    waivers: Path | None = None
    baseline: Path | None = None
    name: str = ""
    today: date | None = None
    fail_on: Severity | None = None
    earlier: tuple[Earlier, ...] = ()
    key: str | None = None
    key_setting: KeySetting = KEY_OPTION
    adversaries: tuple[Path, ...] = ()
    dictionary: Path | None = None
    population: TableInput | None = None
    beside: tuple[OutputInput, ...] = ()
    domain: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read, which nothing may overwrite."""
        policy = (Path(self.policy),) if isinstance(self.policy, str) else ()
        given = (self.model, self.data, self.knowledge, *policy, self.waivers, self.baseline)
        given += (self.dictionary, self.population, self.domain)
        given += (*self.adversaries, *self.beside)
        given += tuple(each for earlier in self.earlier for each in (earlier.model, earlier.data))
        return tuple(parted(each)[0] for each in given if isinstance(each, Path))


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
            asked=calls(own),
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
                file, people, under, asked=asked, options=options, audit=audit, step=step
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
        asked: Pack,
        options: AuditOptions,
        audit: Audit,
        step: Step,
    ) -> Audit | TreewardenError:
        """Return what the adversary of some clauses can infer; why not, where the table contradicts what they know."""
        knowledge = under.of(self._knowledge(file))
        is_asked = any(map(of_worlds, asked.clauses))
        measurements = audit.full.readings
        if (
            knowledge == self._knowledge(file)
            and not is_asked
            and all(c in measurements for c in calls(asked))
        ):
            return Audit(audit.exposures)
        brief = replace(options, worlds=options.worlds and is_asked, levels=False)

        def told(stage: str) -> AbstractContextManager[Share | None]:
            return step(f"{stage}, under {under.words}")

        try:
            return self._run(
                file,
                people,
                knowledge,
                asked=calls(asked),
                options=brief,
                step=told,
                is_enough=enough(asked, under.words),
                grades=False,
            )
        except (KnowledgeError, TableError) as error:
            return error

    def _run(
        self,
        file: OpenedFile,
        people: Population,
        knowledge: Knowledge,
        asked: tuple[MeasureCall, ...],
        options: AuditOptions,
        step: Step,
        is_enough: Enough | None,
        *,
        grades: bool,
        fails: Enough | None = None,
    ) -> Audit:
        """Audit a file under all adversaries; together with the releases before it, where there are some."""
        more = (asked, options, file.leaks, step, is_enough)
        if self.secret:
            from treewarden.audit.adversaries import of_model_alone  # heavy: for a secret only

            audit = of_model_alone(file.model, people, knowledge, self.secret, asked, file.leaks)
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
                calls=asked,
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
            asked=self.asked,
            calls=asked,
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
        return applying(self.pack, model, self.secret, has_register=self.register is not None)

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


def read_subject(request: Request, step: Step = silent) -> AuditInputs:
    """Read the files of a request; the small ones first, so that a slip in them shows at once.

    Raises:
        TreewardenError: one of them cannot be read, or they do not fit each other.
    """
    pack = pack_of(request)
    knowledge = with_options(knowledge_of(request), request.options)
    with step(f"reading {model_name(request.model)}"):
        file = opened(request.model)
    names: tuple[str, ...] = ()
    if request.earlier:
        names = release_names([*(each.model for each in request.earlier), request.model])
        file = called(file, names[-1])
    options = request.options
    file = _as_stated(file, request)
    tree = file.model
    dictionary = dictionary_at(request.dictionary)
    _check_outputs(tree)
    if not request.earlier:
        check_training(knowledge, _said_in(request), [tree])
    if request.data is None:
        _check_without_table(request, knowledge)
        people_of_file = nobody(tree, options)
        meanings = known_meanings(dictionary, None, tree, people_of_file, AdversaryRequest())
        return AuditInputs(file, people_of_file, knowledge, pack, options, meanings=meanings)
    start_early(tree, options)
    with step(f"reading {table_name(request.data)}"):

        def people(table: Table) -> tuple[Population, AdversaryRequest]:
            found = _people_of(request, tree, table, knowledge)
            if request.key is None or request.earlier:
                return found
            return with_contributors(found[0], table, request.key), found[1]

        source = source_of(request.data, tree, knowledge, is_one=not request.earlier)
        if source is None:
            table = read(request.data)
            population, adversary_request = people(table)
        else:
            wanted = columns_needed(source.names, tree, options, knowledge)
            table, (population, adversary_request) = counted(source, wanted, people)
    check_facts(knowledge, tree.classes, population, _said_in(request))
    earlier, shared = _releases(request, names, tree, table, population, step)
    if earlier:
        check_training(
            knowledge, _said_in(request), [*(release_case.model for release_case in earlier), tree]
        )
    return AuditInputs(
        file=file,
        population=population,
        knowledge=knowledge,
        pack=pack,
        options=options,
        earlier=earlier,
        shared=shared,
        asked=adversary_request,
        table=File(name=table.source, sha256=table.digest) if table.digest else None,
        meanings=known_meanings(dictionary, table, tree, population, adversary_request),
        register=_register(request, tree, population, table, step),
        beside=_outputs(request, tree, population, adversary_request),
        domain=_domain(request, tree),
    )


def _domain(request: Request, model: Model) -> DeclaredDomain | None:
    """Return what is declared of the public domain; None where nothing is.

    Raises:
        KnowledgeError: it cannot be read, is not about the model, or several models are audited.
    """
    if request.domain is None:
        return None
    if request.earlier:
        problem = "domain: it is about one model; audit it by itself, or leave the domain out"
        raise KnowledgeError(_said_in(request), problem)
    from treewarden.jobs.public_domain import public_domain_of  # where one is declared

    return public_domain_of(request.domain, model)


def _outputs(
    request: Request, model: Model, population: Population, adversaries: AdversaryRequest
) -> tuple[PublishedOutput, ...]:
    """Return what outputs beside the model say, where there are some; errors as for ``read_outputs``."""
    if not request.beside:
        return ()
    from treewarden.jobs.outputs_beside import OtherQuestions, read_outputs  # for outputs only

    questions = OtherQuestions(bool(request.earlier), adversaries)
    return read_outputs(request.beside, model, population, questions)


def _as_stated(file: OpenedFile, request: Request) -> OpenedFile:
    """Return a file with what its owner states beside it: what its columns are called, and what it claims.

    Raises:
        TreewardenError: it cannot be so.
    """
    options = request.options
    if options.columns:
        from treewarden.ppdm_models.tree.rename_columns import rename_columns  # where asked

        file = replace(file, model=rename_columns(file.model, options.column_of_feature))
    if options.claims is None:
        return file
    if request.earlier:
        problem = "a claim is about one model; audit each model by itself, or leave it out"
        raise KnowledgeError("claims", problem)
    return replace(file, model=claimed(file.model, options.claims))


def claimed(model: Model, words: str) -> Model:
    """Return a model with what its owner claims of differential privacy, beside what its file does.

    Raises:
        KnowledgeError: the words are no claim, or say other than the file.
    """
    try:
        return with_claim(model, read_claim(words, "its owner", claim_of(model)))
    except ValueError as error:
        raise KnowledgeError("claims", str(error)) from error


def _register(
    request: Request, model: Model, people: Population, table: Table, step: Step
) -> Population | None:
    """Return the register of candidates; None where none is given.

    Raises:
        TreewardenError: it cannot be read, or is none of the table's people.
    """
    if request.population is None:
        return None
    from treewarden.jobs.register import IdentifiedTable, register_of  # heavy: for a register only

    with step(f"reading {table_name(request.population)}"):
        # Where there are earlier releases, the column says who is who in their tables.
        identified = IdentifiedTable(table, None if request.earlier else request.key)
        return register_of(request.population, model, people, request.options, identified)


def _check_without_table(request: Request, knowledge: Knowledge) -> None:
    """Check that nothing is known that needs a table.

    Raises:
        KnowledgeError: something is.
    """
    if knowledge.adversaries or knowledge.secret is not None:
        problem = (
            "an adversary who knows only some columns can be judged only with the table; add --data "
            "TABLE, or leave out the adversaries"
        )
        raise KnowledgeError(_said_in(request), problem)
    if request.population is not None:
        problem = "population: a register is held against the training table; give it with --data, or leave it out"
        raise KnowledgeError(_said_in(request), problem)
    if request.beside:
        problem = (
            "it is held against the training table; give that with --data, or leave the output out"
        )
        raise OutputsError(request.beside[0].name, problem)
    if request.domain is not None:
        problem = "domain: an audit needs the table for it; see treewarden inspect --domain, or leave it out"
        raise KnowledgeError(_said_in(request), problem)
    if knowledge.facts:
        problem = (
            "fact: facts are about people of the table; add --data TABLE, or leave out the facts"
        )
        raise KnowledgeError(_said_in(request), problem)


def _people_of(
    request: Request, model: Model, table: Table, knowledge: Knowledge
) -> tuple[Population, AdversaryRequest]:
    """Return the people of the last release, and the adversaries who know only some of their columns."""
    options = request.options
    is_declared = bool(knowledge.adversaries) or knowledge.secret is not None
    if not is_declared and not options.target_known:
        return people_of(request.model, model, table, options), AdversaryRequest()
    from treewarden.jobs.declared_adversaries import people_and_adversaries  # as above

    return people_and_adversaries(
        request.model, model, table, options, knowledge, _said_in(request)
    )


def _check_outputs(model: Model) -> None:
    """Refuse a model of several outputs: what each says of people, and all of them together, is not worked out.

    Raises:
        TreeFormatError: it predicts several.
    """
    outputs = outputs_of(model)
    if outputs > 1:
        problem = (
            f"predicts {outputs:,} targets, and treewarden audits models with one; train one "
            "model for each target, and "
            "audit them all before you publish any"
        )
        raise TreeFormatError(model.source, problem)


def _releases(
    request: Request,
    names: tuple[str, ...],
    last: Model,
    table: Table,
    people: Population,
    step: Step,
) -> tuple[tuple[ReleaseCase, ...], KnownGroups | UnlinkedReleases | None]:
    """Return the releases before the last one, and who is in which of all of them; None where there are none.

    ``names`` says what all are called.

    Raises:
        TreewardenError: one of them cannot be read, or they do not fit each other.
    """
    if not request.earlier:
        return (), None
    from treewarden.audit.population.linked_population import link_releases  # for several
    from treewarden.audit.releases import ReleaseCase  # heavy: for several only
    from treewarden.ppdm_models.tree.rename_columns import known_names, rename_columns

    cases, tables = [], []
    known: dict[object, Table] = {_place_of(request.data): table}
    for earlier, name in zip(request.earlier, names, strict=False):
        with step(f"reading {name} and {table_name(earlier.data)}"):
            file = called(opened(earlier.model), name)
            columns = known_names(file.model, request.options.column_of_feature)
            file = replace(file, model=rename_columns(file.model, columns))
            place = _place_of(earlier.data)
            own = known[place] if place in known else read(earlier.data)
            known[place] = own
            population = people_of(earlier.model, file.model, own, request.options)
        _check_outputs(file.model)
        cases.append(ReleaseCase(file.model, population, file.leaks))
        tables.append(own)
    models = (*(case.model for case in cases), last)
    populations = (*(case.population for case in cases), people)
    shared = link_releases(models, (*tables, table), populations, request.key, request.key_setting)
    return tuple(cases), shared


def _place_of(data: TableInput | None) -> object:
    """Return what tells a table from others, however it is named: the file that it is in, or itself."""
    if isinstance(data, Path):
        return data.resolve()
    return id(data) if isinstance(data, Table) else data


def pack_of(request: Request) -> Pack:
    """Return the policy of a request, with what counts in it.

    Raises:
        PolicyError: there is no such pack, or it is not understood.
    """
    pack = load_pack(request.policy) if isinstance(request.policy, str) else request.policy
    if request.fail_on is None:
        return pack
    return pack.model_copy(update={"fail_on": request.fail_on})


def _said_in(request: Request) -> str:
    """Return the file that says what the adversary knows, or the options that do, as messages name it."""
    if request.knowledge is None and request.adversaries:
        return request.adversaries[0].name
    if request.knowledge is None and (request.options.knows or request.options.secret):
        return "options"
    return request.knowledge.name if isinstance(request.knowledge, Path) else "knowledge"


def knowledge_of(request: Request) -> Knowledge:
    """Return what the adversary of a request is assumed to know, and who knows some columns only.

    Raises:
        KnowledgeError: a file that says it cannot be read, or is not understood; or two say what is not both so.
    """
    files = [
        (_read(adversary, read_adversaries), adversary.name) for adversary in request.adversaries
    ]
    return with_adversaries_of(_of_everybody(request), files)


def _of_everybody(request: Request) -> Knowledge:
    if request.knowledge is None:
        return Knowledge(**{name: getattr(request.options, name) for name in KNOWLEDGE})
    if isinstance(request.knowledge, Knowledge):
        return request.knowledge
    return _read(request.knowledge, read_knowledge)


def _read(path: Path, read_as: Callable[[bytes, str], Knowledge]) -> Knowledge:
    """Return what a file says of adversaries.

    Raises:
        KnowledgeError: the file cannot be read, or is not understood.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KnowledgeError(str(path), f"{error.strerror}; give a TOML file") from error
    return read_as(data, path.name)
