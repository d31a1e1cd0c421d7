"""A file is replaced all at once."""

import errno
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from torch.serialize import load, load_sharded, save, save_npz, save_safetensors, save_sharded
from torch.serialize._storage.atomic import replacing


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as fd:
        os.write(fd, b"new")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.pt"]


def test_mode_and_links_are_kept(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as fd:
        os.write(fd, b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_without_unnamed_files_a_hidden_one_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.serialize._storage.atomic._open_unnamed", lambda folder: None)
    test_an_error_leaves_the_old_file_and_nothing_else(tmp_path)
    with replacing(tmp_path / "b.pt") as fd:
        os.write(fd, b"new")
    assert (tmp_path / "b.pt").read_bytes() == b"new" and sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]


def test_a_pipe_is_written_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    save({"a": 1}, pipe)
    reader.join(10)
    assert load(got[0]) == {"a": 1}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_an_error():
    with pytest.raises(OSError, match="No space left"):
        save({"a": 1}, "/dev/full")


def state(i):
    """Three small records and two that threads write, all of the number i."""
    return {
        name: np.full(size, i) for name, size in (("a", 200), ("b", 3), ("c", 2000), ("d", 150_000), ("e", 140_000))
    }


def whole(path, read=load):
    """The number that all of a file is made of."""
    out = read(path, arrays="numpy")
    assert [len(array) for array in out.values()] == [200, 3, 2000, 150_000, 140_000]
    (number,) = {int(value) for array in out.values() for value in (array[0], array[-1], array.min(), array.max())}
    return number


WRITERS = {
    "zip": lambda state, path: save(state, path, arrays="numpy"),
    "stream": lambda state, path: save(state, path, arrays="numpy", format="stream"),
    "safetensors": save_safetensors,
    "npz": save_npz,
    "several": lambda state, path: save_sharded(state, f"{path}.bin", 1_500_000),
}


def read_back(kind, path):
    return whole(f"{path}.bin", load_sharded) if kind == "several" else whole(path)


def kill(folder, count, kind="zip", seed=0):
    """Kills `count` writers at random moments; gives how many left the file that they were writing behind another one's."""
    path, rng, changed = folder / "a.pt", random.Random(seed), 0
    begin = time.perf_counter()
    for _ in range(3):
        WRITERS[kind](state(0), path)
    usual = (time.perf_counter() - begin) / 3
    for i in range(1, count + 1):
        before = read_back(kind, path)
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                while True:
                    os.write(tell, b".")
                    WRITERS[kind](state(i), path)
            finally:
                os._exit(1)
        os.read(ready, 1)
        time.sleep(3 * usual * rng.random())  # any moment will do: within the first save, or a later one
        os.kill(child, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        os.close(ready)
        os.close(tell)
        after = read_back(kind, path)
        assert after in (before, i)
        changed += after == i
        for name in os.listdir(folder):
            if name.endswith(".tmp"):  # killed between naming the new file and renaming it
                if kind == "zip":
                    assert whole(folder / name) == i
                (folder / name).unlink()
    return changed


# gcc's ASan locks its allocator for good in a child that is forked while another thread allocates.
forks = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan does not survive a fork beside threads"
)


# 200 times each: TORCH_SERIALIZE_KILLS=200 python -m pytest packages/torch-serialize/tests/test_atomic.py -k killed
@forks
@pytest.mark.parametrize("kind", WRITERS)
def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path, kind):
    count = int(os.environ.get("TORCH_SERIALIZE_KILLS", "8"))
    changed = kill(tmp_path, count, kind)
    print(f"{kind}: of {count} killed writers, {changed} had replaced the file at least once")


LIMIT = 1_000_000


def fill(path, kind):
    """Runs a writer that may write files of LIMIT bytes; gives the name of its error."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
            WRITERS[kind](state(1), path)
            os.write(tell, b"nothing")
        except BaseException as e:
            os.write(tell, errno.errorcode.get(getattr(e, "errno", None), type(e).__name__).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(tell)
    with open(ready, "rb") as pipe:
        return pipe.read().decode()


@forks
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("named", [False, True])
def test_no_room_leaves_the_old_file_and_nothing_else(tmp_path, kind, named, monkeypatch):
    if named:  # on file systems without unnamed files
        monkeypatch.setattr("torch.serialize._storage.atomic._open_unnamed", lambda folder: None)
    path = tmp_path / "a.pt"
    assert fill(path, kind) == "EFBIG" and os.listdir(tmp_path) == []
    WRITERS[kind](state(0), path)
    before = sorted(os.listdir(tmp_path))
    assert fill(path, kind) == "EFBIG"
    assert read_back(kind, path) == 0 and sorted(os.listdir(tmp_path)) == before


FULL = """
import os, sys
sys.path.insert(0, sys.argv[1])
import pathlib, subprocess
folder = pathlib.Path(sys.argv[2])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=True)
import importlib.util
spec = importlib.util.spec_from_file_location("atomic", sys.argv[1])
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
for kind, write in tests.WRITERS.items():
    path = folder / kind
    tests.save({"old": 1}, path, arrays="numpy")
    try:
        write(tests.state(1), path)
        write(tests.state(2), path)
        raise SystemExit("it fitted")
    except OSError as e:
        assert e.errno == 28, e
    assert all(not name.endswith(".tmp") for name in os.listdir(folder)), os.listdir(folder)
    for name in os.listdir(folder):
        (folder / name).unlink()
print("fine")
"""


def test_a_full_disk_leaves_no_piece_of_a_file(tmp_path):
    command = ["unshare", "-rm", sys.executable, "-c", FULL, __file__, str(tmp_path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "permitted" in done.stderr or "denied" in done.stderr:
        pytest.skip("no small file system may be mounted here")
    assert done.stdout.strip() == "fine", done.stderr


def test_standard_output_can_be_written_by_its_path():
    code = "import numpy; from torch.serialize import save; save({'a': 1}, '/dev/stdout', arrays='numpy')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert load(done.stdout, arrays="numpy") == {"a": 1}
