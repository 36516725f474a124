"""What a command was asked: the files and settings as typed, and the subject of the audit once they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from audit.adversary.knowledge import Knowledge, LeafLevel, SplitLevel, read_knowledge
from audit.options import SolveOptions
from audit.people.population import Population, build_population, rerouted
from audit.result import Audit
from audit.run import run, start_early
from policies.judging.judge import calls
from policies.pack import Pack, load_pack
from ppdm_models.errors import KnowledgeError, TableError
from ppdm_models.files.load import OpenedFile, open_model, read_bytes
from ppdm_models.records.table import read_table
from ppdm_models.tree.ensemble import Ensemble, Model
from ppdm_models.tree.tree import Task, Tool
from treewarden.terminal.progress import Progress


@dataclass(frozen=True, slots=True)
class Request:
    """The settings of an audit as a user gives them; ``qi`` None means the tree's own features."""

    model: Path
    data: Path
    sensitive: str | None = None
    qi: tuple[str, ...] | None = None
    weights: str | None = None
    sampling_weights: str | None = None
    leaf: str = LeafLevel.AS_PUBLISHED.value
    split: str = SplitLevel.AS_PUBLISHED.value
    learner: str | None = None
    marginal: bool = False
    accuracy: bool = False
    knowledge: Path | None = None
    policy: str = "standard"
    solver: str = "auto"
    jobs: int | None = None
    time_limit: float | None = None
    rows: str = "integer"
    reduce: str = "full"
    worlds: bool = True
    worlds_budget: float = 20.0
    strict_ties: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """Everything an audit needs, read and checked against each other."""

    file: OpenedFile
    population: Population
    knowledge: Knowledge
    pack: Pack
    options: SolveOptions

    @property
    def tree(self) -> Model:
        """The model as it would be published."""
        return self.file.model

    @property
    def auditing(self) -> str:
        """What an audit does, for the line that announces it."""
        if (
            not self.options.worlds
            or self.tree.task is Task.REGRESSION
            or isinstance(self.tree, Ensemble)
        ):
            return "auditing"
        return f"auditing, and reasoning over whole records for {self.options.worlds_budget:g} s at most"

    def audit(self, file: OpenedFile) -> Audit:
        """Audit a file, its own or a repaired one, over the same people under the same knowledge and policy."""
        tree = file.model
        is_own = file is self.file or isinstance(tree, Ensemble)
        people = self.population if is_own else rerouted(tree, self.population)  # type: ignore[arg-type]  # no ensemble
        return run(tree, people, self.knowledge, calls(self.pack), self.options, file.leaks)


def read_subject(request: Request, progress: Progress) -> Subject:
    """Read the files of a request; the small ones first, so that a slip in them shows at once.

    Raises:
        TreewardenError: one of them cannot be read, or they do not fit each other.
    """
    pack = load_pack(request.policy)
    knowledge = _knowledge(request)
    with progress.step(f"reading {request.model.name}"):
        file = open_model(read_bytes(request.model), request.model.name)
    tree = file.model
    options = SolveOptions(
        request.solver,
        request.jobs,
        request.reduce == "none",
        request.time_limit,
        integer_rows=request.rows == "integer",
        worlds=request.worlds,
        worlds_budget=request.worlds_budget,
        strict_ties=request.strict_ties,
    )
    start_early(tree, options)
    with progress.step(f"reading {request.data.name}"):
        table = read_table(request.data)
        try:
            population = build_population(
                tree,
                table,
                sensitive=request.sensitive,
                qi=request.qi,
                weights=request.weights,
                sampling_weights=request.sampling_weights,
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
        return Knowledge(
            leaf=LeafLevel(request.leaf),
            split=SplitLevel(request.split),
            learner=None if request.learner is None else Tool(request.learner),
            marginal=request.marginal,
            accuracy=request.accuracy,
        )
    try:
        data = request.knowledge.read_bytes()
    except OSError as error:
        problem = f"{error.strerror}; give a TOML file"
        raise KnowledgeError(str(request.knowledge), problem) from error
    return read_knowledge(data, request.knowledge.name)
