"""Lists, dicts and arrays in shared memory, and the warning that suggests them."""

import gc
import os
import pickle
import random
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, SharedArray, SharedDict, SharedList, Subset

LISTS = [
    [],
    [""],
    ["a", "", "héllo", "日本", "\udc80"],
    [b"", b"x" * 1000, b"\0"],
    [1, -5, 2**63 - 1, -(2**63)],
    [2**63],
    [0.5, float("inf"), -0.0],
    [True, False],
    [1, 2.5, "a", None, (1, [2]), {"k": b"v"}],
    [[i] * (i % 5) for i in range(300)],
]


@pytest.mark.parametrize("values", LISTS, ids=lambda v: repr(v)[:20])
def test_a_shared_list_reads_as_the_list_it_was_made_of(values):
    shared = SharedList(values)
    assert list(shared) == values and len(shared) == len(values) and shared == values
    assert [type(item) for item in shared] == [type(item) for item in values]
    for piece in (slice(None), slice(1, None, 2), slice(None, None, -1), slice(-2, None), slice(5, 100)):
        assert shared[piece] == values[piece]
    for i in range(-len(values), len(values)):
        assert shared[i] == values[i]
    for i in (len(values), -len(values) - 1):
        with pytest.raises(IndexError, match=f"index {i} is out of range for {len(values)} items"):
            shared[i]
    assert pickle.loads(pickle.dumps(shared)) == values
    assert SharedList(iter(values)) == values


def test_a_shared_list_is_not_changed_and_not_equal_to_others():
    shared = SharedList([1, 2])
    with pytest.raises(TypeError):
        shared[0] = 3
    with pytest.raises(TypeError):
        hash(shared)
    assert shared != [1, 3] and shared != [1] and shared != "ab"
    assert repr(SharedList("abcd")) == "SharedList(['a', 'b', 'c', ...], length=4)"
    assert shared.index(2) == 1 and 2 in shared and list(reversed(shared)) == [2, 1]


def test_a_shared_dict_finds_what_a_dict_finds():
    rng = random.Random(0)
    keys = [
        rng.choice([rng.randrange(10**9), str(rng.random()), (i, "x"), rng.random(), str(i).encode()])
        for i in range(3000)
    ]
    plain = {key: [i] for i, key in enumerate(keys)} | {None: 0, -1: 1, -2: 2, "": 3, b"": 4, (): 5, 2**70: 6}
    shared = SharedDict(plain)
    assert dict(shared) == plain and len(shared) == len(plain) and list(shared) == list(plain)
    assert all(shared[key] == value for key, value in plain.items())
    assert shared == plain and pickle.loads(pickle.dumps(shared))[None] == 0
    for absent in ("absent", b"absent", 10**10, (1, 2, 3), 0.5):
        assert absent not in shared and shared.get(absent) is None
        with pytest.raises(KeyError):
            shared[absent]


def test_keys_of_a_shared_dict_are_equal_as_in_a_dict():
    shared = SharedDict({1: "one", 2.0: "two"}, three=3)
    assert shared[True] == shared[1.0] == "one" and shared[2] == shared[np.int64(2)] == "two" and shared["three"] == 3
    assert frozenset() not in shared and b"three" not in shared
    with pytest.raises(TypeError, match="keys are strings, bytes, numbers, None and tuples of these, not frozenset"):
        SharedDict({frozenset(): 1})
    with pytest.raises(TypeError, match="unhashable"):
        shared.__contains__([])
    with pytest.raises(TypeError):
        shared["three"] = 4


def test_a_shared_array_holds_numbers():
    for values in ([3, 1, 2], np.array([3, 1, 2], np.int16), torch.tensor([3.0, 1, 2])):
        shared = SharedArray(values)
        assert shared[0] == 3 and shared[-1] == 2 and len(shared) == 3 and list(shared) == [3, 1, 2]
        assert shared.tensor.is_shared() and shared[1:].tolist() == [1, 2]
    assert shared.tensor.data_ptr() != values.data_ptr()
    rows = SharedArray(np.arange(6.0).reshape(3, 2))
    assert rows[1].tolist() == [2, 3] and rows[1, 1] == 3 and np.asarray(rows).shape == (3, 2)
    assert np.asarray(rows, np.int32).dtype == np.int32 and "shape=(3, 2)" in repr(rows)
    with pytest.raises(ValueError, match="a single number has no length"):
        SharedArray(3)
    with pytest.raises(IndexError):
        rows[3]


