"""The service for people: pages that work without scripts."""
