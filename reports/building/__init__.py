"""Audit and decision to a document."""
