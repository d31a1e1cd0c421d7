"""collect_env, bottleneck, ThroughputBenchmark, backcompat: what is run by hand."""

import os
import re
import subprocess
import sys
import threading

import pytest
import torch
from torch.utils import ThroughputBenchmark, backcompat, collect_env
from torch.utils.dlpack import DLDeviceType
from torch.utils.throughput_benchmark import format_time


def program(*arguments, cwd=None):
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], env=settings, capture_output=True, text=True, cwd=cwd
    )


def has_autograd():
    try:
        import torch.autograd  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def test_collect_env_tells_of_the_machine_and_the_parts(monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", "/somewhere")
    done = program("torch.utils.collect_env")
    assert done.returncode == 0, done.stderr
    for word in (
        "torch-core",
        "kernels",
        "gcc",
        "/dev/shm",
        f"Python        {sys.version.split()[0]}",
        "TORCH_EXTENSIONS_DIR=/somewhere",
    ):
        assert word in done.stdout, word
    assert collect_env.get_env_info().gcc_version


def test_a_missing_compiler_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert collect_env.get_env_info().cmake_version == "not installed"


SCRIPT = """
import sys
import torch
import beside
def slow():
    for _ in range(200):
        torch.ones(100, 100).mm(torch.ones(100, 100))
if __name__ == "__main__":
    slow()
    print("arguments", sys.argv[1:], beside.x)
    sys.exit(int(sys.argv[1]))
"""


def test_bottleneck_shows_functions_and_operators(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "beside.py").write_text("x = 42")
    done = program("torch.utils.bottleneck", "--top", 5, tmp_path / "script.py", "3", "--flag")
    assert done.returncode == 3
    assert "arguments ['3', '--flag'] 42" in done.stdout
    python, products = done.stdout.split("Functions of Python")[1].split("Products and convolutions")
    python, events = python.split("autograd profiler output (CPU mode)")
    assert "(slow)" in python
    if has_autograd():
        assert "top 5 events sorted by cpu_time_total" in events
        rows = re.findall(r"^ +aten::(\w+) .* ([\d.]+)(us|ms|s) +1 *$", events, re.M)
        assert len(rows) == 5 and {name for name, _, _ in rows} <= {"mm", "ones"}
        times = [float(time) * {"us": 1, "ms": 1e3, "s": 1e6}[unit] for _, time, unit in rows]
        assert times == sorted(times, reverse=True)
    else:
        assert "'torch-autograd', which is not installed" in events
    assert re.search(r"^ +200 +0\.400  mm$", products, re.M)  # 200 times 2 * 100 ** 3
    assert "torch-core" in done.stdout


def test_bottleneck_reports_a_program_that_fails(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.ones(2)\nraise KeyError('mine')")
    done = program("torch.utils.bottleneck", tmp_path / "script.py")
    assert done.returncode == 1
    assert "KeyError: 'mine'" in done.stderr and "Products and convolutions" in done.stdout
    done = program("torch.utils.bottleneck", tmp_path / "absent.py")
    assert done.returncode == 2 and "no program" in done.stderr


def test_throughput_is_counted_over_threads():
    seen, here = [], threading.local()

    def module(x, scale=1):
        here.calls = getattr(here, "calls", 0) + 1
        seen.append((threading.get_ident(), float(x) * scale))

    bench = ThroughputBenchmark(module)
    with pytest.raises(RuntimeError, match="add_input first"):
        bench.benchmark()
    bench.add_input(torch.tensor(2.0), scale=3)
    bench.run_once(1.0)
    stats = bench.benchmark(num_calling_threads=3, num_warmup_iters=2, num_iters=50)
    assert stats.num_iters == 50
    assert len(seen) == 1 + 3 * 2 + 50
    assert {value for _, value in seen[1:]} == {6.0}
    assert len({thread for thread, _ in seen[1:]}) == 3
    assert stats.iters_per_second == pytest.approx(50 / stats.total_time_seconds)
    assert "Total number of iterations: 50" in str(stats)


def test_an_error_in_a_benchmarked_module_is_raised():
    bench = ThroughputBenchmark(lambda x: 1 / x)
    bench.add_input(0)
    with pytest.raises(ZeroDivisionError):
        bench.benchmark(num_calling_threads=2)
    with pytest.raises(ValueError, match="got 0 and 100"):
        bench.benchmark(num_calling_threads=0)


def test_times_read_well():
    assert [format_time(time_us=3), format_time(time_ms=2.5), format_time(time_s=1)] == ["3.000us", "2.500ms", "1.000s"]
    with pytest.raises(ValueError, match="one of"):
        format_time()


def test_warnings_of_0_2_are_off_and_stay_off():
    backcompat.broadcast_warning.enabled = False
    assert backcompat.keepdim_warning.enabled is False
    with pytest.raises(NotImplementedError, match="broadcasting is as in 0.2"):
        backcompat.broadcast_warning.enabled = True


def test_device_kinds_have_the_numbers_of_dlpack():
    kind, _ = torch.ones(1).__dlpack_device__()
    assert DLDeviceType(kind) is DLDeviceType.kDLCPU
    assert (DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM) == (2, 10)
