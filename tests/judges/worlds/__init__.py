"""Exact worlds, judged by a list of every world."""
