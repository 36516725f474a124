"""What the fields of each form are called: its page shows that, and a refusal names the same.

Each form is a mapping from what the field is sent as to its label.
"""

from __future__ import annotations

from collections.abc import Mapping

PASSWORD = {"password": "Password", "new_password": "New password"}
NOTICES = {"address": "E-mail address"}
SIGN_IN = {"organisation": "Organisation", "name": "Name", **PASSWORD}
PERSON = {"name": "Name", "role": "Role"}
TOKEN = {
    "name": "What it is for",
    "permissions": "What it may do",
    "days": "Days until it expires",
}
RETENTION = {
    "report_days": "Days that reports are kept",
    "keeps_profiles": "Confidential reports",
    "checklist": "Checklist of a release",
}
WEBHOOK = {"url": "Address", "events": "Events"}
PACK = {"toml": "Pack, as TOML", "note": "What is new in this version"}
WAIVERS_FILE = {"toml": "Content of the file"}
WAIVER = {
    "clause": "Clause",
    "model": "Model",
    "leaf": "Leaf",
    "digest": "File",
    "worst": "Not worse than",
    "reason": "Why this can be accepted",
    "owner": "Who answers for it",
    "ticket": "Where it was decided",
    "expires": "Last day on which it holds",
}
WAIVER_OF_FINDING = {field: WAIVER[field] for field in ("reason", "owner", "ticket", "expires")}
WAIVER_DECISION = {"comment": "Why"}
RELEASE = {"title": "Title", "purpose": "What it is published for"}
RELEASE_DECISION = {"decision": "Your decision", "comment": "Why", "text": "A remark"}
FILES = {
    "model_id": "Model",
    "name": "Name of the new model",
    "description": "What it is for",
    "model_file": "Model file",
    "table_file": "Table file",
    "table_path": "Or a file on the server",
}
COMPARISON = {"to": "Audit"}
SHARE = {"name": "Name of a person"}
LEAST_POLICY = {"pack": "Least policy"}
AUDIT = {
    "sensitive": "To be protected",
    "qi": "Known to the adversary",
    "pack": "Policy",
    "kind": "What to do",
    "keeps_table": "Keep the table if the model does not pass",
    "waivers": "Approved waivers hold",
    "purpose": "What it is published for",
    "leaf": "Of each leaf",
    "split": "The criterion of the splits",
    "row_order": "The order of the table’s records",
    "weights": "Column that says how many people a row stands for",
    "worlds_budget": "Seconds for whole records",
    "marginal": "The adversary knows each class’s overall share",
    "accuracy": "The adversary knows the training accuracy",
    "knows": "Columns that the neighbour knows",
    "secret": "Another column to stay secret",
    "bins": "Ends that part its numbers",
    "target_known": "The neighbour knows what the model predicts of a person",
    "knowledge": "Knowledge file",
}
FORMS = {
    "account": {**PASSWORD, **NOTICES},
    "asked": AUDIT,
    "audit": COMPARISON,
    "pack_new": PACK,
    "least_policy": LEAST_POLICY,
    "people": PERSON,
    "release": RELEASE_DECISION,
    "retention": RETENTION,
    "sign_in": SIGN_IN,
    "submit": FILES,
    "tokens": TOKEN,
    "waive": WAIVER_OF_FINDING,
    "waiver": WAIVER_DECISION,
    "waiver_new": WAIVER,
    "waivers_import": WAIVERS_FILE,
    "webhooks": WEBHOOK,
    "wish_release": RELEASE,
}
"""Templates with a form, and what its fields are called."""


def labels_of(template: str) -> Mapping[str, str]:
    """Return what the fields on a template's page are called; nothing where it has no form of its own."""
    return FORMS.get(template.removesuffix(".html.j2"), {})
