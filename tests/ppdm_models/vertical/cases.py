"""Tables for the tests of parties: small ones by hand, and random ones, dealt to parties in any way."""

from pathlib import Path

import numpy as np

from ppdm_models.vertical.holding import Attribute, Holding
from ppdm_models.vertical.session import Mode, Session, Stops

TENNIS = """sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no"""
NURSERY = Path(__file__).parents[4] / "shared" / "data" / "nursery.csv"


def coded(name, values):
    """Return a column with its categories in the order in which they occur."""
    categories = tuple(dict.fromkeys(values))
    return Attribute(name, categories, np.array([categories.index(each) for each in values]))


def table(text, names):
    """Return the columns of a table in text."""
    columns = zip(*(line.split() for line in text.splitlines()), strict=True)
    return [coded(name, values) for name, values in zip(names, columns, strict=True)]


def dealt(attributes, label, owners, parties, labelled=0, stops=None, mode=Mode.IDS):
    """Return the session and the holdings where attribute i belongs to party ``owners[i]``."""
    owned = [[i for i, owner in enumerate(owners) if owner == party] for party in range(parties)]
    session = Session(
        tuple(f"P{party}" for party in range(parties)),
        tuple(map(tuple, owned)),
        len(label.codes),
        label.categories,
        labelled,
        stops or Stops(),
        mode,
    )
    holdings = [
        Holding(tuple(attributes[i] for i in own), label.codes if party == labelled else None)
        for party, own in enumerate(owned)
    ]
    return session, holdings


def shape(known, number=0):
    """Return a tree as nested tuples: attribute and branches, or a label."""
    place = known.skeleton.places[number]
    if place.is_leaf:
        return place.label
    return known.attributes[number], tuple(shape(known, child) for child in place.children)
