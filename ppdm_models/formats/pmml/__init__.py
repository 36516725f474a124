"""PMML: fields, derived fields, nodes, models of models; reading, writing, and edits in place."""
