"""Looking into files without loading them."""

import subprocess
import sys

import numpy as np
from torch.serialize import get_unsafe_globals_in_checkpoint, inspect, save


def test_tensors_are_listed_with_what_they_share(data):
    for name in ("zip.pt", "stream.pt"):
        rows = {row.name: row for row in inspect(data / name)}
        assert rows["base"].shape == (4, 6) and rows["base"].dtype == "float32" and rows["base"].nbytes == 96
        assert rows["base"].storage == rows["view"].storage != rows["zero_d"].storage
        assert rows["parameter"].requires_grad and not rows["frozen"].requires_grad


def test_a_module_is_inspected_without_its_classes(data):
    assert [row.shape for row in inspect(data / "module.pt")][:2] == [(4, 3), (4,)]
    assert get_unsafe_globals_in_checkpoint(data / "module.pt") == [
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
        "torch.nn.modules.batchnorm.BatchNorm1d",
    ]


def test_a_file_that_is_not_read_in_one_go_is_listed_without_reading_its_tensors(tmp_path):
    big = np.arange(1_500_000.0)
    for format in ("zip", "stream"):
        save({"big": big, "half": big[::2]}, tmp_path / "a.pt", arrays="numpy", format=format)
        whole, half = inspect(tmp_path / "a.pt")
        assert whole.shape == (1_500_000,) and half.shape == (750_000,) and whole.storage == half.storage
    raw = bytearray((tmp_path / "a.pt").read_bytes())
    raw[6_000_000] ^= 1
    (tmp_path / "a.pt").write_bytes(raw)
    assert len(inspect(tmp_path / "a.pt")) == 2


def test_a_file_of_data_asks_for_nothing_more(data):
    assert get_unsafe_globals_in_checkpoint(data / "zip.pt") == []


def run(*args):
    done = subprocess.run(
        [sys.executable, "-m", "torch.serialize", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_lists_a_file(data):
    code, out, _ = run("inspect", data / "zip.pt")
    assert code == 0 and "base" in out and "(4, 6)" in out and "shares" in out


def test_the_command_warns_of_code(data):
    code, out, _ = run("inspect", data / "module.pt")
    assert code == 0 and "torch.nn.modules.linear.Linear" in out


def test_the_command_converts(tmp_path):
    save({"w": np.arange(3.0), "b": np.ones(2, np.float32)}, tmp_path / "a.pt", arrays="numpy")
    code, _, err = run("convert", tmp_path / "a.pt", tmp_path / "a.safetensors")
    assert code == 0, err
    code, _, err = run("convert", tmp_path / "a.safetensors", tmp_path / "b.npz")
    assert code == 0, err
    with np.load(tmp_path / "b.npz") as out:
        assert np.array_equal(out["w"], np.arange(3.0))


def test_the_command_reports_a_bad_file_in_one_line(tmp_path):
    (tmp_path / "x.pt").write_bytes(b"nonsense")
    code, _, err = run("inspect", tmp_path / "x.pt")
    assert code == 1 and err.count("\n") == 1 and "x.pt" in err


def test_neither_numpy_nor_torch_is_needed_to_look(data):
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from torch.serialize import inspect, load\n"
        "print(len(inspect(sys.argv[1])))\n"
        "try: load(sys.argv[1], arrays='numpy')\n"
        "except ImportError as e: print(e)"
    )
    command = [sys.executable, "-c", code, str(data / "zip.pt")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    count, error = done.stdout.splitlines()
    assert count == "27" and "pip install numpy" in error
