"""skops: scikit-learn models without pickle."""
