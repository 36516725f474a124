"""Weka."""
