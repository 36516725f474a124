"""Full-domain generalisation."""
