"""The script compiler: Python's syntax trees to graphs, graphs to readable Python, and the texts of archives back.

``values.py`` opens with what an expression is while compiling, ``statements.py`` with how control flow becomes blocks. The
compiler of a function is the class ``Emitter``, put together from one file for each part of the language.
"""

_PUBLIC = ("CompilationUnit", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "script", "script_method")


def __getattr__(name):
    if name not in _PUBLIC:  # submodules are asked for here, too, before they are imported
        raise AttributeError(f"module 'torch.jit._script' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("torch.jit._script.api"), name)
