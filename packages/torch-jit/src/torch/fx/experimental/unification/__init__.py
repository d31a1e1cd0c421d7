"""Terms with variables made equal: ``unify``, and ``reify`` to put in what was found (Robinson 1965)."""

from .core import reify, unify
from .more import unifiable
from .variable import Var, isvar, var, variables, vars

__all__ = ["Var", "isvar", "reify", "unifiable", "unify", "var", "variables", "vars"]
