"""Signed statements that an audit was done where the table is, for those who may not see the table."""
