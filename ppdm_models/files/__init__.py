"""Bytes to models and back: load, convert, draw."""
