"""Reads the files of a request and checks them against each other: model, table, knowledge, policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from treewarden.audit.facts.kinds import check_facts
from treewarden.audit.inverters import contradicted, settings_of
from treewarden.audit.knowledge.knowledge import (
    Knowledge,
    read_adversaries,
    read_knowledge,
    with_adversaries_of,
)
from treewarden.audit.knowledge.levels import OPTIONS
from treewarden.audit.options import KNOWLEDGE
from treewarden.audit.partial.secret_values import AdversaryRequest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, nobody_hears, silent
from treewarden.audit.run_tree import start_early
from treewarden.jobs.audit_inputs import AuditInputs, dictionary_of, known_meanings
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import (
    TableInput,
    called,
    model_name,
    opened,
    read,
    release_names,
    table_name,
)
from treewarden.jobs.population import (
    columns_needed,
    counted,
    nobody,
    people_of,
    source_of,
    with_contributors,
    with_options,
)
from treewarden.policies.pack import Pack, load_pack
from treewarden.ppdm_models.errors import (
    KnowledgeError,
    OutputsError,
    TreeFormatError,
    in_role,
    reading_problem,
)
from treewarden.ppdm_models.files.load import OpenedFile
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import (
    Fact,
    FactSource,
    Model,
    claim_of,
    claims_privacy,
    outputs_of,
)
from treewarden.ppdm_models.tree.privacy_claim import ClaimUnit
from treewarden.reports.document.parts import File
from treewarden.reports.document.words import listed

if TYPE_CHECKING:
    from treewarden.audit.population.linked_population import KnownGroups, UnlinkedReleases
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.audit.releases import ReleaseCase
    from treewarden.ppdm_models.outputs.published import PublishedOutput

SAYS = {FactSource.KNOWN: "says", FactSource.DERIVED: "shows by its numbers"}


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
    dictionary = dictionary_of(request.files.dictionary)
    _check_outputs(tree)
    _check_noise(knowledge, [tree])
    if not request.earlier:
        check_training(knowledge, _said_in(request), [tree])
    if request.data is None:
        _check_without_table(request, knowledge)
        people_of_file = nobody(tree, options)
        meanings = known_meanings(dictionary, None, tree, people_of_file, AdversaryRequest())
        return AuditInputs(file, people_of_file, knowledge, pack, options, meanings=meanings)
    start_early(tree, options)
    with step(f"reading {table_name(request.data)}") as share:

        def people(table: Table) -> tuple[Population, AdversaryRequest]:
            (share or nobody_hears)(1, 2, "parts")  # what follows groups the people
            found = _people_of(request, tree, table, knowledge)
            return _with_persons(found[0], tree, table, request), found[1]

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
        models = [*(release_case.model for release_case in earlier), tree]
        _check_noise(knowledge, models)
        check_training(knowledge, _said_in(request), models)
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


def _with_persons(
    population: Population, model: Model, table: Table, request: Request
) -> Population:
    """Return the people of a table, and whose each record is where a column says so.

    Of several releases that is asked only for a claim of differential privacy about persons: they are linked by it.
    """
    if request.key is None:
        return population
    if request.earlier:
        claim = claim_of(model)
        if claim is None or claim.unit is not ClaimUnit.PERSON:
            return population
    return with_contributors(population, table, request.key)


def _domain(request: Request, model: Model) -> DeclaredDomain | None:
    """Return what is declared of the public domain; None where nothing is.

    Raises:
        KnowledgeError: it cannot be read, is not about the model, or several models are audited.
    """
    if request.files.domain is None:
        return None
    if request.earlier:
        problem = (
            "domain: it applies to one model only; audit each model by itself, or remove the domain"
        )
        raise KnowledgeError(_said_in(request), problem)
    from treewarden.jobs.further_files import public_domain_of  # where one is declared

    return public_domain_of(request.files.domain, model)


def _outputs(
    request: Request, model: Model, population: Population, adversaries: AdversaryRequest
) -> tuple[PublishedOutput, ...]:
    """Return what outputs beside the model say, where there are some; errors as for ``read_outputs``."""
    if not request.files.beside:
        return ()
    from treewarden.jobs.further_files import OtherQuestions, read_outputs  # for outputs only

    questions = OtherQuestions(bool(request.earlier), adversaries)
    return read_outputs(request.files.beside, model, population, questions)


def _as_stated(file: OpenedFile, request: Request) -> OpenedFile:
    """Return a file with what its owner states beside it: what its columns are called, and what it claims.

    Raises:
        TreewardenError: it cannot be so.
    """
    options = request.options
    if options.columns:
        from treewarden.ppdm_models.tree.rename_columns import rename_columns  # where asked

        file = replace(file, model=rename_columns(file.model, options.column_of_feature))
    return replace(file, model=_claimed(file, request, -1))


def _claimed(file: OpenedFile, request: Request, release: int) -> Model:
    """Return the model of a release with what its owner claims of differential privacy, and what no claim covers."""
    if request.options.claims is None and not claims_privacy(file.model):
        return file.model
    from treewarden.jobs.declared import claim_words, claimed, held_to_trees  # for claims only

    return held_to_trees(claimed(file.model, claim_words(request)[release]), file.opened)


def _check_noise(knowledge: Knowledge, models: Sequence[Model]) -> None:
    if any(map(claims_privacy, models)):
        from treewarden.jobs.declared import check_labels_are_noise  # as above

        check_labels_are_noise(knowledge, models)


def _register(
    request: Request, model: Model, people: Population, table: Table, step: Step
) -> Population | None:
    """Return the register of candidates; None where none is given.

    Raises:
        TreewardenError: it cannot be read, or is none of the table's people.
    """
    if request.files.population is None:
        return None
    from treewarden.jobs.further_files import (  # heavy: for a register only
        IdentifiedTable,
        register_of,
    )

    with step(f"reading {table_name(request.files.population)}"):
        # Where there are earlier releases, the column says who is who in their tables.
        identified = IdentifiedTable(table, None if request.earlier else request.key)
        return register_of(request.files.population, model, people, request.options, identified)


def _check_without_table(request: Request, knowledge: Knowledge) -> None:
    """Check that nothing is known that needs a table.

    Raises:
        KnowledgeError: something is.
    """
    if knowledge.adversaries or knowledge.secret is not None:
        problem = (
            "an adversary with partial knowledge can be judged only with the table; add --data "
            "TABLE, or remove the adversaries"
        )
        raise KnowledgeError(_said_in(request), problem)
    if request.files.population is not None:
        problem = (
            "a register (population) can be used only with the training table; add --data TABLE, "
            "or remove the register"
        )
        raise KnowledgeError(_said_in(request), problem)
    if request.files.beside:
        problem = (
            "an output can be judged only with the training table; add --data TABLE, or remove the "
            "output"
        )
        raise OutputsError(request.files.beside[0].name, problem)
    if request.files.domain is not None:
        problem = (
            "domain: an audit can use it only with the table; add --data TABLE, or use treewarden "
            "inspect --domain"
        )
        raise KnowledgeError(_said_in(request), problem)
    if knowledge.facts:
        problem = (
            "fact: facts can be judged only with the table; add --data TABLE, or remove the facts"
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
    from treewarden.jobs.declared import people_and_adversaries  # as above

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
            f"predicts {outputs:,} targets, but treewarden audits models with one; train one model "
            "for each target, and audit all of them before you publish any"
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
    for number, (earlier, name) in enumerate(zip(request.earlier, names, strict=False)):
        with step(f"reading {name} and {table_name(earlier.data)}"):
            file = called(opened(earlier.model), name)
            columns = known_names(file.model, request.options.column_of_feature)
            file = replace(file, model=rename_columns(file.model, columns))
            file = replace(file, model=_claimed(file, request, number))
            place = _place_of(earlier.data)
            with in_role(f"the table of {name}"):
                own = known[place] if place in known else read(earlier.data)
                known[place] = own
                population = people_of(earlier.model, file.model, own, request.options)
                population = _with_persons(population, file.model, own, request)
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
    if request.files.knowledge is None and request.files.adversaries:
        return request.files.adversaries[0].name
    if request.files.knowledge is None and (request.options.knows or request.options.secret):
        return OPTIONS
    return (
        request.files.knowledge.name if isinstance(request.files.knowledge, Path) else "knowledge"
    )


def knowledge_of(request: Request) -> Knowledge:
    """Return what the adversary of a request is assumed to know, and who knows some columns only.

    Raises:
        KnowledgeError: a file that says it cannot be read, or is not understood; or two say what is not both so.
    """
    files = [
        (_read(adversary, read_adversaries), adversary.name)
        for adversary in request.files.adversaries
    ]
    return with_adversaries_of(_of_everybody(request), files)


def _of_everybody(request: Request) -> Knowledge:
    if request.files.knowledge is None:
        return Knowledge(**{name: getattr(request.options, name) for name in KNOWLEDGE})
    if isinstance(request.files.knowledge, Knowledge):
        return request.files.knowledge
    return _read(request.files.knowledge, read_knowledge)


def _read(path: Path, read_as: Callable[[bytes, str], Knowledge]) -> Knowledge:
    """Return what a file says of adversaries.

    Raises:
        KnowledgeError: the file cannot be read, or is not understood.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KnowledgeError(str(path), reading_problem(error, "give a TOML file")) from error
    return read_as(data, path.name)


