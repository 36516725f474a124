"""Pictures and tables that renderers put in."""
