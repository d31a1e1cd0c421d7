"""Tensor Comprehensions: layers written as formulas over indices, compiled for their sizes.

The language of 2018. A comprehension names its tensors and says what each element is; ranges of indices follow from the tensors that
they index, and Halide compiles the loops.

>>> import torch, torch.tc as tc
>>> matmul = tc.define('''
... def matmul(float(M, K) A, float(K, N) B) -> (C) {
...     C(m, n) +=! A(m, k) * B(k, n)
... }''', name="matmul")
>>> matmul(torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor([[1., 2.],
        [3., 4.]])
"""

from torch.tc import options
from torch.tc._cache import decode
from torch.tc._early import TcAutotuner, TcCompilationUnit, cuda_compiler, llvm_flags, nvcc_flags
from torch.tc._flags import (
    SetDebugFlags,
    debug_halide,
    debug_lang,
    debug_tc_mapper,
    debug_tuner,
    dump_cuda,
    dump_ptx,
    logtostderr,
)
from torch.tc._late import (
    TC,
    CompilationCache,
    Executor,
    MappingOptionsCache,
    Tuner,
    TunerConfig,
    assert_almost_equal,
    autotune,
    autotune_and_compile,
    compile,
    make_autograd,
    make_autotuned_options_factory,
    make_load_from_cache_options_factory,
    make_naive_options_factory,
)
from torch.tc._options import MappingOptions, Options
from torch.tc._source import CompilationError
from torch.tc._tuner import autotuner_settings
from torch.tc._unit import TcUnit, define, parse

TensorComprehension = TC
parse_defs = parse

__all__ = [
    "CompilationCache",
    "CompilationError",
    "Executor",
    "MappingOptions",
    "MappingOptionsCache",
    "Options",
    "SetDebugFlags",
    "TC",
    "TcAutotuner",
    "TcCompilationUnit",
    "TcUnit",
    "TensorComprehension",
    "Tuner",
    "TunerConfig",
    "assert_almost_equal",
    "autotune",
    "autotune_and_compile",
    "autotuner_settings",
    "compile",
    "cuda_compiler",
    "debug_halide",
    "debug_lang",
    "debug_tc_mapper",
    "debug_tuner",
    "decode",
    "define",
    "dump_cuda",
    "dump_ptx",
    "llvm_flags",
    "logtostderr",
    "make_autograd",
    "make_autotuned_options_factory",
    "make_load_from_cache_options_factory",
    "make_naive_options_factory",
    "nvcc_flags",
    "options",
    "parse",
    "parse_defs",
]
