"""Worlds that were found, re-checked row by row."""
