"""What a table of noisy records gives away: what is left of each value, and what attacks get back."""
