"""Processes and clusters that do jobs for an audit, the same answers whichever does them."""
