"""Where the tests run: the platform, the modules and devices that are there, what the environment asks for."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys

import torch


def _asked(name: str) -> bool:
    return os.environ.get(name, "0") == "1"


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


SEED = 1234

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_X86 = platform.machine() in ("x86_64", "i386", "AMD64")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_JETSON = False  # no board is told apart
IS_PPC = platform.machine() == "ppc64le"
IS_S390X = platform.machine() == "s390x"
IS_CI = bool(os.environ.get("CI"))
IS_SANDCASTLE = _asked("SANDCASTLE")
IS_FBCODE = _asked("PYTORCH_TEST_FBCODE")
IS_REMOTE_GPU = _asked("PYTORCH_TEST_REMOTE_GPU")
NO_MULTIPROCESSING_SPAWN = False

TEST_NUMPY = _there("numpy")
TEST_SCIPY = _there("scipy")
TEST_NUMBA = _there("numba")
TEST_DILL = _there("dill")
TEST_LIBROSA = _there("librosa")
TEST_OPT_EINSUM = _there("opt_einsum")
TEST_TRANSFORMERS = _there("transformers")
TEST_FAIRSEQ = _there("fairseq")

TEST_CUDA = torch.cuda.is_available()
TEST_MPS = torch.backends.mps.is_available()
TEST_XPU = torch.xpu.is_available()
TEST_HPU = False
TEST_MKL = torch.backends.mkl.is_available()
TEST_ONEDNN = TEST_MKLDNN = torch.backends.mkldnn.is_available()
TEST_ACCELERATOR = torch.accelerator.is_available()
TEST_CUDA_GRAPH = TEST_CUDA and not _asked("PYTORCH_TEST_SKIP_CUDAGRAPH")

TEST_WITH_ROCM = bool(getattr(torch.version, "hip", None))
TEST_WITH_ASAN = _asked("PYTORCH_TEST_WITH_ASAN")
TEST_WITH_DEV_DBG_ASAN = _asked("PYTORCH_TEST_WITH_DEV_DBG_ASAN")
TEST_WITH_TSAN = _asked("PYTORCH_TEST_WITH_TSAN")
TEST_WITH_UBSAN = _asked("PYTORCH_TEST_WITH_UBSAN")
TEST_WITH_SLOW = _asked("PYTORCH_TEST_WITH_SLOW")
TEST_SKIP_FAST = _asked("PYTORCH_TEST_SKIP_FAST")
TEST_WITH_SLOW_GRADCHECK = _asked("PYTORCH_TEST_WITH_SLOW_GRADCHECK")
TEST_WITH_CROSSREF = _asked("PYTORCH_TEST_WITH_CROSSREF")
TEST_WITH_TORCHDYNAMO = _asked("PYTORCH_TEST_WITH_DYNAMO")
TEST_WITH_TORCHINDUCTOR = _asked("PYTORCH_TEST_WITH_INDUCTOR")
TEST_WITH_AOT_EAGER = _asked("PYTORCH_TEST_WITH_AOT_EAGER")

NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia", torch._C._get_privateuse1_backend_name())
GRADCHECK_NONDET_TOL = 1e-12
