"""What XGBoost and LightGBM share."""
