"""Learners that grow trees from class counts, with a documented order of candidates so that ties cannot surprise."""
