"""Learners in the manner of scikit-learn (1.6 or newer): trees that meet a policy, and private ones."""

from __future__ import annotations

from treewarden.learn.policy_tree import PolicyTreeClassifier as PolicyTreeClassifier
from treewarden.learn.policy_tree import PolicyTreeRegressor as PolicyTreeRegressor
from treewarden.learn.private_tree import PrivateTreeClassifier as PrivateTreeClassifier
