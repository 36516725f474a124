"""The gate: all models of a repository in one run, each audited only where something it rests on has changed.

Nothing here loads a library for numbers or tables before a model is to be audited: a run without changes is over at
once.
"""
