"""Tables that are counted, not read: distinct rows over some columns, and how many records each stands for."""
