"""Adversaries who know only some columns: where in the tree a person can be for all they know, and what follows."""
