"""What an adversary can infer about the people behind a published tree."""

from audit.quick_imports import import_scipy

import_scipy()
