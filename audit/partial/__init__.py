"""Adversaries who know only some columns: where in a tree a person can stop given these, and what that proves."""
