"""What ``torch.<name>`` means when torch-core's own namespace lacks the name: a part, a name out of a part, or a name of a
module that is imported at first use.
"""

import sys

from ._parts import ALIASES, FACES, PARTS, MissingPart, import_module

# Names that users find in `torch` itself and that live in a part.
ATTRIBUTES = {
    "no_grad": "autograd",
    "enable_grad": "autograd",
    "set_grad_enabled": "autograd",
    "is_grad_enabled": "autograd",
    "inference_mode": "autograd",
    "is_inference_mode_enabled": "autograd",
    "is_anomaly_enabled": "autograd",
    "is_anomaly_check_nan_enabled": "autograd",
    "set_anomaly_enabled": "autograd",
    "vmap": "func",
    "_grouped_mm": "nn",
    "save": "serialize",
    "load": "serialize",
    "PyTorchFileReader": "serialize",
}

# Functions of torch.nn.functional that programs find in `torch` itself.
FUNCTIONAL = (
    "alpha_dropout", "channel_shuffle", "embedding_renorm_", "feature_alpha_dropout", "cosine_similarity",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "rms_norm",
    "rrelu", "rrelu_",
)  # fmt: skip
ATTRIBUTES.update(dict.fromkeys(FUNCTIONAL, "nn"))

# Losses that in `torch` itself take their reduction as a number, bags their mode, and what has no other name.
CODED = (
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "embedding_bag", "hinge_embedding_loss",
    "kl_div", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss", "_ctc_loss", "_weight_norm", "affine_grid_generator",
    "alpha_dropout_", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "norm_except_dim",
)  # fmt: skip
ATTRIBUTES.update(dict.fromkeys(CODED, "nn"))

# Functions of torch.nn.recurrent that programs find in `torch` itself.
RECURRENT = ("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell")
ATTRIBUTES.update(dict.fromkeys(RECURRENT, "nn"))

