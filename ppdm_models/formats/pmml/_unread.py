"""Finds what stands in a PMML file and is no part of its model: no list of bad places, but of all that is evaluated.

An element, attribute or text that is not known (``_known_elements``), that stands where nothing evaluates it or
that nothing asks for (``_references``), may hold anything, a record as well as a comment. Nobody could judge it, so it
is named, once for each kind of place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from treewarden.ppdm_models.formats.common.origin import MARKER, NUMBER
from treewarden.ppdm_models.formats.common.xml import run
from treewarden.ppdm_models.formats.common.xml_edit import Edit, XmlDocument
from treewarden.ppdm_models.formats.pmml._contents import Contents, attribute_edit
from treewarden.ppdm_models.formats.pmml._known_elements import (
    BUILT_IN,
    KNOWN,
    NAMED_WHOLE,
    NAMESPACE,
    NEEDED,
    READ,
    TABLE_NAMESPACE,
    WITH_TEXT,
    is_extension_read,
    is_setting,
)
from treewarden.ppdm_models.formats.pmml._references import (
    CLASS,
    COMPUTED,
    EXPRESSIONS,
    FIELD,
    FIELD_NAMES,
    FUNCTION,
    ONCE,
    RESULT,
    VALUE,
    Definition,
    ElementSite,
    NamedReference,
    References,
    may_be_model,
    stands_here,
)
from treewarden.ppdm_models.formats.pmml._statistics import FoundLeak
from treewarden.ppdm_models.tree.side_channels import NUMBER as NODE_NUMBER
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

DEFINERS = frozenset(("DataField", "DerivedField", "DefineFunction"))
SCOPES = frozenset(("TreeModel", "DecisionTree", "MiningModel", "RegressionModel", "Regression"))
TABLES = frozenset(("MapValues", "TextIndexNormalization"))
COLUMNS = ("column", "outputColumn", "inField", "outField", "regexField")
OF_PROGRAMS = re.compile(r"x-[a-z]{2,16}")
STATING = {
    "OutputField": ("value", "segmentId"),
    "MiningField": ("missingValueReplacement", "invalidValueReplacement"),
    "TargetValue": ("value", "defaultValue"),
    "CategoricalPredictor": ("value",),
    "RegressionTable": ("targetCategory",),
    "Value": ("value",),
    "Decision": ("value",),
    "DiscrStats": ("modalValue",),
    "DiscretizeBin": ("binValue",),
    **dict.fromkeys(EXPRESSIONS, ("mapMissingTo", "defaultValue", "value")),
}
"""The attributes that state values which the rest of the file has to know, by element."""
PLAIN_PARTS = frozenset(("Node", "ScoreDistribution", "SimplePredicate", "True", "False"))
COUNTED = ("recordCount", "probability", "confidence")
"""What a ScoreDistribution may say of a class."""
MOST_REMEMBERED = 10_000
"""So many values of one attribute."""
OF_MISSING = ("isMissing", "isNotMissing")
"""The tests that compare with no value."""


def unread(document: XmlDocument) -> Iterator[tuple[int, FoundLeak]]:
    """Yield what is no part of the model, with where it first stands, in bytes."""
    parser = document.new_parser()
    finder = UnreadFinder(document, parser)
    parser.StartElementHandler, parser.EndElementHandler = finder.start, finder.end
    parser.CharacterDataHandler = finder.words
    parser.CommentHandler = lambda _text: finder.close_text()
    run(parser, document.data, "model.pmml")
    yield from finder.leaks()


class UnreadFinder(Contents):
    """Holds what it does not know of what a parser tells it, element by element."""

    def __init__(self, document: XmlDocument, parser: expat.XMLParserType) -> None:
        super().__init__(document, parser)
        self.held: list[set[str] | None] = [None]
        """What was seen of each open element's children, where only the first is read."""
        self.hidden = 0
        """How deep inside something that is named whole."""
        self.opened: tuple[str, int, int] | None = None
        self.is_removable = False
        self.plain: dict[str, str] = {}
        """The elements that most of a tree is made of, by their names with the namespace."""
        self.settings: dict[str, dict[str, set[str]]] = {local: {} for local in PLAIN_PARTS}
        """What their attributes said, by element and attribute, that needs no second look."""
        self.references = References()
        self.unpredicted: dict[str, int] = {}
        """The classes of which a node counts nobody, with their lines."""
        self.declared: list[tuple[str, NamedReference]] = []
        """The values that fields of the table declare, with the name of the field."""
        self.targets: dict[tuple[int, ...], str] = {}
        self.scope: tuple[int, ...] = ()
        self.functions: list[str | None] = []
        self.definition: Definition | None = None
        self.is_number = False
        self.field = ""
        self.columns: set[str] | None = None
        self.cells: set[str] = set()

    def leaks(self) -> Iterator[tuple[int, FoundLeak]]:
        """Yield what was found once all is read, with where it first stands, in bytes."""
        self.note_unused()
        for what, one in self.found.items():
            times = "" if one.often == 1 else f", {one.often} times"
            said = f"{what}{times}: not part of the model: check it"
            leak = Leak(LeakKind.UNKNOWN, f"line {one.line}", said, None, one.edits is not None)
            yield one.start, FoundLeak(leak, tuple(one.edits or ()))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self.text_at >= 0:
            self.close_text()
        plain = self.plain.get(name)
        is_plain = plain is not None and self.around[-1] == "Node" and not self.hidden
        if plain is not None and is_plain and not (self.prefixes or self.is_misplaced(plain)):
            self.around.append(plain)
            self.plain_part(plain, attributes)
            return
        space, _, local = name.rpartition(" ")
        at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        parent = self.around[-1]
        self.around.append(local)
        if self.hidden:
            self.hidden += 1
            self.ask(local, attributes)
            return
        if self.prefixes:
            self.note_prefixes(local, at, line)
        if self.columns is not None and parent in ("InlineTable", "row"):
            self.cell(space, local, attributes, at, line)
            return
        if (space and not NAMESPACE.fullmatch(space)) or local not in KNOWN:
            self.hide(f"an element {local[:40]!r}", at, line, not may_be_model(parent, local))
            self.ask(local, attributes)
        elif local == "Extension":
            self.extension(attributes, parent, at, line)
        elif not self.stands(parent, local):
            what = f"an element {local[:40]!r} in {parent}, which is unknown there"
            self.hide(what, at, line, parent not in EXPRESSIONS)
        elif self.is_misplaced(local):
            what = "an element 'ScoreDistribution' in a tree that predicts a number"
            self.hide(what, at, line, True)
        elif local in NAMED_WHOLE and not (local == "InlineTable" and parent in TABLES):
            self.hidden = 1
        else:
            if local in PLAIN_PARTS:
                self.plain[name] = local
            self.enter(local, attributes, at, line)

    def is_misplaced(self, local: str) -> bool:
        """Return whether an element counts classes in a tree that predicts a number."""
        return local == "ScoreDistribution" and self.functions[-1:] == ["regression"]

    def plain_part(self, local: str, attributes: dict[str, str]) -> None:
        """Look at one of the elements that most of a tree is made of."""
        at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        is_settled = self.has_settings(local, attributes)
        for name, value in () if is_settled else attributes.items():
            if not is_setting(local, name, value):
                self.setting(local, attributes, name, at, line)
        self.use_part(local, attributes, line)
        if not is_settled and "value" in attributes and attributes.get("operator") in OF_MISSING:
            self.attribute(local, attributes, "value", at, line)

    def use_part(self, local: str, attributes: dict[str, str], line: int) -> None:
        """Note what such an element asks for and predicts."""
        if local == "SimplePredicate":
            value = attributes.get("value", "")
            self.lists.mention(value)
            self.constants.compared.add(value.strip())
            self.references.asked.add((self.scope, attributes.get("field", "")))
        elif local == "ScoreDistribution":
            label = attributes.get("value", "")
            if label in self.references.predicted and label in self.references.labels:
                return
            self.references.labels.add(label)
            if any(_is_more_than_none(attributes.get(name)) for name in COUNTED):
                self.references.predicted.add(label)
            else:
                self.unpredicted.setdefault(label, line)
        elif local == "Node" and self.functions[-1:] != ["regression"]:
            self.references.labels.add(attributes.get("score", ""))
            self.references.predicted.add(attributes.get("score", ""))

    def has_settings(self, local: str, attributes: dict[str, str]) -> bool:
        """Return whether there is nothing to note of the attributes of such an element, which many nodes say."""
        settings = self.settings[local]
        for name, value in attributes.items():
            values = settings.get(name, ())
            if value not in values:
                if not is_setting(local, name, value):
                    return False
                if name != "id" and len(values) < MOST_REMEMBERED:  # which no other node has
                    settings.setdefault(name, set()).add(value)
        return not ("value" in attributes and attributes.get("operator") in OF_MISSING)

    def stands(self, parent: str, local: str) -> bool:
        """Return whether an element is evaluated where it stands, and is the first of those that are read once."""
        if not stands_here(parent, local):
            return False
        counted = ONCE.get(parent, {}).get(local)
        if counted is None:
            return not (
                parent == "MiningModel"
                and local in SCOPES
                and "Segmentation" in self.counted_children()
            )
        if counted in self.counted_children():
            return False
        self.counted_children().add(counted)
        return True

    def counted_children(self) -> set[str]:
        """Return what was counted of the innermost element that is entered."""
        depth = len(self.around) - 2
        held = self.held[depth]
        if held is None:
            held = self.held[depth] = set()
        return held

    def enter(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        """Note what an element defines, asks for and says, where it is a part of the model."""
        while len(self.held) < len(self.around):
            self.held.append(None)
        self.held[len(self.around) - 1] = None
        if local in SCOPES:
            self.scope = (*self.scope, at + 1)
            outer = self.functions[-1] if self.functions else None
            self.functions.append(attributes.get("functionName") or outer)
        if local in DEFINERS:
            self.define(local, attributes, at, line)
        elif local in TABLES:
            self.columns = set()
        if self.columns is not None:
            named = (attributes.get(column) for column in COLUMNS)
            self.columns |= {name.rpartition(":")[2] for name in named if name is not None}
        if local in PLAIN_PARTS:
            self.plain_part(local, attributes)
            return
        self.ask(local, attributes)
        for name, value in attributes.items():
            if not is_setting(local, name, value):
                self.setting(local, attributes, name, at, line)
            if local != "Value":
                self.lists.mention(value)
        self.open_contents(local, attributes, at, line)
        self.values(local, attributes, at, line)

    def setting(
        self, local: str, attributes: dict[str, str], name: str, at: int, line: int
    ) -> None:
        """Note an attribute that says what it may not say; one that the model needs stays."""
        if local == "Node" and name in ("id", "defaultChild"):
            self.odd_names.append((name, attributes, at, line))
        elif name in NEEDED.get(local, ()):
            self.note(f"{name!r} of {local}", at, line, None)
        else:
            self.attribute(local, attributes, name, at, line)

    def attribute(
        self, local: str, attributes: dict[str, str], name: str, at: int, line: int
    ) -> None:
        """Note an attribute that is no part of the model."""
        edit = self.without(local, attributes, name, at, line)
        self.note(f"{name.rpartition(' ')[2][:40]!r} of {local}", at, line, edit)

    def define(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        self.is_number = attributes.get("optype", attributes.get("opType")) == "continuous"
        if self.is_number:
            self.lists.numbers.add(attributes.get("name", ""))
        what = {"DataField": "a field", "DerivedField": "a derived field"}.get(local, "a function")
        name = attributes.get("name", "")
        key = f"\0{name}" if local == "DefineFunction" else name
        scope = self.scope[-1] if self.scope else 0
        definition = Definition(what, ElementSite(at, line), is_raw=local == "DataField")
        self.definition = self.references.define(scope, key, definition)
        self.field = name
        if local == "DerivedField":
            named_reference = NamedReference(
                COMPUTED, "the name of a derived field", name, ElementSite(at, line)
            )
            self.references.statements.append(named_reference)

    def ask(self, local: str, attributes: dict[str, str]) -> None:
        """Note the fields and functions that an element asks for."""
        asked = self.references.asked if self.definition is None else self.definition.asks
        if local in ("OutputField", "Target") or self.result is not None:
            return  # what they name has to be a field already
        for name in FIELD_NAMES:
            if name in attributes:
                asked.add((self.scope, attributes[name]))
        name = attributes.get("name", "")
        if local in ("NumericPredictor", "CategoricalPredictor"):
            asked.add((self.scope, name))
        elif local == "MiningField" and self.is_evaluated(attributes):
            asked.update(((self.scope[:-1], name), (self.scope, name)))
        elif local == "Apply":
            asked.add((self.scope, f"\0{attributes.get('function', '')}"))

    def is_evaluated(self, attributes: dict[str, str]) -> bool:
        """Return whether a field of a schema is one that the model reads, or the first that it predicts."""
        usage, name = attributes.get("usageType", "active"), attributes.get("name", "")
        if usage in ("predicted", "target"):
            return self.targets.setdefault(self.scope, name) == name
        return usage == "active"

    def values(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        """Note texts that say a value, of which it shows at the end of the file whether the model has it."""
        if local == "Value" and self.definition is not None:
            self.note_value(attributes, at, line)
        elif local == "OutputField":
            self.result = ElementSite(at, line)
            self.state(RESULT, local, "name", attributes, self.result)
            self.state_values(local, attributes, at, line)
            if "targetField" in attributes:
                self.state(FIELD, local, "targetField", attributes, self.result)
        elif local == "FieldRef" and self.result is not None:
            self.state(FIELD, local, "field", attributes, self.result)
        elif local == "Target" and "field" in attributes:
            self.state(FIELD, local, "field", attributes, ElementSite(at, line))
            self.state_values(local, attributes, at, line)
        elif local == "MiningField" and not self.is_evaluated(attributes):
            self.state(FIELD, local, "name", attributes, ElementSite(at, line, self.end_of_tag(at)))
            self.state_values(local, attributes, at, line)
        elif local == "Apply":
            name = attributes.get("function", "")
            if name not in BUILT_IN and not OF_PROGRAMS.fullmatch(name):
                site = self.result or ElementSite(at, line)
                self.state(FUNCTION, local, "function", attributes, site)
        elif local in STATING and (self.definition is None or local == "Value"):
            self.state_values(local, attributes, at, line)

    def state_values(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        """Note the values that an element states in its attributes."""
        for name in STATING.get(local, ()):
            if attributes.get(name):
                site = self.result or ElementSite(at, line, self.end_of_tag(at))
                is_class = (local, name) == ("TargetValue", "value")
                self.state(CLASS if is_class else VALUE, local, name, attributes, site)

    def state(
        self, kind: str, local: str, name: str, attributes: dict[str, str], site: ElementSite
    ) -> None:
        """Note a statement; what stands in a result goes with all of the result."""
        is_whole = site is self.result or kind == FIELD
        text, what = attributes.get(name, ""), f"{name!r} of {local}"
        named_reference = NamedReference(kind, what, text, site, "" if is_whole else name)
        self.references.statements.append(named_reference)

    def note_value(self, attributes: dict[str, str], at: int, line: int) -> None:
        """Note a value that a field declares, or that it is none that the field can have."""
        value = attributes.get("value", "")
        is_valid = attributes.get("property", "valid") == "valid"
        is_plain = NUMBER.fullmatch(value.strip()) is not None
        self.lists.declare(self.field, value, line, at, is_valid=is_valid)
        if not is_plain and (self.is_number or not is_valid) and not MARKER.fullmatch(value):
            self.attribute("Value", attributes, "value", at, line)
        elif is_valid:
            self.references.labels.add(value)
            site = ElementSite(at, line, self.end_of_tag(at))
            named_reference = NamedReference(CLASS, "a class that no node predicts", value, site)
            self.declared.append((self.field, named_reference))
        if not is_plain and self.definition is not None:
            self.definition.has_words = True
        if self.definition is not None:
            self.definition.values += 1

    def extension(self, attributes: dict[str, str], parent: str, at: int, line: int) -> None:
        name = attributes.get("name", "")
        if not is_extension_read(name, attributes.get("value", ""), parent):
            self.hide("an element 'Extension'", at, line, True)
            return
        if name == "defaultChild" and NODE_NUMBER.fullmatch(attributes["value"]) is None:
            self.is_renamable = False
        if name in READ and parent == "DataField" and self.definition is not None:
            self.definition.is_known_otherwise = True
        self.enter("Extension", attributes, at, line)

    def cell(self, space: str, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        """Look at a row of a table in which something is looked up, or at a cell: only known columns are read."""
        if self.around[-2] == "InlineTable":
            self.cells = set()
            is_known = local == "row"
        else:
            is_known = local in (self.columns or ()) and local not in self.cells
            is_known = is_known and (
                not space or space == TABLE_NAMESPACE or bool(NAMESPACE.fullmatch(space))
            )
            self.cells.add(local)
        if local == "Extension" and self.around[-2] == "InlineTable":
            self.extension(attributes, "InlineTable", at, line)
        elif not is_known:
            self.hide("a cell of a table that no column names", at, line, True)
        else:
            for name in attributes:
                self.attribute(local, attributes, name, at, line)

    def hide(self, what: str, at: int, line: int, is_removable: bool) -> None:
        self.hidden, self.opened, self.is_removable = 1, (what, at, line), is_removable

    def note_unused(self) -> None:
        """Note fields, functions and values that the model does not have or never asks for."""
        for definition in self.references.unused_definitions():
            site = definition.site
            what = f"{definition.what} that no model uses"
            self.note(what, site.start, site.line, Edit(site.start, site.end))
        self.note_odd_names()
        classes = len(self.references.predicted - {""})
        for what, at, line in self.constants.unaccounted(self.references.labels, classes):
            self.note(what, at, line, None)
        targets = set(self.targets.values())
        declared = [named_reference for name, named_reference in self.declared if name in targets]
        known = {class_name.text for class_name in declared}
        declared += [
            NamedReference(CLASS, "a class that no node predicts", label, ElementSite(0, line))
            for label, line in self.unpredicted.items()
            if label not in known
        ]
        self.references.statements += declared
        for values in self.lists.unneeded(targets, self.references.predicted):
            self.note(values.what, values.start, values.line, None)
        for one in self.references.unknown_statements():
            self.note(one.what, one.site.start, one.site.line, self._of_statement(one))

    def _of_statement(self, one: NamedReference) -> Edit | None:
        start, end = one.site.start, one.site.end
        if not one.attribute:
            return Edit(start, end) if end > start else None
        return attribute_edit(self.data, start, end, re.escape(one.attribute.encode()))

    def end(self, _name: str) -> None:
        if self.text_at >= 0:
            self.close_text()
        local = self.around.pop()
        if self.spoken and len(self.around) < self.spoken_depth:
            self.close_spoken(local)
        if not self.hidden:
            if local not in PLAIN_PARTS:
                self.leave(local)
            return
        self.hidden -= 1
        if not self.hidden and self.opened is not None:
            what, start, line = self.opened
            self.opened = None
            end = self.end_of(start)
            self.note(what, start, line, Edit(start, end) if self.is_removable else None)

    def leave(self, local: str) -> None:
        if self.columns is not None and local not in TABLES:
            return  # a row or a cell, whatever it is called
        if local in SCOPES:
            self.scope = self.scope[:-1]
            self.functions.pop()
        elif local in DEFINERS and self.definition is not None:
            self.definition.site.end = self.end_of(self.definition.site.start)
            self.definition = None
        elif local == "OutputField" and self.result is not None:
            self.result.end = self.end_of(self.result.start)
            self.result = None
        elif local in TABLES:
            self.columns = None
        else:
            self.close_contents(local)

    def words(self, text: str) -> None:
        if text.isspace() or self.hidden or self.text_at >= 0:
            return
        inner, is_cell = self.around[-1], self.columns is not None and self.around[-2] == "row"
        if (inner == "Constant" or is_cell) and self.result is not None:
            what = "a cell in an OutputField" if is_cell else "text of a Constant in an OutputField"
            self.references.statements.append(
                NamedReference(VALUE, what, text.strip(), self.result)
            )
        if inner in WITH_TEXT or is_cell:
            self.speak(text)
        else:
            self.open_text()


def _is_more_than_none(text: str | None) -> bool:
    return text is not None and text.strip(" 0.+-eE") != ""
