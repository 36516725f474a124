"""CatBoost."""
