"""How a database of the service came to be what it is: Alembic's environment."""
