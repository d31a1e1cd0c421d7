"""A file is replaced all at once."""

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from torch.serialize import load, save
from torch.serialize._atomic import replacing


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
    monkeypatch.setattr("torch.serialize._atomic._open_unnamed", lambda folder: None)
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


WRITER = """
import sys, numpy as np
from torch.serialize import save
print("ready", flush=True)
i = 0
while True:
    i += 1
    save({"a": np.full(20000, i), "b": np.full(30000, i)}, sys.argv[1], arrays="numpy")
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.pt"
    save({"a": np.zeros(20000), "b": np.zeros(30000)}, path, arrays="numpy")
    rng = random.Random(1)
    for _ in range(8):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(rng.random() * 0.05)  # any moment will do
        writer.send_signal(signal.SIGKILL)
        writer.wait(10)
        writer.stdout.close()
        out = load(path, arrays="numpy")
        assert len(set(out["a"])) == 1 and out["a"][0] == out["b"][0] and len(out["b"]) == 30000
