"""Policies of other tools, written as packs."""
