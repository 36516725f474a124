"""Numbers that are published beside a model, as rows over the people's classes, each with where it comes from."""