# What a knowledge file says of the training, checked against what the model files say of it.


def check_training(knowledge: Knowledge, where: str, models: Sequence[Model]) -> None:
    """Check that each setting is one of the models, and that no model file says that it was another.

    Of several models it may be of some alone; ``where`` is the file that says the settings.

    Raises:
        KnowledgeError: it is none, or is contradicted.
    """
    settings = [settings_of(model) for model in models]
    every = frozenset[str]().union(*settings)
    told = knowledge.training
    for name in told:
        if name not in every:
            raise KnowledgeError(where, _strange(name, every, models[-1]))
    shown = [
        contradicted(model, {name: value for name, value in told.items() if name in own})
        for model, own in zip(models, settings, strict=True)
    ]
    for name, value in told.items():
        having = [place for place, own in enumerate(settings) if name in own]
        if all(name in shown[place] for place in having):
            last = having[-1]
            said = f"{models[last].source} {_in_words(shown[last][name])}"
            raise KnowledgeError(
                where, f"training: {name} = {value:g}, but {said}; leave it out, or correct it"
            )


def _strange(name: str, every: frozenset[str], model: Model) -> str:
    if not every:
        return (
            f"training: {name!r} is for boosted models, and {model.source} is not one; leave it out"
        )
    known = listed(sorted(every))
    return f"training: {name!r} does not affect the leaf values of {model.source}; use {known}"


def _in_words(fact: Fact) -> str:
    return f"{SAYS.get(fact.source, 'says')} {fact.value:g}"
