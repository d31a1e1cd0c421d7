"""Tuples, lists and dicts written out, with ``*`` in them; and expressions whose type is said."""

from __future__ import annotations

import ast

from .. import _ir as ir
from . import types
from .errors import NotSupportedError
from .values import Items, Self, Static, TupleOf

#: elements of the lists of tolist, by the numbers that prim::tolist knows them by
_ELEMENTS = (types.INT, types.FLOAT, types.BOOL, types.COMPLEX)

#: kinds of types that neither lists nor dicts are of
_NO_CONTAINERS = {"TensorType", "IntType", "FloatType", "BoolType", "StringType", "ComplexType", "TupleType"}
#: kinds of types that both sides of ``a if condition else b`` take from what is said of the whole
_OF_SIDES = {"AnyType", "OptionalType", "UnionType", "ListType", "DictType", "TupleType"}

__all__ = ["Displays", "Spread"]


class Spread:
    """``*values`` of a list that is known only at run time."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Displays:
    """Emits displays of containers."""

    def elements_of(self, nodes):
        """Items of a display or of arguments, ``*`` spread out."""
        items = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.visit(node.value)
                known = self.unrolled(inner)
                items += known if known is not None else [Spread(self.value(inner))]
            else:
                items.append(self.visit(node))
        return items

    def visit_Tuple(self, node):
        items = self.elements_of(node.elts)
        if any(isinstance(each, Spread) for each in items):
            return self.spread_list(items)
        if all(isinstance(each, Static) and not isinstance(each.value, (list, dict)) for each in items):
            return Static(tuple(each.value for each in items))
        return TupleOf(items)

    def typed(self, node, wanted):
        """An expression of which the type is said: displays take it for their elements."""
        inner = wanted.getElementType() if types.is_optional(wanted) else wanted
        kind = inner.kind()
        if isinstance(node, ast.List) and kind == "ListType" and not any(isinstance(e, ast.Starred) for e in node.elts):
            before, self.place = self.place, self.where(node)
            element = inner.getElementType()
            items = [self.typed(each, element) for each in node.elts]
            wrong = f"List type annotation `{inner}` did not match the types of the given list elements"
            with self.telling(wrong):
                values = [self.value(each, element) for each in items]
            self.place = before
            return self.list_of(values, inner)
        if isinstance(node, ast.ListComp) and kind == "ListType":
            return self.listed(node, inner)
        if isinstance(node, (ast.List, ast.ListComp)) and kind in _NO_CONTAINERS:
            raise self.error(f"Expected an annotation of type List for a list, got {wanted}")
        if isinstance(node, (ast.Dict, ast.DictComp)) and kind in _NO_CONTAINERS:
            raise self.error(f"Expected an annotation of type Dict for a dict, got {wanted}")
        if isinstance(node, ast.Dict) and kind == "DictType" and None not in node.keys:
            types_ = inner.containedTypes()
            pairs = [
                self.value(self.typed(each, want), want)
                for pair in zip(node.keys, node.values)
                for each, want in zip(pair, types_)
            ]
            return self.node("prim::DictConstruct", pairs, [inner]).output()
        if isinstance(node, ast.DictComp) and kind == "DictType":
            return self.mapped(node, inner)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tolist":
            owner = self.visit(node.func.value)
            if isinstance(owner, ir.Value) and owner.type() == types.TENSOR and not node.args:
                return self._tolist(owner, wanted)
        if isinstance(node, ast.Subscript) and kind == "InterfaceType":
            owner, index = self.visit(node.value), self.visit(node.slice)
            if isinstance(owner, Self) and owner.concrete.is_module and not isinstance(index, Static):
                return self.child_of(owner, index, inner)
        if isinstance(node, ast.Tuple) and kind == "TupleType" and len(node.elts) == len(inner.containedTypes()):
            return TupleOf([self.typed(each, want) for each, want in zip(node.elts, inner.containedTypes())])
        if isinstance(node, ast.IfExp) and wanted.kind() in _OF_SIDES:
            return self.choice(node, wanted)
        return self.visit(node)

    def _tolist(self, tensor, wanted):
        """``tensor.tolist()``, of which the annotation says how deep the lists are and what is in them."""
        depth, element = 0, wanted
        while element.kind() == "ListType":
            depth, element = depth + 1, element.getElementType()
        if element not in _ELEMENTS:
            raise self.error(f"tolist gives lists of int, float, bool or complex, not {wanted}")
        made = self.op("prim::tolist", tensor, depth, _ELEMENTS.index(element))
        made.setType(wanted)
        return made

    def visit_List(self, node):
        items = self.elements_of(node.elts)
        if any(isinstance(each, Spread) for each in items):
            return self.spread_list(items)
        if not all(self.is_value(each) for each in items):
            return Items(items)
        made = self.list_of([self.value(each) for each in items])
        if not items:
            self.empties.add(made)
        return made

    def spread_list(self, items):
        """A list put together from elements and whole lists."""
        whole, part = None, []

        def add(values):
            nonlocal whole
            whole = values if whole is None else self.op("add", whole, values)

        for each in items:
            if isinstance(each, Spread):
                if part:
                    add(self.list_of(part))
                part = []
                add(each.value)
            else:
                part.append(self.value(each))
        if part:
            add(self.list_of(part))
        return whole

    def visit_Dict(self, node):
        if any(key is None for key in node.keys):
            raise NotSupportedError("dict expansion (**) isn't supported in the script language", self.place)
        keys, values = [self.visit(each) for each in node.keys], [self.visit(each) for each in node.values]
        if not keys:
            made = self.node("prim::DictConstruct", [], [ir.DictType(types.STR, types.TENSOR)]).output()
            self.empties.add(made)
            return made
        if not all(self.is_value(each) for each in values):
            return Static({key.value: each for key, each in zip(keys, values)})
        keys, values = [self.value(each) for each in keys], [self.value(each) for each in values]
        kinds = []
        for what, several in (("keys", keys), ("values", values)):
            joined = several[0].type()
            for each in several[1:]:
                both = types.unify(joined, each.type())
                if both is None and what == "keys":
                    raise self.error(f"Dict keys must contain only a single type, got {joined} and {each.type()}")
                joined = types.any_of(joined, each.type()) if both is None else both
            if joined.kind() == "UnionType":
                self.warn(
                    "Dict values consist of heterogeneous types, which means that the dict has been typed as containing "
                    f"{joined}: use isinstance before what takes one of them"
                )
            kinds.append(joined)
        if kinds[0].kind() in ("ListType", "DictType"):
            raise self.error(
                f"Cannot create dict for key type '{kinds[0]}', only int, float, complex, Tensor, device and string keys are "
                "supported"
            )
        pairs = [each for pair in zip(keys, values) for each in pair]
        return self.node("prim::DictConstruct", pairs, [ir.DictType(*kinds)]).output()
