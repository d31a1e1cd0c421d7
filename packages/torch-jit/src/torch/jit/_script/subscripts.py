"""Subscripts, read and written: ``x[i]``, ``x[1:3, None, ..., mask]``, lists, dicts, tuples; and assignments."""

from __future__ import annotations

import ast

import torch

from .. import _ir as ir
from . import library, types
from .errors import AnnotationError, ScriptError
from .scope import FALLS
from .values import Items, Self, Slice, Static, TupleOf

#: operators whose names in place are others than their own with "_" behind
_IN_PLACE = {
    "floordiv": "floor_divide_", "and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_",
    "lshift": "bitwise_left_shift_", "rshift": "bitwise_right_shift_",
}  # fmt: skip

__all__ = ["Subscripts"]


class Given(ast.expr):
    """The tree of an item that has been emitted already."""

    _fields = ()

    def __init__(self, item):
        super().__init__()
        self.item = item


class Subscripts:
    """Emits subscripts and assignments."""

    def _index(self, node):
        """The tree of an index, in which ``slice(a, b)``, or a name that stands for it, is written ``a:b``."""
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._index(each) for each in node.elts], node.ctx), node)
        if isinstance(node, ast.Call) and self.resolve(node.func) is slice:
            made = self.visit(node)
        else:
            made = self.frame.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(made, Slice):
            return node
        parts = (ast.copy_location(Given(each), node) for each in (made.start, made.stop, made.step))
        return ast.copy_location(ast.Slice(*parts), node)

    def visit_Given(self, node):
        return node.item

    def visit_Subscript(self, node):
        made = self._index(node.slice)
        if made is not node.slice:
            node = ast.copy_location(ast.Subscript(node.value, made, node.ctx), node)
        owner = self.visit(node.value)
        if isinstance(owner, (Items, TupleOf)) or (isinstance(owner, Static) and not isinstance(owner.value, str)):
            return self._known_element(owner, node.slice)
        if isinstance(owner, Self):
            return (
                self.child(owner, self.visit(node.slice))
                if not isinstance(node.slice, ast.Slice)
                else self._children(owner, node.slice)
            )
        value = self.value(owner)
        kind = value.type().kind()
        if kind == "TensorType":
            return self._tensor_get(value, node.slice)
        if isinstance(node.slice, ast.Slice):
            return self._slice(value, node.slice)
        index = self.visit(node.slice)
        if kind == "TupleType":
            return self._tuple_element(value, index)
        if types.is_optional(value.type()):
            raise self.error(
                f"'{value.type()}' object is not subscriptable: it may be None",
                "test `is not None` before, on a local name",
            )
        if kind == "ClassType":
            return self.method(value, "__getitem__", [index], {})
        return self.op("__getitem__", value, self.value(index))

    def _known_element(self, owner, index):
        items = owner.items if not isinstance(owner, Static) else owner.value
        if isinstance(index, ast.Slice):
            parts = [None if each is None else self.visit(each) for each in (index.lower, index.upper, index.step)]
            if all(each is None or isinstance(each, Static) for each in parts):
                cut = items[slice(*(each and each.value for each in parts))]
                return Static(cut) if isinstance(owner, Static) else type(owner)(cut)
            return self._slice(self.value(owner), index)
        where = self.visit(index)
        if isinstance(where, Static) and not (isinstance(items, list) and self._is_beyond(owner, items, where.value)):
            return self._element_at(owner, items, where.value)
        value = self.value(owner)
        if value.type().kind() == "TupleType":
            return self._tuple_element(value, where)
        return self.op("__getitem__", value, self.value(where))

    @staticmethod
    def _is_beyond(owner, items, index):
        """Whether a list that is known has no such element, which is an error where the program gets there."""
        is_list = isinstance(owner, Static) and isinstance(owner.value, list) and isinstance(index, int)
        return (
            is_list
            and bool(items)
            and not -len(items) <= index < len(items)
            and {type(each) for each in items} <= {int, float, bool, str}
        )

    def _element_at(self, owner, items, index):
        try:
            found = items[index]
        except TypeError as error:
            raise self.error(f"index must be an integer: {error}") from None
        except (IndexError, KeyError, ValueError) as error:
            raise self.error(f"{type(error).__name__}: {error}") from None
        if not isinstance(owner, Static):
            return found
        kind = isinstance(found, (ir.Value, Static, TupleOf, Items, Self))
        return found if kind else Static(found)

    def _tuple_element(self, value, index):
        """An element of a tuple; where its number is known only at run time, all are of one type."""
        inner = value.type().containedTypes()
        if isinstance(index, Static) and type(index.value) is int:
            if not -len(inner) <= index.value < len(inner):
                raise self.error(f"Tuple index {index.value} is out of range of {len(inner)} elements")
            at = index.value % len(inner)
            return self.node("prim::TupleIndex", [value, self.constant(at)], [inner[at]]).output()
        if any(each != inner[0] for each in inner):
            raise self.error(
                f"Cannot index into a tuple with a non-integer literal because we cannot resolve the output type: the elements of {value.type()} are of several types"
            )
        items = [
            self.node("prim::TupleIndex", [value, self.constant(i)], [inner[i]]).output() for i in range(len(inner))
        ]
        return self.op("__getitem__", self.list_of(items), self.value(index))

    def _slice(self, value, part):
        parts = [self._bound_of(each) for each in (part.lower, part.upper)]
        step = self._step_of(part.step)
        if value.type().kind() == "TupleType":
            if not all(isinstance(each, Static) for each in (*parts, step)):
                raise self.error("a slice of a tuple must be known while compiling")
            return TupleOf(self.elements(value)[slice(*(each.value for each in (*parts, step)))])
        step = self.value(step)
        return self.op("slice", value, *(self.value(each) for each in parts), step)

    def _bound_of(self, node):
        return Static(None) if node is None else self.visit(node)

    def _step_of(self, node):
        step = self._bound_of(node)
        return Static(1) if self._is_new(step) else step

    def elements(self, value):
        """The elements of a tuple that is a value."""
        inner = value.type().containedTypes()
        made = self.node("prim::TupleUnpack", [value], inner)
        return list(made.outputs())

    def _children(self, owner, part):
        known = self.children(owner)
        parts = [None if each is None else self.visit(each).value for each in (part.lower, part.upper, part.step)]
        return Items(known[slice(*parts)])

    # -- tensors --------------------------------------------------------------------------------------------------------

    def _tensor_get(self, value, index):
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        value, tensors = self._views(value, parts)
        return self.op("index", value, tensors) if tensors is not None else value

    def at_item(self, value, item):
        """A tensor at one index, which is an item."""
        value, _, tensor = self._one_view(value, item, 0, False)
        return value if tensor is None else self.op("index", value, self._index_list(value, {0: tensor}))

    def _views(self, value, parts):
        """Apply numbers, slices, None and ... one after another; the tensors of an index are left over as a list."""
        items = []
        for each in parts:
            if isinstance(each, ast.Slice):
                items.append(each)
            elif isinstance(each, ast.Constant) and each.value is Ellipsis:
                items.append(Ellipsis)
            elif isinstance(each, ast.Starred):
                items += self.unrolled(self.visit(each.value))
            else:
                item = self.visit(each)
                if (isinstance(item, TupleOf) and len(parts) == 1) or (
                    isinstance(item, Static) and isinstance(item.value, tuple)
                ):
                    items += self.unrolled(item)
                elif isinstance(item, Static) and item.value is Ellipsis:  # by its name
                    items.append(Ellipsis)
                else:
                    items.append(item)
        # After ... dims are counted from the end: -1 is the last. What is a view there needs one dim for each tensor.
        dim, taken, ending, plain = 0, {}, False, True
        for i, item in enumerate(items):
            if item is Ellipsis:
                dim, ending = -sum(1 for each in items[i + 1 :] if not self._is_new(each)), True
                continue
            if self._is_new(item):
                value = self.op("unsqueeze", value, dim - 1 if ending else dim)
                taken = {at - (ending and at < 0): used for at, used in taken.items()}
                dim = dim if ending else dim + 1
                plain = plain and not ending
                continue
            before = value
            value, after, used = self._one_view(value, item, dim, ending)
            if used is not None:
                taken[dim] = used
            elif ending and value is not before:
                plain = False
                if value.node().kind() == "aten::select":  # this dim went away
                    taken = {at + (at < 0): used for at, used in taken.items()}
            dim = after
        return value, self._index_list(value, taken, plain) if taken else None

    @staticmethod
    def _is_new(item):
        return isinstance(item, Static) and item.value is None

    def _one_view(self, value, item, dim, ending):
        if isinstance(item, ast.Slice):
            parts = [self._bound_of(item.lower), self._bound_of(item.upper)]
            step = self._step_of(item.step)
            if all(map(self._is_new, parts)) and isinstance(step, Static) and step.value == 1:
                return value, dim + 1, None
            arguments = [self.value(each) for each in parts] + [self.value(step)]
            return self.op("slice", value, dim, *arguments), dim + 1, None
        if isinstance(item, Static) and isinstance(item.value, bool):
            raise self.error("a bool is no index of the script language")
        part = self.value(item)
        if part in self.empties:
            part = self.checked(part, ir.ListType(types.INT))
        kind = part.type().kind()
        if kind == "IntType":  # the dim goes away
            return self.op("select", value, dim, part), dim + 1 if ending else dim, None
        if kind == "ListType":  # which may be empty, and then says nothing of its elements
            element = part.type().getElementType()
            part = self.op("tensor", part, **({"dtype": self.constant(torch.int64)} if element == types.INT else {}))
        elif types.is_optional(part.type()):
            raise self.error("an index that may be None", "test `is not None` before")
        elif kind != "TensorType":
            raise self.error(f"a tensor cannot be indexed with a value of type {part.type()}")
        return value, dim + 1, part

    def _index_list(self, value, taken, plain=True):
        wanted = ir.ListType(ir.OptionalType(types.TENSOR))
        none = self.constant(None)
        first = [taken.get(at, none) for at in range(max(taken) + 1)]
        if all(at >= 0 for at in taken):
            return self.list_of(first, wanted)
        last = [taken.get(at, none) for at in range(min(taken), 0)]
        tensors = self.list_of(list(taken.values()))
        gaps = sum(1 for each in (*first, *last) if each is none)
        between = self.call_python(_dims_between, [value, tensors, Static(gaps), Static(plain)], {})
        whole = self.op("mul", self.list_of([none], wanted), self.value(between))
        if first:
            whole = self.op("add", self.list_of(first, wanted), whole)
        return self.op("add", whole, self.list_of(last, wanted))

    # -- assignments ------------------------------------------------------------------------------------------------------

    def do_Assign(self, node):
        if node.type_comment:
            wanted = self.known(types.from_annotation, node.type_comment, self.function.source)
            item = self.declared(node.targets[0], wanted, self.typed(node.value, wanted))
        else:
            item = self.visit(node.value)
        for target in node.targets:
            self.assign(target, item)
        return FALLS

    def do_AnnAssign(self, node):
        text = ast.unparse(node.annotation)
        wanted = self.known(types.from_annotation, text, self.function.source)
        if isinstance(node.target, ast.Attribute):
            owner = self.visit(node.target.value)
            if isinstance(owner, Self) and not owner.concrete.is_module and not owner.concrete.open:
                raise self.error(
                    "annotations on instance attributes must be declared in __init__", kind=AnnotationError
                )
        if node.value is None:
            if isinstance(node.target, ast.Name):
                self._annotate(node.target.id, wanted)
            return FALLS
        item = self.declared(node.target, wanted, self.typed(node.value, wanted))
        self.assign(node.target, item)
        return FALLS

    def declared(self, target, wanted, item):
        if isinstance(target, ast.Name):
            self._annotate(target.id, wanted)
            value = self.named(target.id, item, wanted)
        else:
            value = self.value(item, wanted)
        if value.type() != wanted:
            value = self.node("prim::unchecked_cast", [value], [wanted]).output()
        return value

    def _annotate(self, name, wanted):
        self.function.annotated[name] = wanted
        self.frame.annotates.add(name)

    def named(self, name, item, wanted):
        """The value of an item for a name that is annotated."""
        try:
            return self.value(item, wanted)
        except ScriptError as error:
            if not error.message.startswith("Expected a value of type") or not self.is_value(item):
                raise
            of = self.type_of(item)
            raise self.error(
                f"Variable '{name}' is annotated with type {wanted} but is being assigned to a value of type {of}"
            ) from None

    def assign(self, target, item):
        """Bind a target to an item: a name, an attribute, an element, or a tuple of them."""
        if isinstance(target, ast.Name):
            if isinstance(item, ir.Value):
                self.called(target.id, item)
            wanted = self.function.annotated.get(target.id)
            if wanted is not None and self.is_value(item):
                try:
                    item = self.named(target.id, item, wanted)
                except ScriptError:
                    if target.id not in self.frame.annotates:
                        raise
                    del self.function.annotated[target.id]  # the block that annotates it goes on with another type
                    self.frame.set(target.id, item)
                    return
                if item.type() != wanted:
                    self.frame.set(target.id, self.node("prim::unchecked_cast", [item], [wanted]).output())
                    self._refined_by(target.id, item)
                    return
            self.frame.set(target.id, item)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, item)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.visit(target.value), target.attr, item)
        elif isinstance(target, ast.Subscript):
            self._set_element(target, item)
        elif isinstance(target, ast.Starred):
            raise self.error("* in an assignment needs a tuple on the other side")
        else:
            raise self.error("this cannot be assigned to")

    def _refined_by(self, name, item):
        """An Optional name that has just got a value is known to have one."""
        if not types.is_none(item.type()):
            self.frame.refined[name] = item
            self.frame.names.setdefault(name, item)

    def _unpack(self, target, item):
        count = len(target.elts)
        starred = next((i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        items = self.unrolled(item)
        if items is None:
            if isinstance(item, Static) and callable(item.value):
                raise self.error(f"{self.describe(item)} cannot be used as a tuple")
            value = self.value(item)
            if value.type().kind() == "AnyType":
                raise self.error(
                    "Provided tuple is not fully defined/refined including its element types",
                    "ask for Tuple[int, int] or the like in torch.jit.isinstance",
                )
            if value.type().kind() == "TensorType":
                value = self.op("unbind", value)
            if value.type().kind() == "ListType" and starred is not None:
                self._unpack_starred(target, value, starred)
                return
            if value.type().kind() != "ListType":
                raise self.error(f"a value of type {value.type()} cannot be used as a tuple of {count} names")
            element = value.type().getElementType()
            items = list(self.node("prim::ListUnpack", [value], [element] * count).outputs())
        if starred is not None:
            after = count - starred - 1
            middle = items[starred : len(items) - after]
            for each, part in zip(target.elts[:starred], items):
                self.assign(each, part)
            self.assign(target.elts[starred].value, TupleOf(middle))
            for each, part in zip(target.elts[starred + 1 :], items[len(items) - after :]):
                self.assign(each, part)
            return
        if len(items) != count:
            if len(items) < count:
                raise self.error(f"need {count} values to unpack but found only {len(items)}")
            raise self.error(f"too many values to unpack: need {count} but found {len(items)}")
        for each, part in zip(target.elts, items):
            self.assign(each, part)

    def _unpack_starred(self, target, value, starred):
        """``*batch, h, w = sizes`` of a list: from both ends."""
        after = len(target.elts) - starred - 1
        for i, each in enumerate(target.elts):
            if i == starred:
                end = Static(-after if after else None)
                part = self.op("slice", value, i, self.value(end), 1)
                self.assign(each.value, part)
            else:
                self.assign(each, self.op("__getitem__", value, i if i < starred else i - len(target.elts)))

    def _set_element(self, target, item):
        owner = self.visit(target.value)
        if isinstance(owner, Static):
            raise self.error(
                f"{self.describe(owner)} is known while compiling and cannot be changed",
                "make it within the function, or an attribute of the module",
            )
        value = self.value(owner)
        if value.type().kind() != "TensorType":
            if isinstance(target.slice, ast.Slice):
                raise self.error(
                    "Sliced expression not yet supported for subscripted assignment of a list", "assign the elements"
                )
            self.set_item(value, self.value(self.visit(target.slice)), item)
            return
        parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        view, tensors = self._views(value, parts)
        new = self.value(item)
        if new.type().kind() != "TensorType":
            if tensors is None:
                self.op("fill_", view, new)
                return
            new = self.op("tensor", new, dtype=self.op("prim::dtype", value), device=self.op("prim::device", value))
        if tensors is None:
            self.op("copy_", view, new)
        else:
            self.op("index_put_", view, tensors, new)

    def set_item(self, value, key, item):
        """``value[key] = item`` of a list or dict."""
        if value in self.empties and value.type().kind() == "DictType":
            new = self.value(item)
            self.empties.discard(value)
            value.setType(ir.DictType(key.type(), new.type()))
            item = new
        kind = value.type().kind()
        if kind == "ClassType":
            self.method(value, "__setitem__", [key, item], {})
            return
        if kind not in ("ListType", "DictType"):
            raise self.error(f"'{value.type()}' object does not support subscripted assignment")
        wanted = value.type().getElementType() if kind == "ListType" else value.type().containedTypes()[1]
        self.op("_set_item", value, key, self.value(item, wanted))

    def append(self, value, item):
        """``value.append(item)``: an empty list takes the type of its first element."""
        if value in self.empties:
            new = self.value(item)
            self.empties.discard(value)
            value.setType(ir.ListType(new.type()))
            item = new
        wanted = value.type().getElementType()
        with self.telling(f"append to {value.type()}: Could not match type {self.type_of(item)} to {wanted}"):
            item = self.value(item, wanted)
        self.op("append", value, item)

    def do_AugAssign(self, node):
        """``x += y``: in place for tensors and lists, as in Python."""
        name, fold = self._operator(node.op)
        read, target = _load(node.target), node.target
        if isinstance(target, ast.Subscript):
            owner = self.visit(read.value)
            if isinstance(owner, ir.Value) and owner.type().kind() == "TensorType":
                return self._element_in_place(owner, read.slice, name, node.value)
            if self.is_value(owner) and self.type_of(owner).kind() == "TupleType":
                raise self.error(
                    f"'{self.type_of(owner)}' object does not support augmented assign", "make a new tuple"
                )
            index = read.slice  # both are evaluated once, for what is read and what is written
            if not isinstance(index, ast.Slice):
                index = ast.copy_location(Given(self.visit(index)), index)
            whole = ast.copy_location(Given(owner), target)
            read = target = ast.copy_location(ast.Subscript(whole, index, ast.Store()), target)
        old = self.visit(read)
        new = self.visit(node.value)
        if isinstance(old, ir.Value) and old.type().kind() == "TensorType":
            result = self._tensor_in_place(name, old, new)
        elif isinstance(old, ir.Value) and old.type().kind() == "ListType" and name == "add":
            library.method("ListType", "extend")(self, old, new)
            result = old
        elif isinstance(old, ir.Value) and old.type().kind() == "ListType" and name == "mul":
            self.call_python(_repeat_in_place, [old, new], {})
            result = old
        elif isinstance(old, ir.Value) and old.type().kind() == "ClassType":
            result = self._object_in_place(name.strip("_"), old, new)
        else:
            result = self.binary(name, fold, old, new)
        done = isinstance(old, ir.Value) and old.type().kind() in ("TensorType", "ListType") and name != "matmul"
        if not (done and isinstance(node.target, ast.Subscript)):  # the element has been changed in its place
            self.assign(target, result)
        return FALLS

    def _tensor_in_place(self, name, old, new):
        if name == "matmul":
            return self.op("matmul", old, self.value(new))
        name = name.strip("_")
        return self.op(_IN_PLACE.get(name, f"{name}_"), old, self.value(new))

    def _element_in_place(self, owner, index, name, tree):
        """``x[i] += y`` of a tensor: in the view where the index is one, else written back."""
        parts = self._index(index)
        parts = parts.elts if isinstance(parts, ast.Tuple) else [parts]
        view, tensors = self._views(owner, parts)
        old = view if tensors is None else self.op("index", view, tensors)
        result = self._tensor_in_place(name, old, self.visit(tree))
        if tensors is not None:
            self.op("index_put_", view, tensors, result)
        elif name == "matmul":
            self.op("copy_", view, result)
        return FALLS

    def _object_in_place(self, name, old, new):
        """``old += new`` of an object: its ``__iadd__``, else its ``__add__``."""
        name = {"div": "truediv", "remainder": "mod"}.get(name, name)
        for method in (f"__i{name}__", f"__{name}__"):
            if self.compiler.method_of_class(old.type(), method, self) is not None:
                return self.method(old, method, [new], {})
        raise self.error(
            f"Cannot emit inplace op on {old.type()} since it does not define an __i{name}__ or __{name}__ method"
        )


def _repeat_in_place(values, times: int):
    if times <= 0:
        values.clear()
    count = len(values)
    for _ in range(times - 1):
        for i in range(count):
            values.append(values[i])


def _dims_between(value, tensors: list[torch.Tensor], gaps: int, plain: bool):
    """How many dims ``...`` stands for between tensors; a mask stands for as many as it has."""
    taken = gaps
    for each in tensors:
        dims = each.dim() if each.dtype == torch.bool or each.dtype == torch.uint8 else 1
        if dims != 1 and not plain:
            raise IndexError(
                f"a mask of {dims} dims behind ..., beside numbers and slices: index in two steps, or write the dims out"
            )
        taken = taken + dims
    if taken > value.dim():
        raise IndexError(f"too many indices for tensor of dimension {value.dim()}")
    return value.dim() - taken


def _load(target):
    made = ast.parse(ast.unparse(target), mode="eval").body
    for each in ast.walk(made):
        ast.copy_location(each, target)
    return made
