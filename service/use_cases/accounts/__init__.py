"""Accounts: who people are, how they come in, and how guessing is slowed down."""
