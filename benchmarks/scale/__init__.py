"""How large a table may be: profiles, records and trees that are made up, and whole audits of them beside DuckDB."""
