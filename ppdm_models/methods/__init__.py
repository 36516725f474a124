"""The papers' methods on tables: sanitisation, generalisation, synthesis, noise, and trees grown by several parties."""
