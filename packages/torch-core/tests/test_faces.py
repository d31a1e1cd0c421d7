"""Names that programs use whether or not what stands behind them exists."""

import pickle
import threading

import pytest
import torch


@pytest.mark.parametrize("name", ["xpu", "mps", "mtia"])
def test_a_device_without_kernels_answers_and_refuses(name):
    face = getattr(torch, name)
    assert not face.is_available() and face.device_count() == 0 and face.memory_allocated() == 0
    assert face.empty_cache() is None and face.manual_seed_all(1) is None
    for word in ("current_device", "synchronize", "Stream", "Event"):
        with pytest.raises(RuntimeError, match=rf"torch\.{name}\.{word}: .* this stack has none"):
            getattr(face, word)()
    assert isinstance(face.Stream, type)


def test_cuda_answers_questions_and_does_nothing_where_nothing_is_to_be_done():
    cuda = torch.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and cuda.max_memory_allocated() == 0
    assert cuda.memory_stats() == {} and cuda.get_rng_state_all() == [] and "no memory" in cuda.memory_summary()
    assert (
        cuda.set_device(-1) is None and cuda.set_stream(None) is None and cuda.manual_seed_all(1) is cuda.seed() is None
    )
    with cuda.device(-1), cuda.device(None), cuda.device_of(torch.ones(1)), cuda.stream(None):
        pass
    assert cuda.Stream.priority_range() == (0, 0) and not cuda.nccl.is_available([])
    assert issubclass(cuda.amp.GradScaler, torch.amp.GradScaler) and isinstance(cuda.FloatStorage, type)
    with pytest.raises(ValueError, match="1 states for 0 devices"):
        cuda.set_rng_state_all([torch.ones(1)])


@pytest.mark.parametrize(
    "call",
    [
        "set_device(0)", "current_device()", "synchronize()", "device(0).__enter__()", "comm.broadcast(1, [0])", "Stream()",
        "stream(3).__enter__()", "CUDAGraph()", "graph(None)", "nvtx.range('a').__enter__()", "nccl.version()", "profiler.start()",
        "mem_get_info()", "DoubleStorage()",
    ],
)  # fmt: skip
@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
def test_what_needs_a_cuda_device_says_what_to_install(call, error):
    with pytest.raises(error, match="CUDA needs the distribution 'torch-core-cuda'"):
        eval(call, vars(torch.cuda) | {n: getattr(torch.cuda, n) for n in (*torch.cuda.MODULES, "DoubleStorage")})


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: torch._check(False), RuntimeError, "expected cond to be True"),
        (lambda: torch._check(False, lambda: "too few"), RuntimeError, "^too few$"),
        (lambda: torch._check(False, "text"), TypeError, "message must be a callable"),
        (lambda: torch._check(True, "text"), TypeError, "message must be a callable"),
        (lambda: torch._check(1), TypeError, "cond must be a bool"),
        (lambda: torch._check_index(False, lambda: "i"), IndexError, "^i$"),
        (lambda: torch._check_value(False), ValueError, "expected"),
        (lambda: torch._check_type(False), TypeError, "expected"),
        (lambda: torch._check_not_implemented(False), NotImplementedError, "expected"),
        (lambda: torch._check_is_size(-1), RuntimeError, "expected"),
        (lambda: torch._check_is_size(5, max=4), RuntimeError, "expected"),
        (lambda: torch.sym_constrain_range(5, min=6), RuntimeError, r"5: it is not in \[6, 9223372036854775807\]"),
        (lambda: torch.sym_constrain_range(5, min=4, max=3), RuntimeError, "min=4 max=3"),
        (lambda: torch.sym_constrain_range_for_size(1, max=2), RuntimeError, "greater than 2, got 2"),
        (lambda: torch.ops.aten.sym_constrain_range_for_size(-1), RuntimeError, "-1: it is not in"),
        (lambda: torch._constrain_as_size(5, 1, 3), RuntimeError, "5: it is not in"),
        (lambda: torch._check_tensor_all(torch.tensor([True, False])), RuntimeError, "expected"),
        (lambda: torch._check_tensor_all(torch.tensor([1])), TypeError, "must have dtype torch.bool"),
        (lambda: torch._check_tensor_all(True), TypeError, "must be a tensor"),
        (lambda: torch._assert(torch.tensor(0), "zero"), AssertionError, "zero"),
        (lambda: torch._assert_async(torch.tensor(0)), RuntimeError, "nonzero"),
        (lambda: torch.SymInt(3), TypeError, "such numbers are sizes of exported programs"),
        (lambda: torch.sym_ite(1, 2, 3), AssertionError, "expected a bool"),
    ],
)
def test_a_condition_that_does_not_hold_raises_its_own_class(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_conditions_that_hold_say_nothing():
    torch._check(True, lambda: pytest.fail("not asked for"))
    torch._check_is_size(3, max=3)
    torch._check_tensor_all(torch.ones(2, dtype=torch.bool))
    torch._assert(torch.tensor(1), "one")
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    assert (torch.sym_int(2.9), torch.sym_float(2), torch.sym_not(0), torch.sym_ite(True, 1, 2)) == (2, 2.0, True, 1)
    assert (torch.sym_sum(1, 2), torch.sym_sum([1, 2]), torch.sym_sqrt(9)) == (3, 3, 3.0)
    assert type(torch.sym_max(3, 2.0)) is float and torch.sym_min(3, 2) == 2


def test_named_results_have_public_classes_and_pickle():
    found = torch.tensor([1.0, 3.0]).max(0)
    assert type(found) is torch.return_types.max
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found) and again.values.item() == 3.0
    of_a_module = torch.linalg.eigh(torch.eye(2))
    assert type(of_a_module) is torch.return_types.linalg_eigh and repr(of_a_module).startswith(
        "torch.return_types.linalg_eigh("
    )
    with pytest.raises(AttributeError, match="no attribute 'add'"):
        torch.return_types.add


