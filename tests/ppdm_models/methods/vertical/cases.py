"""Tables for the tests of parties: small ones by hand, and random ones, dealt to parties in any way."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from treewarden.ppdm_models.methods.vertical.party_view import Holding, PartyAttribute
from treewarden.ppdm_models.methods.vertical.session import Mode, Session, Stops

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
NURSERY = Path(__file__).parents[5] / "shared" / "data" / "nursery.csv"


@st.composite
def sessions(draw):
    """Random columns, some of numbers in bins or with missing cells, the label, and how they are dealt to parties."""
    records = draw(st.integers(1, 40))
    count = draw(st.integers(1, 5))
    parties = draw(st.integers(2, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))

    def column(name, values):
        return PartyAttribute(
            name, tuple(map(str, range(values))), random.integers(0, values, records)
        )

    def attribute(name):
        found = column(name, draw(st.integers(1, 4)))
        last = len(found.categories) - 1
        missing = last if last and draw(st.booleans()) else None
        edges = tuple(map(float, range(last - (missing is not None))))
        return replace(found, missing=missing, edges=edges if draw(st.booleans()) else None)

    attributes = [attribute(f"a{i}") for i in range(count)]
    owners = [draw(st.integers(0, parties - 1)) for _ in attributes]
    stops = Stops(draw(st.sampled_from([2, 5])), draw(st.sampled_from([None, 0, 1, 2])))
    label = column("label", draw(st.integers(2, 3)))
    labelled = draw(st.integers(0, parties - 1))
    mode = draw(st.sampled_from(list(Mode)))
    session, holdings = dealt(attributes, label, owners, parties, labelled, stops, mode)
    return attributes, label, session, holdings


def told(attribute):
    """Return a column's cells as its owner's table has them: texts, numbers inside bins, None where there is none."""
    texts = list(attribute.categories)
    if attribute.edges is not None:
        texts = [*(str(each) for each in attribute.edges), str(len(texts) + 0.5), ""]
    return [None if code == attribute.missing else texts[code] for code in attribute.codes.tolist()]


def coded(name, values):
    """Return a column with its categories in the order in which they occur."""
    categories = tuple(dict.fromkeys(values))
    return PartyAttribute(name, categories, np.array([categories.index(each) for each in values]))


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
