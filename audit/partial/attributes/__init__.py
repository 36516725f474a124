"""Attribute inference: what an adversary can infer of a column that is to stay secret."""
