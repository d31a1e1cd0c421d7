"""Checkpoints in several files with an index."""

import fcntl
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from torch.serialize import FileFormatError, convert, inspect, load, load_safetensors, load_sharded, save, save_sharded


def weights():
    base = np.arange(200.0)
    return {
        "a": np.arange(300.0),
        "b": base,
        "half of b": base[:100],
        "c": np.ones((10, 20), np.float32),
        "d": np.zeros(()),
    }


def same(one, two):
    assert list(one) == list(two)
    assert all(np.array_equal(one[name], two[name]) and one[name].dtype == two[name].dtype for name in one)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("mmap", [False, True])
def test_tensors_come_back_from_several_files(tmp_path, name, mmap):
    files = save_sharded(weights(), tmp_path / name, "2.5KB")
    stem, ending = os.path.splitext(name)
    count = 2 if ending == ".bin" else 3  # a pickle holds what shares memory once
    assert files == [f"{stem}-0000{i}-of-0000{count}{ending}" for i in range(1, count + 1)]
    assert sorted(os.listdir(tmp_path)) == sorted([*files, f"{name}.index.json"])
    for path in (tmp_path, tmp_path / name, tmp_path / f"{name}.index.json"):
        same(load_sharded(path, arrays="numpy", mmap=mmap), weights())
    same(load(tmp_path / f"{name}.index.json", arrays="numpy", mmap=mmap), weights())
    assert all(os.path.getsize(tmp_path / file) < 4500 for file in files)


def test_the_index_is_as_hubs_write_it(tmp_path):
    save_sharded(weights(), tmp_path / "model.safetensors", 3000, metadata={"by": "us"})
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 2400 + 1600 + 800 + 800 + 8, "by": "us"}
    assert index["weight_map"]["a"] == "model-00001-of-00003.safetensors" and list(index["weight_map"]) == list(
        weights()
    )
    part = load_safetensors(tmp_path / index["weight_map"]["c"], arrays="numpy")
    assert np.array_equal(part["c"], np.ones((10, 20)))


def test_tensors_that_share_memory_stay_together_and_share_again(tmp_path):
    save_sharded(weights(), tmp_path / "model.bin", 1000)
    out = load_sharded(tmp_path, arrays="numpy")
    assert np.shares_memory(out["b"], out["half of b"])


def test_what_fits_into_one_file_has_no_index(tmp_path):
    save_sharded(weights(), tmp_path / "model.safetensors", 2000)
    assert save_sharded(weights(), tmp_path / "model.safetensors") == ["model.safetensors"]
    assert os.listdir(tmp_path) == ["model.safetensors"]
    out = load_sharded(tmp_path / "model.safetensors", arrays="numpy")
    same({name: out[name] for name in weights()}, weights())
    save_sharded(weights(), tmp_path / "model.safetensors", 2000)
    assert "model.safetensors" not in os.listdir(tmp_path) and len(os.listdir(tmp_path)) == 4


def test_a_second_save_replaces_the_first_and_removes_its_files(tmp_path):
    (tmp_path / "model-of-mine.safetensors").write_bytes(b"")
    save_sharded(weights(), tmp_path / "model.safetensors", 2000)
    new = {name: np.asarray(value + 1) for name, value in weights().items()}
    files = save_sharded(new, tmp_path / "model.safetensors", 2000)
    same(load_sharded(tmp_path, arrays="numpy"), new)
    assert sorted(os.listdir(tmp_path)) == sorted([*files, "model-of-mine.safetensors", "model.safetensors.index.json"])


def test_an_error_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    save_sharded(weights(), tmp_path / "model.bin", 2000)
    before = sorted(os.listdir(tmp_path))
    bad = {**weights(), "z": np.zeros(500)}

    def fail(done, total):
        if done > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_sharded(bad, tmp_path / "model.bin", 2000, progress=fail)
    assert sorted(os.listdir(tmp_path)) == before
    same(load_sharded(tmp_path, arrays="numpy"), weights())


def index(folder, weight_map):
    path = folder / "m.safetensors.index.json"
    path.write_text(weight_map if isinstance(weight_map, str) else json.dumps({"weight_map": weight_map}))
    return path


@pytest.mark.parametrize(
    "file",
    ["../x.safetensors", "/etc/passwd", "", ".", "..", "a/b", "a\\b", "\0", 3, None, ["x"], "m.safetensors.index.json"],
)
def test_an_index_names_files_of_its_own_folder_alone(tmp_path, file):
    for read in (load, inspect):
        with pytest.raises(FileFormatError, match="which is no name of a file in its folder"):
            read(index(tmp_path, {"a": file}))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Expecting value"),
        ("[1]", "no weight_map"),
        ('{"weight_map": [1]}', "no weight_map"),
        ("[" * 10**5, "recursion"),
    ],
)
def test_a_broken_index_is_explained(tmp_path, text, error):
    with pytest.raises(FileFormatError, match=f"not an index of a sharded checkpoint.*{error}"):
        load(index(tmp_path, text))


