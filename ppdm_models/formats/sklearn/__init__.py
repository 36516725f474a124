"""scikit-learn: fitted trees and their arrays."""
