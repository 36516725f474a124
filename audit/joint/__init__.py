"""Builders of problems: what leaves of all trees of a model say, or of several models, and what follows by profile."""
