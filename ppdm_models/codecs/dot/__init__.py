"""Graphviz drawings of trees."""
