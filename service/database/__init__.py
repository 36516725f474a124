"""The tables of the service, how a database of them is opened, and its level."""