# Names of torch-core itself that wait in a module for their first use; a module may be asked for by its own name.
LAZY = {
    **dict.fromkeys(("set_printoptions", "get_printoptions", "printoptions"), "_printing"),
    **dict.fromkeys(("finfo", "iinfo"), "_limits"),
    **dict.fromkeys(("set_default_tensor_type", "_tensor_classes"), "_compat.classes"),
    **dict.fromkeys(("unique", "unique_consecutive"), "_operators.unique"),
    **dict.fromkeys(("ifft", "rfft", "irfft"), "_compat.fft"),
    **dict.fromkeys(("lu", "btrifact"), "_operators.lu"),
    **dict.fromkeys(("svd_lowrank", "pca_lowrank", "lobpcg"), "_lowrank"),
    **dict.fromkeys(("TypedStorage", "UntypedStorage", "Storage", "_storage_classes"), "storage"),
    **dict.fromkeys(
        (
            "adjoint", "combinations", "cov", "corrcoef", "empty_permuted", "gradient", "cdist", "pdist", "renorm", "hash_tensor",
        ),
        "_operators.composed",
    ),
    **dict.fromkeys(("histogram", "histogramdd", "nonzero_static", "unravel_index"), "_operators.counting"),
    **dict.fromkeys(
        (
            "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "indices_copy", "narrow_copy",
            "permute_copy", "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
            "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "values_copy", "view_copy", "view_as_complex_copy",
            "view_as_real_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "_chunk_cat",
        ),
        "_operators.copies",
    ),
    **dict.fromkeys(
        (
            "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "native_batch_norm", "native_group_norm", "segment_reduce", "_segment_reduce", "_softmax_backward_data",
            "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "native_norm",
        ),
        "_operators.native",
    ),
    **dict.fromkeys(
        (
            "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "float4_e2m1fn_x2", "int1", "int2", "int3", "int4", "int5", "int6",
            "int7", "qint32", "qint8", "quint2x4", "quint4x2", "quint8", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
        ),
        "_dtypes",
    ),
    **dict.fromkeys(("Stream", "Event"), "_streams"),
    "Future": "futures",
    "Tag": "_tags",
    "StorageBase": "storage",
    **dict.fromkeys(("while_loop", "cond"), "_operators.loops"),
    **dict.fromkeys(("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"), "_operators.compressed"),
    "_nested_view_from_buffer": "nested._strided",
    "legacy_contiguous_format": "_operators.predicates",
    **dict.fromkeys(
        ("_scaled_mm", "lstsq", "matrix_rank", "solve", "symeig"),
        "_operators.refused",
    ),
    **dict.fromkeys(
        (
            "_choose_qparams_per_tensor", "dequantize", "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic", "int_repr", "q_scale", "q_zero_point",
            "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points",
        ),
        "_quantized.tensor",
    ),
    **dict.fromkeys(
        ("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine", "fused_moving_avg_obs_fake_quant"),
        "_fake_quantized",
    ),
    **dict.fromkeys(
        (
            "_empty_affine_quantized", "_empty_per_channel_affine_quantized", "_make_per_channel_quantized_tensor",
            "_make_per_tensor_quantized_tensor", "empty_quantized",
        ),
        "_quantized.made",
    ),
    **dict.fromkeys(
        (
            "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric",
            "qscheme",
        ),
        "_qschemes",
    ),
    **dict.fromkeys([f"_cast_{t}" for t in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")], "_compat.casts"),
    "_int_mm": "_operators.native",
    **dict.fromkeys(("_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"), "_operators.scaling"),
    "_disable_dynamo": "_compile",
    **dict.fromkeys(
        (
            "_convert_weight_to_int4pack", "_convert_weight_to_int4pack_for_cpu", "_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu",
            "_weight_int8pack_mm",
        ),
        "_operators.weight_only",
    ),
    **dict.fromkeys(
        (
            "AnyType", "Block", "BoolType", "ClassType", "ComplexType", "DeviceObjType", "DictType", "DisableTorchFunction",
            "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "EnumType", "FloatType", "FutureType", "Graph", "IntType",
            "ListType", "Node", "NoneType", "NumberType", "OptionalType", "PyObjectType", "StringType", "TensorType",
            "TupleType", "Type", "UnionType", "Use", "Value", "parse_ir", "parse_type",
        ),
        "_C",
    ),
    "OutOfMemoryError": "cuda",
    **dict.fromkeys(("autocast", "GradScaler"), "amp"),
    **dict.fromkeys(
        (
            "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype",
            "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
            "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
        ),
        "amp.autocast_mode",
    ),
    **dict.fromkeys(
        (
            "_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
            "_check_tensor_all_with", "get_device_module", "_check_type", "_check_value", "_check_with", "_constrain_as_size", "_shape_as_tensor",
            "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
        ),
        "_operators.checks",
    ),
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), "_symbols"),
    "fork_rng": "random",
    **dict.fromkeys(("tensordot", "einsum", "chain_matmul"), "_operators.products"),
    **dict.fromkeys(
        (
            "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor",
            "sparse_compressed_tensor",
        ),
        "_operators.sparse",
    ),
    **dict.fromkeys(
        (
            "typename", "is_storage", "is_floating_point", "is_complex", "numel", "is_same_size", "is_nonzero",
            "compiled_with_cxx11_abi", "broadcast_shapes", "are_deterministic_algorithms_enabled", "use_deterministic_algorithms",
            "is_signed", "is_conj", "is_inference", "is_distributed", "_has_compatible_shallow_copy_type", "size", "stride", "expand", "expand_as", "repeat", "fill_",
            "zero_", "bernoulli_", "pin_memory", "get_float32_matmul_precision", "set_float32_matmul_precision",
            "get_deterministic_debug_mode", "set_deterministic_debug_mode", "get_num_interop_threads", "set_num_interop_threads",
            "get_default_device", "set_default_device", "from_file", "gcd_", "get_device", "has_lapack", "has_mkl", "has_openmp", "is_neg",
            "has_cuda", "has_cudnn", "has_mps", "set_vital",
            "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "lcm_", "set_warn_always", "to_dlpack", "xlogy_",
        ),
        "_operators.predicates",
    ),
}  # fmt: skip
MODULES = (
    "_VF",
    "__config__",
    "__future__",
    "_classes",
    "_custom_ops",
    "_functorch",
    "_guards",
    "_higher_order_ops",
    "_inductor",
    "_jit_internal",
    "_ops",
    "_prims_common",
    "_subclasses",
    "_tensor_str",
    "_utils",
    "accelerator",
    "amp",
    "backends",
    "classes",
    "cpu",
    "cuda",
    "doctor",
    "fft",
    "functional",
    "futures",
    "library",
    "linalg",
    "masked",
    "monitor",
    "memory",
    "mps",
    "mtia",
    "nested",
    "numa",
    "ops",
    "overrides",
    "quasirandom",
    "random",
    "return_types",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch_version",
    "types",
    "version",
    "xpu",
)  # of torch-core, imported when first touched
TYPED = (
    "Float",
    "Double",
    "Half",
    "BFloat16",
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
    "Bool",
    "ComplexFloat",
    "ComplexDouble",
)

