"""Rows over the numbers of people in all trees' leaves, and between which ends they leave each person's number."""
