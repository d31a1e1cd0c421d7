"""The number of threads: where it comes from, setting it, and calls from several threads at once."""

import os
import subprocess
import sys
import threading

import pytest
import torch
from torch import doctor


def started(program, **environment):
    """What a fresh interpreter prints; variables set to None are removed."""
    env = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for name in [k for k, v in environment.items() if v is None]:
        env.pop(name, None)
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
    return done.stdout.strip(), done.stderr


SHOW = "import torch; print(torch.get_num_threads())"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs an affinity mask")
def test_the_default_is_what_the_process_may_use():
    shown, _ = started(SHOW, TORCH_NUM_THREADS=None, OMP_NUM_THREADS=None)
    assert 1 <= int(shown) <= len(os.sched_getaffinity(0))
    one = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); " + SHOW
    assert started(one, TORCH_NUM_THREADS=None, OMP_NUM_THREADS=None)[0] == "1"


def test_variables_set_the_number():
    assert started(SHOW, TORCH_NUM_THREADS="3", OMP_NUM_THREADS="5")[0] == "3"
    assert started(SHOW, TORCH_NUM_THREADS=None, OMP_NUM_THREADS="5")[0] == "5"
    shown, errors = started(SHOW, TORCH_NUM_THREADS="many", OMP_NUM_THREADS=None)
    assert int(shown) >= 1 and "TORCH_NUM_THREADS=many is ignored" in errors


def test_set_num_threads_at_any_time():
    before = torch.get_num_threads()
    a = torch.rand(200, 200)
    expected = torch.mm(a, a).tolist()
    try:
        for n in (1, 4, 2, 7):
            torch.set_num_threads(n)
            assert torch.get_num_threads() == n
            assert torch.mm(a, a).tolist() == expected
    finally:
        torch.set_num_threads(before)
    for bad in (0, -1):
        with pytest.raises(RuntimeError, match="positive integer"):
            torch.set_num_threads(bad)


def test_several_python_threads_compute_at_once():
    a = torch.rand(150, 150)
    expected = torch.mm(a, a).tolist()
    wrong = []

    def work():
        for _ in range(20):
            if torch.mm(a, a).tolist() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif("generic" in doctor.report(), reason="kernels only through generic vectors: there are no levels")
def test_the_level_has_the_name_that_programs_ask_for():
    ask = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    assert started(ask, TORCH_CPU_LEVEL="v2")[0] == "DEFAULT"
    assert started(ask, TORCH_CPU_LEVEL=None)[0] in ("AVX512", "AVX2", "DEFAULT")


@pytest.mark.skipif("generic" in doctor.report(), reason="kernels only through generic vectors: there are no levels")
def test_an_unknown_cpu_level_is_named():
    _, errors = started("import torch; torch.mm(torch.rand(4, 4), torch.rand(4, 4))", TORCH_CPU_LEVEL="v9")
    assert "TORCH_CPU_LEVEL=v9: expected v2, v3 or v4" in errors


def test_denormals_become_zero_on_all_threads_that_help():
    small = torch.full((1 << 20,), 1e-40)
    assert (small * 1).count_nonzero() == len(small)
    seen, go = [], threading.Event()
    other = threading.Thread(target=lambda: go.wait(60) and seen.append(int((small * 1).count_nonzero())))
    other.start()  # before: a thread begins with what the one that starts it has
    assert torch.set_flush_denormal(True)
    try:
        assert (small * 1).count_nonzero() == 0
        go.set()
        other.join()
        assert seen == [len(small)]  # of its work nothing was said
        assert (small * 1).count_nonzero() == 0
    finally:
        go.set()
        assert torch.set_flush_denormal(False)
    assert (small * 1).count_nonzero() == len(small)
    with pytest.raises(TypeError, match="set_flush_denormal expects a bool, but got int"):
        torch.set_flush_denormal(1)
