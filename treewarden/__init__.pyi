"""The names of the package as type checkers see them; ``__init__.py`` reads each when it is first asked for."""

from treewarden.api.auditing import Inspection as Inspection
from treewarden.api.auditing import audit as audit
from treewarden.api.auditing import inspect as inspect
from treewarden.api.repair_result import Repair as Repair
from treewarden.api.repairing import repair as repair
from treewarden.api.requests import ArgumentError as ArgumentError
from treewarden.api.requests import FailedError as FailedError
from treewarden.api.requests import UndeterminedError as UndeterminedError
from treewarden.api.requests import VerdictError as VerdictError
from treewarden.api.result import Result as Result
from treewarden.api.result import Verdict as Verdict
from treewarden.api.searching import Search as Search
from treewarden.api.searching import privacy_scorer as privacy_scorer
from treewarden.api.searching import search as search
from treewarden.ppdm_models.errors import KnowledgeError as KnowledgeError
from treewarden.ppdm_models.errors import OutputError as OutputError
from treewarden.ppdm_models.errors import PolicyError as PolicyError
from treewarden.ppdm_models.errors import RemedyError as RemedyError
from treewarden.ppdm_models.errors import SolverError as SolverError
from treewarden.ppdm_models.errors import TableError as TableError
from treewarden.ppdm_models.errors import TaxonomyError as TaxonomyError
from treewarden.ppdm_models.errors import TooManyProfilesError as TooManyProfilesError
from treewarden.ppdm_models.errors import TreeFormatError as TreeFormatError
from treewarden.ppdm_models.errors import TreewardenError as TreewardenError

__version__: str
__all__: list[str]
