"""Measures of tables of noisy records, of which a model has none: an audit of a model imports none of them."""
