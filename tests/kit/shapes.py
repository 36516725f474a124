"""Measures the shapes of the code: lines of a function, fields of a record, positional arguments of a call."""

from __future__ import annotations

from tests.kit.syntax import FEWEST_POSITIONAL, product

Found = dict[str, int]
"""A number by ``path:name``."""


def function_lengths(most: int) -> Found:
    """Return how many lines each function over ``most`` has, from its name to its end without its docstring."""
    return _over(most, {path: facts.function_lengths for path, facts in product().items()})


def record_sizes(most: int) -> Found:
    """Return how many annotated fields each class over ``most`` has; what is of the class itself is no field."""
    return _over(most, {path: facts.record_sizes for path, facts in product().items()})


def positional_calls(most: int) -> Found:
    """Return how many positional arguments the calls with more than ``most`` have, by what is called and where."""
    assert most >= FEWEST_POSITIONAL
    return _over(most, {path: facts.positional for path, facts in product().items()})


def _over(most: int, numbers: dict[str, dict[str, int]]) -> Found:
    return {
        f"{path}:{name}": number
        for path, of_module in numbers.items()
        for name, number in of_module.items()
        if number > most
    }
