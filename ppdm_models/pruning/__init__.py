"""Anonymity-based pruning (APT) and optimal pruning."""
