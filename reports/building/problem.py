"""Why there was no audit, as a pipeline may say it: messages about a table may quote the people in it."""

from __future__ import annotations

from treewarden.ppdm_models.errors import KnowledgeError, TableError, TreewardenError

QUOTES_PEOPLE = (TableError, KnowledgeError)
"""Errors whose messages may hold a record, a value, a count of few people, or a fact about somebody."""
WHERE_IT_IS_TOLD = "'treewarden audit', where the table may be seen, says what is wrong"


def problem_of(error: BaseException) -> str:
    """Return why there was no audit, without what only those may read who may see the table.

    What the operating system says of a file is told, and so is what is wrong with a model, a policy or a setting.
    """
    if isinstance(error, QUOTES_PEOPLE) and not isinstance(error.__cause__, OSError):
        what = "table" if isinstance(error, TableError) else "knowledge"
        return f"{error.where}: the {what} does not fit the model, or is not understood; {WHERE_IT_IS_TOLD}"
    if isinstance(error, TreewardenError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or 'cannot be read'}"
    return f"a mistake in treewarden itself ({type(error).__name__}), please report it; {WHERE_IT_IS_TOLD}"
