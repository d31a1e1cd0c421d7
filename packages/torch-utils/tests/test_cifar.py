"""CIFAR-10 in both versions of its files, and pickles that must not run."""

import io
import os
import pickle
import struct
import tarfile

import pytest
import torch
from torch.utils.data.datasets import CIFAR10, BrokenFile
from torch.utils.data.datasets.pickled import read_pickle

PER_FILE = 4


def record(i):
    return bytes([i % 10]) + bytes((i * 7 + k) % 256 for k in range(3072))


def python2(images):
    """A pickle as Python 2's cPickle wrote it, protocol 2: strings of bytes, an array, a list of ints."""
    raw = b"".join(image[1:] for image in images)
    out = io.BytesIO()
    out.write(b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04")
    out.write(
        b"K\x00\x85q\x05U\x01b\x87q\x06Rq\x07(K\x01" + b"K" + bytes([len(images)]) + b"M" + struct.pack("<H", 3072)
    )
    out.write(
        b"\x86q\x08cnumpy\ndtype\nq\tU\x02u1K\x00K\x01\x87q\nRq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
    )
    out.write(b"K\x00tb\x89T" + struct.pack("<i", len(raw)) + raw + b"q\x0ctb")
    out.write(b"U\x06labelsq\r](" + b"".join(b"K" + image[:1] for image in images) + b"e")
    out.write(b"U\x0bbatch_labelU\x15training batch 1 of 5u.")
    return out.getvalue()


def files():
    names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    return {name: [record(n * PER_FILE + i) for i in range(PER_FILE)] for n, name in enumerate(names)}


@pytest.fixture
def binary(tmp_path):
    folder = tmp_path / "binary" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for name, images in files().items():
        (folder / f"{name}.bin").write_bytes(b"".join(images))
    return folder


@pytest.fixture
def python(tmp_path):
    folder = tmp_path / "python" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, images in files().items():
        (folder / name).write_bytes(python2(images))
    return folder


def test_both_versions_give_the_same_samples(binary, python):
    a, b = CIFAR10(binary.parent), CIFAR10(python.parent)
    assert len(a) == len(b) == 20
    assert torch.equal(a.data, b.data)
    assert torch.equal(a.targets, b.targets)
    image, label = b[7]
    assert image.shape == (3, 32, 32)
    assert image.flatten().tolist() == list(record(7)[1:])
    assert label == 7
    assert a.classes[label] == "horse"
    assert (
        CIFAR10(binary, train=False).targets.tolist() == CIFAR10(python, train=False).targets.tolist() == [0, 1, 2, 3]
    )


def test_the_pickle_of_the_fixture_is_what_numpy_reads(python):
    np = pytest.importorskip("numpy")
    content = pickle.loads((python / "data_batch_1").read_bytes(), encoding="bytes")
    assert content[b"data"].shape == (PER_FILE, 3072)
    assert content[b"data"].dtype == np.uint8
    assert content[b"labels"] == [0, 1, 2, 3]


@pytest.mark.parametrize("protocol", range(5))
def test_pickles_that_numpy_of_today_writes_are_read(python, protocol):
    np = pytest.importorskip("numpy")
    want = CIFAR10(python).data
    for file in python.iterdir():
        old = pickle.loads(file.read_bytes(), encoding="bytes")
        new = {
            "data": np.ascontiguousarray(old[b"data"]),
            "labels": old[b"labels"],
            "more": [1.5, None, ("a", b"b"), {}],
        }
        file.write_bytes(pickle.dumps(new, protocol=protocol))
    assert torch.equal(CIFAR10(python).data, want)


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_nothing_in_a_pickle_is_executed(python, tmp_path):
    proof = tmp_path / "executed"
    for protocol in range(5):
        (python / "data_batch_3").write_bytes(pickle.dumps({"data": Attack(proof)}, protocol=protocol))
        with pytest.raises(BrokenFile, match=r"data_batch_3: its pickle asks for .*system.*nothing of it was executed"):
            CIFAR10(python)
    assert not proof.exists()
    for name in (
        b"cbuiltins\neval\n(U\x011tR.",
        b"cnumpy\nndarray\n)R.",
        b"(I1\ni__builtin__\nlist\n.",
        b"\x80\x02\x82\x01.",
    ):
        (python / "a").write_bytes(name)
        with pytest.raises(BrokenFile, match="asks for"):
            read_pickle(python / "a")


def test_every_way_of_cutting_a_pickle_gives_an_error_that_names_the_file(tmp_path):
    whole = python2([record(1)])
    path = tmp_path / "p"
    for end in [*range(250), *range(250, len(whole), 397)]:
        path.write_bytes(whole[:end])
        with pytest.raises(BrokenFile, match=f"{path}: "):
            read_pickle(path)


def test_every_changed_byte_gives_an_error_or_data(tmp_path):
    path = tmp_path / "test_batch"
    whole = bytearray(python2([record(1)]))
    head, tail = whole.index(record(1)[1:20]), 60
    for at in [*range(head), *range(len(whole) - tail, len(whole))]:
        for bit in (1, 128):
            whole[at] ^= bit
            path.write_bytes(whole)
            try:
                CIFAR10(tmp_path, train=False)
            except BrokenFile as error:
                assert error.path == path
            whole[at] ^= bit


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([], "its pickle holds a list"),
        ({"labels": [1]}, "no array of bytes under 'data'"),
        ({"data": b"abc", "labels": [1]}, "no array of bytes under 'data'"),
    ],
)
def test_a_pickle_of_other_content_is_named(python, content, says):
    (python / "data_batch_2").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(BrokenFile, match=f"data_batch_2.*{says}"):
        CIFAR10(python)


