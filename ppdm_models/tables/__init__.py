"""Tables, value hierarchies, and where records go in a tree."""
