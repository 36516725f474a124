"""Exact reasoning over whole records: what a published tree proves about its people, not only what it suggests."""
