"""Readings and a pack to a decision."""
