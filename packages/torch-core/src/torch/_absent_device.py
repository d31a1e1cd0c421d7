"""Faces of accelerators that this build has no kernels for: they say so, and what needs a device raises.

``torch.xpu``, ``torch.mps`` and ``torch.mtia`` are made here.
"""

QUESTIONS = {  # what is asked of any accelerator, and the answer without one
    "is_available": False,
    "is_initialized": False,
    "is_bf16_supported": False,
    "is_tf32_supported": False,
    "is_current_stream_capturing": False,
    "device_count": 0,
    "current_allocated_memory": 0,
    "driver_allocated_memory": 0,
    "memory_allocated": 0,
    "max_memory_allocated": 0,
    "memory_reserved": 0,
    "max_memory_reserved": 0,
}
NOTHING = (
    "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
)  # fmt: skip
LISTS = ("get_rng_state_all", "get_arch_list")
NEED_DEVICE = (
    "can_device_access_peer", "current_device", "current_stream", "default_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "init", "initial_seed", "mem_get_info", "memory_snapshot", "memory_stats",
    "recommended_max_memory", "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream",
    "stream", "synchronize", "compile_shader",
)  # fmt: skip
CLASSES = ("Event", "Stream", "StreamContext", "device", "device_of")


def fill(module: dict, title: str) -> None:
    """Put the functions and classes of a face into its module."""
    name = module["__name__"]
    reason = f"{name} needs a build with kernels for {title}, and this stack has none"

    def add(word, function, doc):
        function.__name__ = function.__qualname__ = word
        function.__module__, function.__doc__ = name, doc
        module[word] = function

    def refuse(word):
        def needs_one(*args, **kwargs):
            raise RuntimeError(f"{name}.{word}: {reason}")

        return needs_one

    for word, answer in QUESTIONS.items():
        add(word, lambda *args, _answer=answer, **kwargs: _answer, f"{answer}: there is no such device.")
    for word in NOTHING:
        add(word, lambda *args, **kwargs: None, "Does nothing: there is no such device.")
    for word in LISTS:
        add(word, lambda *args, **kwargs: [], "Empty: there is no such device.")
    for word in NEED_DEVICE:
        add(word, refuse(word), f"Raises RuntimeError: {reason}.")
    for word in CLASSES:
        doc = f"Raises RuntimeError when made: {reason}."
        module[word] = type(word, (), {"__init__": refuse(word), "__module__": name, "__doc__": doc})
    module["default_generators"] = ()