def test_moments_and_pools_give_plain_tuples():
    x = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    for found in (
        torch.std_mean(x),
        torch.var_mean(x, 1),
        torch.var_mean(x, 1, unbiased=False),
        torch.std_mean(x, False),
    ):
        assert type(found) is tuple
    assert type(torch.max_pool1d_with_indices(x, 2)) is tuple
    with pytest.raises(AttributeError, match="no attribute 'std_mean'"):
        torch.return_types.std_mean


def test_futures_carry_values_and_errors_between_threads():
    future = torch.futures.Future()
    after = future.then(lambda f: f.wait() + 1)
    threading.Timer(0.02, future.set_result, [1]).start()
    assert after.wait() == 2 and torch.futures.wait_all([future, after]) == [1, 2]
    failed = torch.futures.Future()
    failed.set_exception(KeyError("k"))
    with pytest.raises(KeyError):
        failed.then(lambda f: f.value()).wait()
    with pytest.raises(RuntimeError, match="no result yet"):
        torch.futures.Future().value()
    with pytest.raises(RuntimeError, match="has its result already"):
        future.set_result(3)
    assert torch.futures.collect_all([]).wait() == []


# --- compilers ---


def double(x):
    return 2 * x


def test_a_compiled_function_computes_what_the_function_computes():
    compiled = torch.compile(double)
    assert compiled(torch.ones(2)).tolist() == [2, 2] and compiled.__name__ == "double"
    assert compiled._torchdynamo_orig_callable is double
    assert torch.compile(fullgraph=True, dynamic=False, mode="max-autotune")(double)(3) == 6
    assert torch.compile(double, disable=True) is double
    assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    with torch.compiler.set_stance("force_eager"):
        assert compiled(1) == 2


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: torch.compile(double, mode="fast"), RuntimeError, "unrecognized mode 'fast'"),
        (lambda: torch.compile(double, mode="default", options={}), RuntimeError, "either mode or options"),
        (lambda: torch.compile(double, backend="gpu"), ValueError, "unknown backend 'gpu'"),
        (lambda: torch.compile(double, backend=lambda g, x: g), NotImplementedError, "wants a graph"),
        (lambda: torch.compile(3), RuntimeError, "got int"),
        (lambda: torch.compiler.set_stance("lazy"), RuntimeError, "unknown stance 'lazy'"),
        (lambda: torch.compiler.save_cache_artifacts(), NotImplementedError, "torch-jit"),
        (lambda: torch.jit.load("x"), NotImplementedError, "torch.jit.load: programs are in"),
        (lambda: torch.jit.script(3), TypeError, "got int"),
        (lambda: torch.jit.CompilationUnit(""), NotImplementedError, "CompilationUnit"),
    ],
)
def test_what_needs_a_compiler_says_so(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_jit_leaves_programs_as_they_are():
    import typing

    assert torch.jit.script(double) is double and torch.jit.trace(double, torch.ones(1)) is double
    for mark in (torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.script_if_tracing):
        assert mark(double) is double and mark()(double) is double
    assert torch.jit.ignore(drop=True)(double) is double
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing()
    assert torch.jit.annotate(typing.List[int], [1]) == [1]  # noqa: UP006
    assert torch.jit.wait(torch.jit.fork(double, 2)) == 4
    with pytest.raises(AttributeError, match="in the distribution 'torch-jit', which"):
        torch.jit.nonsense


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        ([1, 2], list[int], True),
        ([1, "a"], list[int], False),
        ({"a": [1.0]}, dict[str, list[float]], True),
        ((1, "a"), tuple[int, str], True),
        ((1, 2, 3), tuple[int, str], False),
        ((1, 2, 3), tuple[int, ...], True),
        (None, int | None, True),
        ("a", int | None, False),
        (3, (str, int), True),
    ],
)
def test_jit_isinstance_looks_into_containers(value, kind, expected):
    assert torch.jit.isinstance(value, kind) is expected


