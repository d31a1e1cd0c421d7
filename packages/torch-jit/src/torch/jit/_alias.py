"""Which values of a graph may share memory: ``graph.alias_db()``, as tools ask that turn graphs into other forms.

A value lies at places, each named after the value that made it: a view where its argument lies, as the operator's schema says,
an attribute at the place of its object and its name, and what comes out of a block where its values lie. Lists, tuples and
objects have a place of their own, which holds the places of their elements. An operator without a schema gives back all that
goes into it.
"""

import re

__all__ = ["AliasDb"]

#: kinds of types whose values are numbers, texts and the like
WITHOUT_MEMORY = {
    "IntType",
    "FloatType",
    "BoolType",
    "StringType",
    "NoneType",
    "NumberType",
    "ComplexType",
    "DeviceObjType",
    "EnumType",
}


#: results of schemas that are elements of what is given
_ELEMENT = re.compile(r"\bt\b")


class AliasDb:
    """Where the values of a graph lie.

    >>> graph = torch._C.parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::t(%x)\\n  %z : Tensor = aten::neg(%y)\\n  return (%z)")
    >>> x, y, z = (*graph.inputs(), *(node.output() for node in graph.nodes()))
    >>> aliases = graph.alias_db()
    >>> aliases.may_contain_alias(x, y), aliases.may_contain_alias(x, z)
    (True, False)
    """

    def __init__(self, graph):
        self._at = {}  # places by the names of values
        self._holds = {}  # places within a place
        self._written = set()
        for value in graph.inputs():
            self._put(value, {value.debugName()})
        self._visit(graph)

    def may_contain_alias(self, a, b):
        """Whether two values, or one of the values of each of two lists, may share memory, or hold what does."""
        first, second = (self._reached(x if isinstance(x, (list, tuple)) else [x]) for x in (a, b))
        return not first.isdisjoint(second)

    def has_writers(self, value):
        """Whether an operator writes to memory that a value may have, or hold."""
        return not self._reached([value]).isdisjoint(self._written)

    def __str__(self):
        values = sorted(f"%{name}: {', '.join(sorted(places))}" for name, places in self._at.items())
        return "\n".join(["places of values:", *values, f"written to: {', '.join(sorted(self._written)) or 'nothing'}"])

    dump = lambda self: print(self)

    def _put(self, value, places):
        """Add to the places of a value; whether that changed something."""
        if value.type().kind() in WITHOUT_MEMORY:
            return False
        known = self._at.setdefault(value.debugName(), set())
        changed = not known.issuperset(places)
        known |= places
        return changed

    def _places(self, values):
        return set().union(*(self._at.get(value.debugName(), ()) for value in values))

    def _reached(self, values):
        """The places of values and those within."""
        found, new = set(), self._places(values)
        while new:
            found |= new
            new = set().union(*(self._holds.get(place, ()) for place in new)) - found
        return found

    def _visit(self, block):
        for node in block.nodes():
            inputs, outputs, blocks = list(node.inputs()), list(node.outputs()), list(node.blocks())
            if node.kind() == "prim::If":
                for inner in blocks:
                    self._visit(inner)
                for result, *given in zip(outputs, *(inner.outputs() for inner in blocks), strict=True):
                    self._put(result, self._places(given))
            elif node.kind() == "prim::Loop":
                self._go_round(inputs[2:], outputs, blocks[0])
            elif node.kind() == "prim::fork":
                within = AliasDb(node.g("Subgraph"))
                given = zip(inputs, node.g("Subgraph").inputs(), strict=True)
                self._written |= self._places([value for value, inner in given if within.has_writers(inner)])
                self._call("", inputs, outputs)
            elif node.kind() == "prim::GetAttr":
                for owner in self._places(inputs):
                    place = f"{owner}.{node.s('name')}"
                    self._holds.setdefault(owner, set()).add(place)
                    self._put(outputs[0], {place})
            else:
                self._call(node.schema(), inputs, outputs)
                if node.hasEffects():  # a norm that trains, whose schema does not say so
                    names = re.findall(r"Tensor\? (running_\w+)", node.schema())
                    self._written |= self._places(node.namedInput(name) for name in names)

    def _go_round(self, given, results, body):
        carried = list(body.inputs())[1:]
        changed = True
        for start, value in zip(given, carried, strict=True):
            self._put(value, self._places([start]))
        while changed:
            self._visit(body)
            pairs = list(zip(list(body.outputs())[1:], carried, strict=True))
            changed = any(self._put(value, self._places([end])) for end, value in pairs)
        for value, result in zip(carried, results, strict=True):
            self._put(result, self._places([value]))

    def _call(self, schema, inputs, outputs):
        found = re.fullmatch(r"[\w:.]+\((.*)\) -> (.*)", schema)
        if not found:  # what makes and opens lists, tuples and objects, and what is not known
            for value in outputs:
                self._put(value, {value.debugName()} | self._reached(inputs))
            return
        arguments, results = (_marks(text) for text in found.groups())
        for value, mark in zip(inputs, arguments, strict=False):
            if mark and "!" in mark:
                self._written |= self._places([value])
                if value.type().kind() != "TensorType":  # which takes the others in
                    for place in self._places([value]):
                        self._holds.setdefault(place, set()).update(self._reached(v for v in inputs if v is not value))
        # an element of a container is what is in it
        takes = [
            value for value in inputs if value.type().kind() in ("ListType", "DictType", "TupleType", "OptionalType")
        ]
        element = self._reached(takes) if _ELEMENT.search(found[2]) else set()
        viewed = self._reached(value for value, mark in zip(inputs, arguments, strict=False) if mark)
        for value, mark in zip(outputs, results, strict=False):
            own = set() if mark and value.type().kind() == "TensorType" else {value.debugName()}
            self._put(value, own | element | (viewed if mark or value.type().kind() != "TensorType" else set()))


def _marks(text):
    """The marks of memory in a list of arguments or results of a schema, one for each; None for those without.

    >>> _marks("Tensor(a!) self, int[2] size, *, Tensor other"), _marks("(Tensor(a), Tensor)")
    (['a!', None, None], ['a', None])
    """
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    parts = [part.strip() for part in re.split(r",(?![^(\[]*[)\]])", text)]
    found = [re.search(r"Tensor\(([^)]*)\)|\(([a-z]!?)\)", part) for part in parts if part != "*"]
    return [mark and (mark[1] or mark[2]) for mark in found]
