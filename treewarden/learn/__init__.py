"""Learners that grow trees which meet a policy, in the manner of scikit-learn, which they need (1.6 or newer)."""

from __future__ import annotations

from treewarden.learn.policy_tree import PolicyTreeClassifier as PolicyTreeClassifier
from treewarden.learn.policy_tree import PolicyTreeRegressor as PolicyTreeRegressor
