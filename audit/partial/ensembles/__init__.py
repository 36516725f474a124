"""Adversaries who know some columns, of several trees at once: where people can stop in all of them together."""
