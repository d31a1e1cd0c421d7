"""Settings of ``torch.compile``. ``recompile_limit``, ``fail_on_recompile_limit_hit``, ``error_on_recompile``,
``suppress_errors``, ``automatic_dynamic_shapes``, ``specialize_int``, ``specialize_float``, ``disable``, ``capture_dynamic_output_shape_ops`` and ``choose_faster`` have an effect, the others are kept as programs set them."""

#: how many programs of one function are kept; then it runs as it was written
recompile_limit = cache_size_limit = 8
accumulated_recompile_limit = accumulated_cache_size_limit = 256
#: raise FailOnRecompileLimitHit instead
fail_on_recompile_limit_hit = False
#: time the first calls of a program, and go on with the function as it was written if that is faster (not in PyTorch)
choose_faster = True
#: a function runs as it was written where its backend fails
suppress_errors = False
verbose = False
optimize_ddp = True
capture_scalar_outputs = capture_dynamic_output_shape_ops = False
assume_static_by_default = automatic_dynamic_shapes = inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = force_parameter_static_shapes = False
skip_fwd_side_effects_in_bwd_under_checkpoint = False
guard_nn_modules = True
specialize_int = specialize_float = False
error_on_recompile = False
#: functions that are compiled from now on are left as they are
disable = False
dynamic_shapes = capture_autograd_function = capture_func_transforms = trace_numpy = enable_trace_contextlib = True
capture_profiler_record_function = capture_sparse_compute = compiled_autograd = allow_rnn = nested_graph_breaks = False
dead_code_elimination = enable_cpp_guard_manager = replay_side_effects = rewrite_assert_with_torch_assert = True
prefer_deferred_runtime_asserts_over_guards = do_not_emit_runtime_asserts = only_allow_pt2_compliant_ops = False
report_guard_failures = raise_on_ctx_manager_usage = enable_faithful_generator_behavior = True
use_graph_deduplication = use_lazy_graph_module = use_numpy_random_stream = enable_compiler_collectives = False
error_on_nested_fx_trace = error_on_nested_jit_trace = guard_nn_modules_using_dict_tags = skip_nnmodule_hook_guards = (
    True
)
cprofile = verify_correctness = replay_record_enabled = prepare_freezing = caching_precompile = strict_precompile = (
    False
)
minimum_call_count, repro_level, repro_tolerance, repro_after, log_file_name = 1, 2, 1e-3, None, None
numpy_default_float, numpy_default_complex, numpy_default_int = "float64", "complex128", "int64"


def patch(changes=None, value=None, **more):
    """Settings for the length of a block, or of a function's calls."""
    from contextlib import ContextDecorator

    if isinstance(changes, str):
        changes = {changes: value}
    given, missing = {**(changes or {}), **more}, object()

    class Block(ContextDecorator):
        def __enter__(self):
            self.before = {name: globals().get(name, missing) for name in given}
            globals().update(given)

        def __exit__(self, *error):
            for name, was in self.before.items():
                if was is missing:
                    del globals()[name]
                else:
                    globals()[name] = was

    return Block()
