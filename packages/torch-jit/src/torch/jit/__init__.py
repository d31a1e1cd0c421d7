"""``torch.jit``: programs. What is not there yet is the plain Python that the stand-in in torch-core answers with."""

from torch._faces import jit as _stand_in
from torch._faces.jit import *  # noqa: F403

# What the script compiler answers: it is loaded when one of these is first asked for.
_SCRIPT = frozenset(
    {
        "CompilationUnit", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "_drop", "_overload",
        "_overload_method", "export", "ignore", "interface", "load", "save", "script", "script_if_tracing",
        "script_method", "unused",
    }
)  # fmt: skip
_TRACE = {
    "TracerWarning": "_reads", "TracingCheckError": "_trace", "_get_trace_graph": "_trace", "is_tracing": "_trace",
    "trace": "_trace", "trace_module": "_trace", "TopLevelTracedModule": "_modules", "freeze": "_freeze",
    "compile": "_old", "get_trace_graph": "_old", "get_tracing_state": "_old", "scope": "_old", "verify": "_old",
    "weak_module": "_old", "weak_script": "_old", "weak_script_method": "_old",
    **dict.fromkeys(("_Await", "_awaitable", "_awaitable_nowait", "_awaitable_wait"), "_await"),
    "_flatten": "_flat", "_unique_state_dict": "_flat", "_hide_source_ranges": "_flat",
    "optimize_for_inference": "_freeze", "run_frozen_optimizations": "_freeze",
    **dict.fromkeys(
        ("export_opnames", "jit_module_from_flatbuffer", "last_executed_optimized_graph", "save_jit_module_to_flatbuffer"), "_refused"
    ),
}  # fmt: skip
for _name in (*_SCRIPT, *_TRACE):
    globals().pop(_name, None)


def __getattr__(name):
    if name in _TRACE:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"torch.jit.{_TRACE[name]}"), name)
        return value
    if name in _SCRIPT:
        from torch.jit._script import api

        value = globals()[name] = getattr(api, name)
        return value
    if name in ("frontend", "annotations", "mobile", "_recursive", "_state", "_logging", "_serialization", "_builtins"):
        from importlib import import_module

        return import_module(f"torch.jit.{name}")
    try:
        return getattr(_stand_in, name)
    except AttributeError:  # it says what to install
        raise AttributeError(f"module 'torch.jit' has no attribute {name!r}") from None
