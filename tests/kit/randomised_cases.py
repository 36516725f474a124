"""Randomised tables for tests: made in memory, with what their owner knows of them."""

from dataclasses import replace
from functools import cache

import numpy as np

from treewarden.audit.randomised.measuring import randomisation_of
from treewarden.ppdm_models.methods.randomised.attacks import Moments
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest
from treewarden.ppdm_models.methods.randomised.noise import (
    ClassNoise,
    Gaussian,
    Uniform,
    hiding,
    noisy,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import intervals


def hidden(name, noise="gaussian", level=1.0, low=0.0, high=1.0, is_whole=False, **more):
    """Return how a column is hidden by noise of a level."""
    found = hiding(noise, level, low, high)
    parameter = {Uniform: "alpha", Gaussian: "sigma", ClassNoise: "wide"}[type(found)]
    return Hidden(
        **{
            "name": name,
            "noise": noise,
            "level": level,
            "confidence": 0.95,
            "parameter": getattr(found, parameter),
            "low": low,
            "high": high,
            "is_whole": is_whole,
            "domain": "declared",
            **more,
        }
    )


def randomised(columns, true, random=None, **more):
    """Return what a table gives away whose columns have these true values, shape (records, columns)."""
    random = random or np.random.default_rng(1)
    manifest = Manifest(
        version="0", file="noisy.csv", sha256="0" * 64, records=len(true), columns=columns, **more
    )
    low = np.array([each.low for each in columns])
    high = np.array([each.high for each in columns])
    moments = Moments((low + high) / 2, high - low)
    made = [noisy(true[:, i], each.hiding, random) for i, each in enumerate(columns)]
    moments.add(true, np.stack(made, axis=1))
    counts, missing = {}, {}
    for i, each in enumerate(columns):
        own = intervals(each.low, each.high, 10_000, is_whole=each.is_whole)
        there = true[~np.isnan(true[:, i]), i]
        counts[each.name] = own, np.bincount(own.numbers(there), minlength=own.count)
        missing[each.name] = len(true) - len(there)
    return randomisation_of(manifest, counts, moments, missing)


@cache
def even(level=1.0, noise="gaussian", records=20_000, columns=3, **more):
    """Return what a table of independent evenly spread columns gives away."""
    random = np.random.default_rng(7)
    said = tuple(hidden(f"c{i}", noise, level) for i in range(columns))
    return randomised(said, random.random((records, columns)), random, **more)


def without_records(of):
    """Return the same of an empty table."""
    return replace(of, records=0)
