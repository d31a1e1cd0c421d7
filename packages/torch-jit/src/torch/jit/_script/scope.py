"""Names and what they are at a point of a program: one frame for each block, and what is pending in it."""

from __future__ import annotations

import ast

__all__ = ["EXITS", "FALLS", "MAYBE", "RAISES", "Frame", "Function", "assigned", "flags"]

# How a list of statements ends: always goes on, may have left (by the flags), always has left, always raises.
FALLS, MAYBE, EXITS, RAISES = "falls", "maybe", "exits", "raises"

flags = ("$returned", "$broke", "$continued")


class Frame:
    """The names that a block assigns or knows more about, over the frame of the block around it."""

    def __init__(self, above=None, block=None):
        self.above, self.block = above, block
        self.names = {}
        self.annotates = set()  # names whose types the block declares
        self.refined = {}  # what a condition says about a name: not an assignment
        self.fallen = {}  # the type of an Optional name where control has not left
        self.gone = False  # control has left by a return, break or continue

    def get(self, name, default=None):
        frame = self
        while frame is not None:
            if name in frame.refined:
                return frame.refined[name]
            if name in frame.names:
                return frame.names[name]
            frame = frame.above
        return default

    def set(self, name, value):
        self.names[name] = value
        self.refined.pop(name, None)
        self.fallen.pop(name, None)

    def known(self):
        """All names, the nearest first."""
        frame, names = self, {}
        while frame is not None:
            names.update(dict.fromkeys(frame.names))
            frame = frame.above
        return list(names)


class Function:
    """A function that is being compiled: where it stands, what it returns, and whether it is a library's.

    Functions of a library are compiled anew for each call and into it: their arguments are of the types they come with.
    """

    def __init__(self, source, library=False, returns=None, owner=None, cls=None, above=None):
        self.source, self.library, self.returns = source, library, returns
        self.owner, self.cls, self.above = owner, cls, above  # of a method: the object and the class of its definition
        self.frame = None
        self.loops = 0
        self.shared = set()  # names that `nonlocal` gives to the function around it
        self.annotated = {}  # types that assignments have declared
        self.unions = {}  # parameters that are declared a Union: a branch may make them any type of it


class _Assigned(ast.NodeVisitor):
    def __init__(self):
        self.names = {}

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.names.setdefault(node.id)

    def visit_FunctionDef(self, node):
        self.names.setdefault(node.name)

    def visit_Lambda(self, node):
        pass

    def visit_ListComp(self, node):
        pass

    visit_DictComp = visit_GeneratorExp = visit_SetComp = visit_ListComp


def assigned(statements):
    """The names that statements assign, in order."""
    visitor = _Assigned()
    for each in statements:
        visitor.visit(each)
    return list(visitor.names)