def test_arrays_that_do_not_fit_their_labels_are_named(python):
    np = pytest.importorskip("numpy")
    for data, labels, says in (
        (np.zeros((3, 3072), np.uint8), [1, 2], "do not go with 2 labels"),
        (np.zeros((2, 3072), np.float32), [1, 2], "no array of bytes"),
        (np.zeros((2, 3072), np.uint8), [1, 12], "image 1 is of class 12"),
        (np.zeros((2, 3072), np.uint8), [1, "a"], "no list of classes"),
    ):
        (python / "test_batch").write_bytes(pickle.dumps({"data": data, "labels": labels}, protocol=2))
        with pytest.raises(BrokenFile, match=f"test_batch.*{says}"):
            CIFAR10(python, train=False)


def test_broken_binary_files_are_named(binary):
    file = binary / "data_batch_4.bin"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(BrokenFile, match="data_batch_4.bin: 12291 bytes, not a multiple of 3073"):
        CIFAR10(binary)
    file.write_bytes(whole[:3073] + b"\x0b" + whole[3074:])
    with pytest.raises(BrokenFile, match="image 1 is of class 11, and classes are 0 to 9"):
        CIFAR10(binary)
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"data_batch_4\.bin"):
        CIFAR10(binary)


def test_check_lists_all_files(binary, python):
    (binary / "data_batch_4.bin").unlink()
    (binary / "data_batch_5.bin").write_bytes(b"x")
    found = CIFAR10.check(binary)
    assert found.problems[binary / "data_batch_4.bin"] == "not there"
    assert found.problems[binary / "data_batch_5.bin"].startswith("1 bytes, not a multiple")
    assert found.problems[binary / "test_batch.bin"] == "4 images, and 10000 are right"
    assert len(CIFAR10.check(python).problems) == 6


def test_missing_files_are_named_with_the_way_out(tmp_path):
    with pytest.raises(FileNotFoundError, match="unpack cifar-10-python.tar.gz there, or give download=True"):
        CIFAR10(tmp_path)


def test_an_archive_is_unpacked_without_following_its_paths(python, tmp_path, monkeypatch):
    import hashlib

    root = tmp_path / "root"
    root.mkdir()
    archive = root / CIFAR10.archive[0]
    (python / "batches.meta").write_bytes(pickle.dumps({}))
    with tarfile.open(archive, "w:gz") as tar:
        for file in sorted(python.iterdir()):
            tar.add(file, f"../../{file.name}" if file.name == "test_batch" else f"cifar-10-batches-py/{file.name}")
        evil = tarfile.TarInfo("../evil")
        tar.addfile(evil, io.BytesIO(b""))
        link = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    digest = "md5:" + hashlib.md5(archive.read_bytes()).hexdigest()
    monkeypatch.setattr(CIFAR10, "archive", (CIFAR10.archive[0], digest))
    monkeypatch.setattr(CIFAR10, "mirrors", ("file:///nowhere/",))
    assert torch.equal(CIFAR10(root, download=True, progress=False).data, CIFAR10(python).data)
    assert sorted(p.name for p in root.iterdir()) == ["cifar-10-batches-py", archive.name]
    assert not (tmp_path / "evil").exists()
    assert len(list((root / "cifar-10-batches-py").iterdir())) == 7
