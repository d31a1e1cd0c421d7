"""Settings of the compiler: kept as programs set them, not read while there is none."""

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
suppress_errors = verbose = False
optimize_ddp = True
capture_scalar_outputs = capture_dynamic_output_shape_ops = False
assume_static_by_default = automatic_dynamic_shapes = inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = force_parameter_static_shapes = False
skip_fwd_side_effects_in_bwd_under_checkpoint = False


def patch(changes=None, value=None, **more):
    """Settings for the length of a block."""
    from contextlib import contextmanager

    if isinstance(changes, str):
        changes = {changes: value}

    @contextmanager
    def block():
        given, missing = {**(changes or {}), **more}, object()
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

    return block()
