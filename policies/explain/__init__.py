"""Policies in words, and as the files that say the same."""