def test_missing_files_and_names_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x.safetensors' is missing, which .*index.json names"):
        load(index(tmp_path, {"a": "x.safetensors"}))
    save([np.ones(2)], tmp_path / "x.bin", arrays="numpy")
    with pytest.raises(FileFormatError, match="should hold tensors by name, not a list"):
        load(index(tmp_path, {"a": "x.bin"}), arrays="numpy")
    save({"b": np.ones(2)}, tmp_path / "x.bin", arrays="numpy")
    with pytest.raises(FileFormatError, match="x.bin lacks 'a'"):
        load(index(tmp_path, {"a": "x.bin"}), arrays="numpy")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="should hold one index .*, and holds none"):
        load_sharded(tmp_path / "empty")


def test_wrong_arguments_are_explained(tmp_path):
    with pytest.raises(ValueError, match=r"should end in \.safetensors"):
        save_sharded({}, tmp_path / "model.npz")
    with pytest.raises(TypeError, match="expected a dict of tensors by name"):
        save_sharded({"a": {"b": np.ones(1)}, 1: 2}, tmp_path / "model.bin")
    with pytest.raises(TypeError, match="'a' is a dict, not a tensor"):
        save_sharded({"a": {}}, tmp_path / "model.bin")
    for size in ("5 apples", 0, -1, "IB", 1.5):
        with pytest.raises(ValueError, match="max_shard_size"):
            save_sharded(weights(), tmp_path / "model.bin", size)


def test_they_are_inspected_and_converted(tmp_path):
    (tmp_path / "in").mkdir()
    save_sharded(weights(), tmp_path / "in" / "model.bin", 1500)
    rows = {row.name: row for row in inspect(tmp_path / "in" / "model.bin.index.json")}
    assert list(rows) == list(weights()) and rows["c"].shape == (10, 20)
    assert rows["b"].storage == rows["half of b"].storage and len({row.storage for row in rows.values()}) == 4
    convert(tmp_path / "in", tmp_path / "one.pt")
    same(load(tmp_path / "one.pt", arrays="numpy"), weights())
    (tmp_path / "out").mkdir()
    convert(tmp_path / "one.pt", tmp_path / "out" / "model.safetensors", max_shard_size="1KB")
    same(load_sharded(tmp_path / "out", arrays="numpy"), weights())


KILLED = """
import os, signal, sys, threading, time, random
import numpy as np
from torch.serialize import save_sharded
i = int(sys.argv[2])
threading.Timer(random.Random(i).random() * 0.06, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
while True:
    save_sharded({k: np.full(3000, i) for k in "abcdef"}, sys.argv[1], 50_000)
    i += 1
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    path = tmp_path / "model.safetensors"
    save_sharded({k: np.full(3000, 0) for k in "abcdef"}, path, 50_000)
    for start in range(0, 6000, 1000):
        subprocess.run([sys.executable, "-c", KILLED, str(path), str(start)], check=False, timeout=60)
        out = load_sharded(tmp_path, arrays="numpy")
        assert len({int(v) for array in out.values() for v in array}) == 1 and len(out) == 6
    files = save_sharded({k: np.full(3000, 0) for k in "abcdef"}, path, 50_000)
    assert sorted(os.listdir(tmp_path)) == sorted([*files, path.name + ".index.json"])


def test_what_a_killed_writer_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left, used = (tmp_path / f".model-00001-of-00003.safetensors.{c * 12}.tmp" for c in "ab")
    other = tmp_path / ".modelling.safetensors.aaaaaaaaaaaa.tmp"
    for file in (left, used, other):
        file.write_bytes(b"half")
    with used.open() as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        save_sharded({k: np.full(3000, 0) for k in "abcdef"}, tmp_path / "model.safetensors", 50_000)
    assert used.exists() and other.exists() and not left.exists()


def test_views_that_repeat_their_elements_are_not_written_out_by_convert(tmp_path):
    save({"a": np.broadcast_to(np.zeros(1), (10**9,)), "word": "x"}, tmp_path / "m-1.bin", arrays="numpy")
    index = {"weight_map": {"a": "m-1.bin", "word": "m-1.bin"}}
    (tmp_path / "m.bin.index.json").write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="views that repeat their elements"):
        convert(tmp_path / "m.bin.index.json", tmp_path / "m.safetensors")
    save({"a": np.zeros(2), "word": "x"}, tmp_path / "m-1.bin", arrays="numpy")
    assert convert(tmp_path / "m.bin.index.json", tmp_path / "m.safetensors") == ["word"]
    assert np.array_equal(load_safetensors(tmp_path / "m.safetensors", arrays="numpy")["a"], np.zeros(2))
