"""Settings of a compiler that is not there: remembered, without effect, but for ``freezing``, which torch.compile reads."""

import contextlib
import types

fx_graph_cache = coordinate_descent_tuning = epilogue_fusion = max_autotune = conv_1x1_as_mm = shape_padding = False
coordinate_descent_check_all_directions = force_fuse_int_mm_with_mul = use_mixed_mm = freezing = False
enable_auto_functionalized_v2 = force_disable_caches = False
pre_grad_custom_pass = joint_custom_pre_pass = joint_custom_post_pass = None
post_grad_custom_pre_pass = post_grad_custom_post_pass = None
max_autotune_gemm_search_space = "DEFAULT"
compile_threads = 1
triton, cpp = types.SimpleNamespace(cudagraphs=False, unique_kernel_names=False), types.SimpleNamespace(threads=-1)


@contextlib.contextmanager
def patch(changes=None, value=None, **more):
    """Settings for the length of a block."""
    if isinstance(changes, str):
        changes = {changes: value}
    given = {**(changes or {}), **more}
    missing = object()
    before = {name: globals().get(name, missing) for name in given}
    globals().update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is missing:
                del globals()[name]
            else:
                globals()[name] = value


def is_freezing(options):
    """Whether options of ``torch.compile``, or else the setting, say that weights stay.

    >>> is_freezing(None), is_freezing({"freezing": True})
    (False, True)
    """
    return bool(options.get("freezing", freezing) if isinstance(options, dict) else freezing)
