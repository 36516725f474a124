"""The search for a change that passes, and what it costs."""
