"""What a command was asked: the files and settings as typed, and the subject of the audit once they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from audit.adversary.knowledge import Knowledge, read_knowledge
from audit.options import DEFAULT, KNOWLEDGE, AuditOptions
from audit.people.population import Population, build_population, rerouted
from audit.result import Audit
from audit.run import run, start_early
from audit.stages import Step, silent
from policies.judging.enough import enough
from policies.pack import Pack, calls, load_pack
from ppdm_models.errors import KnowledgeError, TableError
from ppdm_models.files.load import OpenedFile, open_model, read_bytes
from ppdm_models.records.read_table import read_table
from ppdm_models.tree.ensemble import Ensemble, Model


@dataclass(frozen=True, slots=True)
class Request:
    """The files of an audit, and how it is done; ``knowledge`` says more of what the adversary knows than options can.

    ``policy`` is a pack that ships, by name, or the path of another.
    """

    model: Path
    data: Path
    options: AuditOptions = DEFAULT
    knowledge: Path | None = None
    policy: str = "standard"


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

    def audit(self, file: OpenedFile, step: Step = silent) -> Audit:
        """Audit a file, its own or a repaired one, over the same people under the same knowledge and policy.

        ``step`` is told of each stage.
        """
        tree = file.model
        is_own = file is self.file or isinstance(tree, Ensemble)
        people = self.population if is_own else rerouted(tree, self.population)  # type: ignore[arg-type]  # no ensemble
        return run(
            tree,
            people,
            self.knowledge,
            calls(self.pack),
            self.options,
            file.leaks,
            step,
            enough(self.pack),
        )


def read_subject(request: Request, step: Step = silent) -> Subject:
    """Read the files of a request; the small ones first, so that a slip in them shows at once.

    Raises:
        TreewardenError: one of them cannot be read, or they do not fit each other.
    """
    pack = load_pack(request.policy)
    knowledge = _knowledge(request)
    with step(f"reading {request.model.name}"):
        file = open_model(read_bytes(request.model), request.model.name)
    tree, options = file.model, request.options
    start_early(tree, options)
    with step(f"reading {request.data.name}"):
        table = read_table(request.data)
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
    try:
        data = request.knowledge.read_bytes()
    except OSError as error:
        problem = f"{error.strerror}; give a TOML file"
        raise KnowledgeError(str(request.knowledge), problem) from error
    return read_knowledge(data, request.knowledge.name)