# Names of torch._C that torch-jit has, by the module there; those without an underscore are names of `torch`, too.
OF_PROGRAMS = {
    **dict.fromkeys(("CompilationUnit", "Future", "ScriptFunction", "ScriptModule", "fork", "wait"), "torch.jit"),
    **dict.fromkeys(("Argument", "FunctionSchema", "parse_schema"), "torch.jit._schema"),
    **dict.fromkeys(("ScriptDict", "ScriptList"), "torch.jit._native"),
    **dict.fromkeys(("_create_function_from_graph", "_get_graph_executor_optimize", "_propagate_shapes"), "torch.jit._passes"),
    "FileCheck": "torch.jit._filecheck",
    "JITException": "torch.jit:Error",
    "ScriptObject": "torch.jit._ir:Object",
    "_Await": "torch._awaits",
    "_freeze_module": "torch.jit._freeze:freeze_object",
}  # fmt: skip

# Functions that programs of PyTorch ask for, by the part that will have them.
PLANNED_FUNCTIONS = {"compile": "compiler"}


def _exists(name: str) -> bool:
    try:
        getattr(sys.modules["torch"], name)
    except (AttributeError, MissingPart):
        return False
    return True


def attribute(name: str):
    """What ``torch.<name>`` means when torch-core itself has no such name: a part, or a name out of a part."""
    if _completes(sys._getframe(2)):
        raise AttributeError(f"torch.{name} is not loaded for the sake of its completion")
    if name in MODULES:
        return import_module(f"torch.{name}")
    if name == "torch":  # `from torch import torch`, which editors write
        return sys.modules["torch"]
    if name == "__all__":  # what `from torch import *` takes: what is there, and no modules
        return _keep(name, [n for n in names() if n[0] != "_" and n not in PARTS and n not in MODULES and _exists(n)])
    if name in LAZY:
        module = import_module(f"torch.{LAZY[name]}")
        return module if name == LAZY[name] else _keep(name, getattr(module, name))
    if name in OF_PROGRAMS and name[0] != "_":
        return _keep(name, getattr(import_module("torch._C"), name))
    for kind, module in (("Tensor", "torch._compat.classes"), ("Storage", "torch.storage")):
        if name.endswith(kind) and name.removesuffix(kind) in TYPED:
            return _keep(name, import_module(module).make(name))
    if name.startswith(("_foreach_", "_fused_")):
        module = import_module(f"torch._operators.{name.split('_')[1]}")
        if name in module.__all__:
            return _keep(name, getattr(module, name))
    if name in ALIASES:
        attribute(ALIASES[name].partition(".")[0])  # the part, or the error that names its distribution
        return import_module(f"torch.{name}")
    part = ATTRIBUTES.get(name) or PLANNED_FUNCTIONS.get(name, name)
    if part not in PARTS and part not in FACES:
        from ._spelling import unknown

        raise unknown(name, names())
    try:
        module = import_module(f"torch.{part}")
    except MissingPart as error:
        text = str(error) if part == name else f"torch.{name}: {error}"
        raise AttributeError(text, name=name, obj=sys.modules["torch"]) from None
    if part == name:
        return module
    if name in FUNCTIONAL:
        module = module.functional
    if name in CODED:
        module = import_module("torch.nn.functional._coded")
    if name in RECURRENT:
        module = import_module("torch.nn.recurrent")
    if name == "_grouped_mm":
        return _keep(name, module.functional.grouped_mm)
    return _keep(name, getattr(module, name))


def _completes(frame) -> bool:
    """Whether the completion of an interactive interpreter asks: it reads every name in turn, to see which are callable,
    and would wait for each part to load. A name that it cannot read is offered all the same."""
    return frame is not None and frame.f_globals.get("__name__") == "rlcompleter"


def _keep(name: str, value):
    setattr(sys.modules["torch"], name, value)  # found without a detour from now on
    return value


def names() -> list[str]:
    """What ``dir(torch)`` shows."""
    return sorted(
        {
            *vars(sys.modules["torch"]),
            *(name for name in PARTS if name[0] != "_"),
            *ATTRIBUTES,
            *LAZY,
            *(name for name in OF_PROGRAMS if name[0] != "_"),
            *MODULES,
            *(t + kind for t in TYPED for kind in ("Tensor", "Storage")),
        }
    )
