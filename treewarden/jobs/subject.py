"""What an audit was asked: model, table and settings as given, and the subject of the audit once they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from audit.adversary.knowledge import Knowledge, read_knowledge
from audit.glance import glance
from audit.options import DEFAULT, KNOWLEDGE, AuditOptions
from audit.people.population import Population, build_population, rerouted
from audit.result import Audit
from audit.run import run, start_early
from audit.stages import Step, silent
from policies.judging.enough import enough
from policies.judging.failing import failing
from policies.pack import Pack, calls, load_pack
from ppdm_models.errors import KnowledgeError, TableError
from ppdm_models.files.load import OpenedFile
from ppdm_models.records.matching import has_column
from ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.jobs.inputs import ModelInput, TableInput, model_name, opened, read, table_name


@dataclass(frozen=True, slots=True)
class Request:
    """The model and the table of an audit, and how it is done; each may be a file, or in memory.

    ``knowledge`` says more of what the adversary knows than options can: a TOML file, or what such a file says.
    ``policy`` is a pack that ships, by name, the path of another, or a pack.
    """

    model: ModelInput
    data: TableInput
    options: AuditOptions = DEFAULT
    knowledge: Path | Knowledge | None = None
    policy: str | Pack = "standard"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read, which nothing may overwrite."""
        policy = (Path(self.policy),) if isinstance(self.policy, str) else ()
        given = (self.model, self.data, self.knowledge, *policy)
        return tuple(each for each in given if isinstance(each, Path))


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything an audit needs, read and checked against each other."""

    file: OpenedFile
    population: Population
    knowledge: Knowledge
    pack: Pack
    options: AuditOptions

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

        ``step`` is told of each stage; for ``grades`` see ``audit.run``. Where it ``is_stopped_by_failing``, clauses
        about the estimate are not read of what fails by whole records.
        """
        return run(
            file.model,
            self._people(file),
            self.knowledge,
            calls(self.pack),
            self.options,
            file.leaks,
            step,
            enough(self.pack),
            grades=grades,
            fails=failing(self.pack) if is_stopped_by_failing else None,
        )

    def glance(self, file: OpenedFile) -> Audit:
        """Take the readings of its audit that need no estimate."""
        return glance(file.model, self._people(file), self.knowledge, calls(self.pack), file.leaks)

    def _people(self, file: OpenedFile) -> Population:
        """Return the same people, where they stop in the trees of a file."""
        tree = file.model
        if file is self.file or isinstance(tree, Ensemble):
            return self.population
        return rerouted(tree, self.population)


def read_subject(request: Request, step: Step = silent) -> Subject:
    """Read the files of a request; the small ones first, so that a slip in them shows at once.

    Raises:
        TreewardenError: one of them cannot be read, or they do not fit each other.
    """
    pack = load_pack(request.policy) if isinstance(request.policy, str) else request.policy
    knowledge = _knowledge(request)
    with step(f"reading {model_name(request.model)}"):
        file = opened(request.model)
    tree, options = file.model, request.options
    start_early(tree, options)
    with step(f"reading {table_name(request.data)}"):
        table = read(request.data)
        named = options.sensitive
        if isinstance(request.model, OpenedFile) and named and not has_column(table, named):
            # No file names the target here, so that a slip in its name would go unseen.
            raise TableError(table.source, table.lacks(named))
        try:
            population = build_population(
                tree,
                table,
                sensitive=options.sensitive,
                qi=options.qi,
                weights=options.weights,
                sampling_weights=options.sampling_weights,
            )
        except TableError as error:
            raise _with_notes(error, tree) from error
    return Subject(file, population, knowledge, pack, options)


def _with_notes(error: TableError, tree: Model) -> TableError:
    """Return the error with what was remarkable about the tree, as that may be why the table does not fit it."""
    if not tree.notes:
        return error
    return TableError(error.where, f"{error.problem} (note {'; '.join(tree.notes)})")


def _knowledge(request: Request) -> Knowledge:
    if request.knowledge is None:
        return Knowledge(**{name: getattr(request.options, name) for name in KNOWLEDGE})
    if isinstance(request.knowledge, Knowledge):
        return request.knowledge
    try:
        data = request.knowledge.read_bytes()
    except OSError as error:
        problem = f"{error.strerror}; give a TOML file"
        raise KnowledgeError(str(request.knowledge), problem) from error
    return read_knowledge(data, request.knowledge.name)
