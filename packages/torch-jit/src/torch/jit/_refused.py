"""What PyTorch has for programs and this stack has not, each with the reason."""

from torch._seams import absent_function

_REASONS = {
    "last_executed_optimized_graph": "programs run as plans, which keep no graph; function.graph_for(*args) is the graph of a call",
    "export_opnames": "overloads have other names here than in PyTorch; nodes of module.inlined_graph say kind() and overload()",
    "jit_module_from_flatbuffer": "programs are zip archives: torch.jit.load reads them",
    "save_jit_module_to_flatbuffer": "programs are zip archives: torch.jit.save writes them",
}

globals().update((name, absent_function("torch.jit", name, reason)) for name, reason in _REASONS.items())
