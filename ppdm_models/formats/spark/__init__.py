"""Spark ML."""
