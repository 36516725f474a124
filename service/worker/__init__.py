"""Audits as jobs: queued, leased, done by a process each, committed once."""