class Holder(Dataset):
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return len(self.values[i])


def private_memory() -> int:
    """Bytes that only this process has written or copied."""
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Private_Dirty"))


@pytest.mark.parametrize(("make", "copies"), [(list, True), (SharedList, False)])
def test_a_forked_process_copies_a_list_by_reading_it_and_not_a_shared_list(ctx, run, make, copies):
    values = make([f"the name of file {i}" for i in range(300_000)])
    result = ctx.Queue()

    def read():
        gc.disable()
        before = private_memory()
        total = sum(map(len, values))
        result.put((private_memory() - before, total))

    run(read)
    grown, total = result.get(timeout=50)
    assert total == sum(map(len, values))
    assert (grown > 12 << 20) if copies else (grown < 3 << 20), grown


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_share_one_copy(method):
    names = SharedList([f"name {i}" for i in range(100)])
    sizes = SharedDict({f"name {i}": i for i in range(100)})
    for shared in (names, Subset(names, range(100))):
        loader = DataLoader(shared, batch_size=10, num_workers=2, multiprocessing_context=method)
        assert [name for batch in loader for name in batch] == list(names)
    queue = torch.multiprocessing.Queue()
    queue.put((names, sizes))
    again, table = queue.get(timeout=10)
    assert again._bytes.data_ptr() == names._bytes.data_ptr() and table["name 7"] == 7


def test_keys_are_found_by_an_interpreter_with_other_hashes():
    import subprocess
    import sys

    data = pickle.dumps(SharedDict({"a": 1, ("b", 2): 3}))
    code = "import sys, pickle; d = pickle.loads(sys.stdin.buffer.read()); assert d['a'] == 1 and d['b', 2] == 3"
    for seed in ("1", "2"):
        subprocess.run([sys.executable, "-c", code], input=data, check=True, env={**os.environ, "PYTHONHASHSEED": seed})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda big: Holder(big), r"Holder.values is a list of 20,000 Python objects, about \d+ MB.*SharedList"),
        (lambda big: Holder(dict.fromkeys(big)), r"Holder.values is a dict .*SharedDict"),
        (lambda big: Holder(tuple((x, x) for x in big)), "Holder.values is a tuple"),
        (lambda big: Subset(Holder(big), range(3)), "Subset.dataset.values is a list"),
        (lambda big: ConcatDataset([Holder([]), Holder(big)]), r"ConcatDataset.datasets\[1\].values is a list"),
        (lambda big: big, "list is a list of 20,000"),
    ],
)
def test_a_warning_suggests_them_for_a_big_list(make, text, monkeypatch):
    monkeypatch.setattr(torch.utils.data.shared, "_HEAVY", 2 << 20)
    dataset = make([f"the long name of the file {i:060}" for i in range(20_000)])
    with pytest.warns(UserWarning, match=f"DataLoader: {text}"):
        DataLoader(dataset, num_workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for how in (
            {},
            {"num_workers": 1, "multiprocessing_context": "spawn"},
            {"num_workers": 1, "worker_kind": "thread"},
        ):
            DataLoader(dataset, **how)


def test_no_warning_for_what_is_small_or_shared_or_the_same(monkeypatch):
    monkeypatch.setattr(torch.utils.data.shared, "_HEAVY", 2 << 20)
    quiet = [
        Holder(["a"] * 1_000_000),
        Holder([i % 10 for i in range(300_000)]),
        Holder(list(range(20_000))),
        Holder(SharedList([str(i) * 100 for i in range(20_000)])),
        Holder(np.zeros(1_000_000)),
        Holder(range(10**9)),
    ]
    quiet[0].itself = quiet[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dataset in quiet:
            DataLoader(dataset, num_workers=1)
