"""Jobs that write a table in place of a table: generalised, sanitised to a tree's pattern, or drawn from a tree."""
