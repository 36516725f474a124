"""Shows what an audit would take, in place of the audit."""

from __future__ import annotations

import click

from treewarden.commands._reporting import ON_STDOUT, Reporting
from treewarden.jobs.audit_request import Request
from treewarden.jobs.planning import plan_lines, plan_of
from treewarden.reports.document.parts import as_json
from treewarden.reports.document.words import printable
from treewarden.terminal.progress import ProgressPrinter


def show_plan(request: Request, report: Reporting, progress: ProgressPrinter) -> None:
    """Print the plan of an audit whose reports are to have these forms: as JSON where that was to go to stdout."""
    forms = [form for form in report.forms if form != ON_STDOUT]
    plan = plan_of(request, forms[0] if forms else ON_STDOUT, progress.step)
    if report.on_stdout == "json":
        click.echo(as_json(plan.document), nl=False)
    else:
        for line in plan_lines(plan):
            click.echo(printable(line))
    click.echo("no audit was performed: --plan only estimates its cost", err=True)
