"""Pseudo data drawn from a tree: PGEN and BASEGEN."""
