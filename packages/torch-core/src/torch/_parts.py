"""The other distributions of the stack put their package below this one's folder: torch/nn comes from torch-nn.

Parts load at first touch. A part that is not there says which distribution has it, and a compiled part that was built
for another interface says so before its library is loaded.
"""

import sys
from os.path import isfile, join

PARTS = {
    "autograd": "torch-autograd",
    "nn": "torch-nn",
    "optim": "torch-optim",
    "serialize": "torch-serialize",
    "multiprocessing": "torch-multiprocessing",
    "utils": "torch-utils",
}

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
    "save": "serialize",
    "load": "serialize",
}

# Functions of torch.nn.functional that programs find in `torch` itself.
FUNCTIONAL = (
    "cosine_embedding_loss", "embedding_bag", "embedding_renorm_", "feature_alpha_dropout",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss", "margin_ranking_loss",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "rms_norm", "rrelu", "rrelu_", "triplet_margin_loss",
)  # fmt: skip
ATTRIBUTES.update(dict.fromkeys(FUNCTIONAL, "nn"))

# Modules that users know under a second name.
ALIASES = {
    "serialization": "serialize",
    "hub": "utils.hub",
    "_C._nn": "nn.functional",
    "profiler": "autograd.profiling",
}

# Names of torch-core itself that wait in a module until somebody asks; a module may be asked for by its own name.
LAZY = {
    **dict.fromkeys(("set_printoptions", "get_printoptions", "printoptions"), "_printing"),
    **dict.fromkeys(("finfo", "iinfo"), "_limits"),
    "set_default_tensor_type": "_legacy",
    **dict.fromkeys(("unique", "unique_consecutive"), "_unique"),
    **dict.fromkeys(("ifft", "rfft", "irfft"), "_spectral"),
    **dict.fromkeys(("lu", "btrifact"), "_factored"),
    **dict.fromkeys(("svd_lowrank", "pca_lowrank", "lobpcg"), "_lowrank"),
    **dict.fromkeys(("TypedStorage", "UntypedStorage"), "storage"),
    **dict.fromkeys(
        (
            "adjoint", "combinations", "cov", "corrcoef", "empty_permuted", "gradient", "cdist", "pdist", "renorm",
        ),
        "_composed",
    ),
    **dict.fromkeys(("histogram", "histogramdd", "nonzero_static", "unravel_index"), "_counting"),
    **dict.fromkeys(
        (
            "alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "indices_copy", "narrow_copy",
            "permute_copy", "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy",
            "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "values_copy", "view_copy", "view_as_complex_copy",
            "view_as_real_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "_chunk_cat",
        ),
        "_copies",
    ),
    **dict.fromkeys(
        (
            "_native_batch_norm_legit", "native_batch_norm", "native_group_norm", "segment_reduce", "_segment_reduce", "_softmax_backward_data",
            "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
        ),
        "_native",
    ),
    **dict.fromkeys(("autocast", "GradScaler"), "amp"),
    "fork_rng": "random",
    **dict.fromkeys(("tensordot", "einsum", "chain_matmul"), "_products"),
    **dict.fromkeys(
        (
            "sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor",
            "sparse_compressed_tensor",
        ),
        "_sparse_tensors",
    ),
    **dict.fromkeys(
        (
            "typename", "is_storage", "is_floating_point", "is_complex", "numel", "is_same_size", "is_nonzero", "set_flush_denormal",
            "compiled_with_cxx11_abi", "broadcast_shapes", "are_deterministic_algorithms_enabled", "use_deterministic_algorithms",
            "is_signed", "is_conj", "is_inference", "is_distributed", "size", "stride", "expand", "expand_as", "repeat", "fill_",
            "zero_", "bernoulli_", "pin_memory", "get_float32_matmul_precision", "set_float32_matmul_precision",
            "get_deterministic_debug_mode", "set_deterministic_debug_mode", "get_num_interop_threads", "set_num_interop_threads",
            "get_default_device", "set_default_device", "from_file", "gcd_", "get_autocast_dtype", "get_device", "is_autocast_enabled", "has_lapack", "has_mkl", "has_openmp", "is_neg",
            "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "lcm_", "set_warn_always", "to_dlpack", "xlogy_",
        ),
        "_misc",
    ),
}  # fmt: skip
MODULES = (
    "_utils",
    "accelerator",
    "amp",
    "backends",
    "cpu",
    "cuda",
    "doctor",
    "fft",
    "functional",
    "linalg",
    "masked",
    "memory",
    "ops",
    "overrides",
    "random",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "types",
    "version",
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

# What programs of PyTorch ask for and is not there yet: modules, and functions by the module they belong to.
PLANNED = {
    "ao", "compiler", "distributed", "distributions", "export", "func", "fx", "jit", "legacy", "library", "nested", "onnx",
    "package", "quantization",
}  # fmt: skip
PLANNED_FUNCTIONS = {"compile": "compiler", "vmap": "func"}


class MissingPart(ModuleNotFoundError):
    """A part of the stack that is not installed; ``name`` is the distribution to install.

    It is not the name of the module: ``from torch import nn`` swallows an error of that name and puts a shorter one
    in its place.
    """


def missing(part: str) -> MissingPart:
    """The error for a part that is not installed.

    >>> missing("nn")
    MissingPart("torch.nn is in the distribution 'torch-nn', which is not installed: pip install torch-nn")
    """
    if part in PLANNED:
        return MissingPart(f"torch.{part} is not part of this stack yet", name=f"torch-{part}")
    dist = PARTS[part]
    text = f"torch.{part} is in the distribution {dist!r}, which is not installed: pip install {dist}"
    return MissingPart(text, name=dist)


class Finder:
    """Last in sys.meta_path: asked only for a part that the usual finder did not find in torch/."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        above, _, part = name.partition(".")
        if above == "torch" and part in ALIASES:
            from importlib.machinery import ModuleSpec

            return ModuleSpec(name, Alias(f"torch.{ALIASES[part]}"))
        if above != "torch" or (part not in PARTS and part not in PLANNED):
            return None
        folders = sys.modules["torch"].__path__
        for entry in sys.path:
            # An editable install keeps its part in a folder of its own. A torch/ with an __init__.py is a whole other
            # torch-core, or not ours at all.
            folder = join(entry, "torch")
            if folder not in folders and isfile(join(folder, part, "__init__.py")):
                if not isfile(join(folder, "__init__.py")):
                    from importlib.machinery import PathFinder  # here, for the sake of `import torch`

                    folders.append(folder)
                    return PathFinder.find_spec(name, [folder])
        raise missing(part)


class Alias:
    """Loads a module under its second name: both are one module."""

    def __init__(self, name: str):
        self.name = name

    def create_module(self, spec):
        module = import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec


def install() -> None:
    """Called once by ``import torch``."""
    from torch import _C

    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
    # Pickled models name functions and the base of Tensor by where PyTorch has them.
    _C.TensorBase, _C._VariableFunctionsClass, _C.__path__ = _C.Tensor, sys.modules["torch"], []
    # The core opens OpenBLAS at first need; where the package lies is known here alone.
    found = (join(entry, "scipy_openblas32", "lib", "libscipy_openblas.so") for entry in sys.path)
    if path := next(filter(isfile, found), None):
        _C._set_blas_library(path)


def import_module(name: str):
    __import__(name)
    return sys.modules[name]


def attribute(name: str):
    """What ``torch.<name>`` means when torch-core itself has no such name: a part, or a name out of a part."""
    if name in MODULES:
        return import_module(f"torch.{name}")
    if name == "torch":  # `from torch import torch`, which editors write
        return sys.modules["torch"]
    if name in LAZY:
        module = import_module(f"torch.{LAZY[name]}")
        return module if name == LAZY[name] else _keep(name, getattr(module, name))
    for kind, module in (("Tensor", "torch._legacy"), ("Storage", "torch.storage")):
        if name.endswith(kind) and name.removesuffix(kind) in TYPED:
            return _keep(name, import_module(module).make(name))
    if name in ALIASES:
        attribute(ALIASES[name].partition(".")[0])  # the part, or the error that names its distribution
        return import_module(f"torch.{name}")
    part = ATTRIBUTES.get(name) or PLANNED_FUNCTIONS.get(name, name)
    if part not in PARTS and part not in PLANNED:
        raise _unknown(name)
    try:
        module = import_module(f"torch.{part}")
    except MissingPart as error:
        text = str(error) if part == name else f"torch.{name}: {error}"
        raise AttributeError(text, name=name, obj=sys.modules["torch"]) from None
    if part == name:
        return module
    if name in FUNCTIONAL:
        module = module.functional
    return _keep(name, getattr(module, name))


def _keep(name: str, value):
    setattr(sys.modules["torch"], name, value)  # found without a detour from now on
    return value


def need(part: str):
    """Import a part on behalf of a method such as ``Tensor.backward``, or raise the error that names its distribution."""
    return import_module(f"torch.{part}")


def names() -> list[str]:
    """What ``dir(torch)`` shows."""
    return sorted(
        {
            *vars(sys.modules["torch"]),
            *PARTS,
            *ATTRIBUTES,
            *LAZY,
            *MODULES,
            *(t + kind for t in TYPED for kind in ("Tensor", "Storage")),
        }
    )


def require(dist: str, built_for: int) -> None:
    """Refuse a compiled part that was built for another interface of torch-core; called before its library is loaded."""
    from torch import _C

    if built_for == _C.interface:
        return
    upgrade = dist if built_for < _C.interface else "torch-core"
    raise ImportError(
        f"{dist} {_version(dist)} was built for interface {built_for} of torch-core; "
        f"installed torch-core {_version('torch-core')} has interface {_C.interface}: pip install -U {upgrade}"
    )


def _version(dist: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(dist)
    except PackageNotFoundError:
        return "(from a source tree)"


def _unknown(name: str) -> AttributeError:
    torch = sys.modules["torch"]
    text = f"module 'torch' has no attribute {name!r}"
    if not name.startswith("__"):
        if meant := _alike(name, names()):
            text += f"; did you mean {meant!r}?"
    return AttributeError(text, name=name, obj=torch)


def _alike(name: str, known: list[str]) -> str | None:
    """The known name that one slip of the hand turns into this one. Cheap: libraries probe torch with hasattr.

    >>> _alike("zeroes", ["ones", "zeros"]), _alike("Eye", ["eye"]), _alike("compile", ["eye"])
    ('zeros', 'eye', None)
    """
    # Of Tensor and tensor, the one that begins as the user began.
    known = sorted(known, key=lambda k: k[:1].isupper() == name[:1].isupper())
    plain = {k.strip("_").lower(): k for k in known if not k.startswith("_")}
    word = name.strip("_").lower()
    if word in plain:
        return plain[word]
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
    slips = [a + b[1:] for a, b in cuts if b]
    slips += [a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1]
    slips += [a + c + b[1:] for a, b in cuts if b for c in letters]
    slips += [a + c + b for a, b in cuts for c in letters]
    return next((plain[s] for s in slips if s in plain and len(word) > 2), None)