def test_switches_of_libraries_that_are_not_used_are_kept_and_misspelt_ones_refused():
    backends = torch.backends
    backends.cuda.matmul.allow_tf32 = True
    assert backends.cuda.matmul.allow_tf32
    backends.cuda.matmul.allow_tf32 = False
    with backends.cuda.sdp_kernel(enable_flash=False, enable_math=True):
        assert not backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled()
    assert not backends.opt_einsum.is_available() and not backends.mps.is_macos_or_newer(13, 0)
    with pytest.raises(AttributeError, match="has no setting 'allow_tf23'"):
        backends.cuda.matmul.allow_tf23 = True


def test_names_of_the_compiled_module_that_libraries_read():
    assert torch._C._get_tracing_state() is None and torch._C._log_api_usage_once("x") is None
    x = torch.ones(4)
    assert torch._C._is_alias_of(x, x[2:]) and not torch._C._is_alias_of(x, torch.ones(4))
    assert torch.get_device_module("cpu") is torch.cpu and torch.get_device_module("cuda") is torch.cuda
    with pytest.raises(AttributeError, match="'torch._C' has no attribute '_nonsense'"):
        torch._C._nonsense


def test_the_default_backend_is_a_name_or_a_function():
    assert torch.compiler.get_default_backend() == "inductor"
    torch.compiler.set_default_backend("eager")
    try:
        assert torch.compiler.get_default_backend() == "eager" and torch.compile(abs)(-1) == 1
    finally:
        torch.compiler.set_default_backend(None)
    with pytest.raises(TypeError, match="must be a string or callable"):
        torch.compiler.set_default_backend(3)


def test_the_strategy_of_fusion_is_kept_and_given_back():
    before = torch.jit.set_fusion_strategy([("DYNAMIC", 2)])
    assert torch.jit.set_fusion_strategy(before) == [("DYNAMIC", 2)]
    with pytest.raises(RuntimeError, match="'STATIC' or 'DYNAMIC', got 'OTHER'"):
        torch.jit.set_fusion_strategy([("OTHER", 1)])
