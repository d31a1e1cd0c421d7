"""IDX files: read, refused, checked, fetched."""

import gzip
import hashlib
import struct

import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.datasets import MNIST, BrokenFile, FashionMNIST, read_idx


def idx(kind, shape, data):
    return struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + data


def pixels(count, of=28):
    return bytes(i * 31 % 256 for i in range(count * of * of))


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 20), ("t10k", 10)):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx(8, (count, 28, 28), pixels(count)))
        labels = idx(8, (count,), bytes(i % 10 for i in range(count)))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "code", "dtype"),
    [
        (8, "B", torch.uint8),
        (9, "b", torch.int8),
        (11, "h", torch.int16),
        (12, "i", torch.int32),
        (13, "f", torch.float32),
        (14, "d", torch.float64),
    ],
)
def test_every_type_of_an_idx_file_is_read(tmp_path, kind, code, dtype):
    numbers = [1, 2, 3, 100, 5, 6]
    (tmp_path / "a").write_bytes(idx(kind, (2, 3), struct.pack(f">6{code}", *numbers)))
    found = read_idx(tmp_path / "a")
    assert found.dtype == dtype
    assert found.tolist() == [[1, 2, 3], [100, 5, 6]]


def test_an_idx_file_without_elements_is_empty(tmp_path):
    (tmp_path / "a").write_bytes(idx(8, (0, 28, 28), b""))
    assert read_idx(tmp_path / "a").shape == (0, 28, 28)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it begins with nothing"),
        (b"PK\3\4xxxx", "it begins with 504b0304"),
        (b"\0\0\7\1\0\0\0\1x", "it begins with 00000701"),
        (b"\0\0\x08\3\0\0\0\1", "it ends within its header of 3 dims"),
        (idx(8, (2, 2), b"abc"), "3 bytes of data, its header promises 2 x 2"),
        (idx(8, (2, 2), b"abcde"), "5 bytes of data, its header promises 2 x 2"),
        (idx(12, (2,), b"abcd"), "4 bytes of data, its header promises 2"),
        (struct.pack(">HBB4I", 0, 8, 4, *[0xFFFFFFFF] * 4), "0 bytes of data, its header promises 4294967295 x"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_broken_idx_file_is_named(tmp_path, content, says, packed):
    path = tmp_path / ("a.gz" if packed else "a")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(BrokenFile) as error:
        read_idx(path)
    assert error.value.path == path
    if not packed:
        assert says in str(error.value)


def test_gzip_damage_and_bombs_are_named(tmp_path):
    path = tmp_path / "a.gz"
    whole = gzip.compress(idx(8, (5, 100), bytes(i % 7 for i in range(500))))
    path.write_bytes(whole[:-12])
    with pytest.raises(BrokenFile, match="damaged gzip data"):
        read_idx(path)
    path.write_bytes(whole[:30] + bytes([whole[30] ^ 255]) + whole[31:])
    with pytest.raises(BrokenFile, match="damaged gzip data|bytes of data"):
        read_idx(path)
    path.write_bytes(gzip.compress(idx(8, (1 << 31, 1 << 31), b"")))
    with pytest.raises(BrokenFile, match="cannot hold what its header promises|cannot hold"):
        read_idx(path)
    path.write_bytes(gzip.compress(idx(8, (4,), bytes(100_000))))
    with pytest.raises(BrokenFile, match="more than 4 bytes of data"):
        read_idx(path)


def test_samples_are_images_and_classes(folder):
    data = MNIST(folder)
    assert len(data) == 20
    image, label = data[3]
    assert image.shape == (1, 28, 28)
    assert image.dtype == torch.uint8
    assert image.flatten().tolist() == list(pixels(20)[3 * 784 : 4 * 784])
    assert label == 3
    assert type(label) is int
    assert MNIST(folder, train=False)[-1][1] == 9
    with pytest.raises(IndexError):
        data[20]
    assert FashionMNIST(folder).class_to_idx["Sneaker"] == 7


def test_transforms_are_applied_once_each(folder):
    data = MNIST(folder, transform=lambda x: x.to(torch.float32) / 255, target_transform=lambda y: y * 10)
    image, label = data[4]
    assert float(image.max()) <= 1
    assert label == 40
    batch, labels = next(iter(DataLoader(data, batch_size=5)))
    assert batch.shape == (5, 1, 28, 28)
    assert labels.tolist() == [0, 10, 20, 30, 40]


def test_files_are_found_where_other_libraries_put_them(folder, tmp_path):
    raw = tmp_path / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for file in folder.glob("*ubyte*"):
        file.rename(raw / file.name.replace("-idx3", ".idx3"))
    assert len(MNIST(tmp_path / "data")) == 20


def test_missing_files_are_named_with_the_way_out(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="train-images-idx3-ubyte.gz; put the files there, or give download=True"
    ):
        MNIST(tmp_path)


def test_files_that_do_not_go_together_are_named(folder):
    labels = folder / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx(8, (19,), bytes(19))))
    with pytest.raises(BrokenFile, match=r"train-labels.*labels \(19,\) do not go with 20 images"):
        MNIST(folder)
    labels.write_bytes(gzip.compress(idx(8, (20,), bytes(19) + b"\x0b")))
    with pytest.raises(BrokenFile, match="label 19 is 11, not one of 10 classes"):
        MNIST(folder)
    (folder / "train-images-idx3-ubyte").write_bytes(idx(8, (20, 784), pixels(20)))
    with pytest.raises(BrokenFile, match=r"train-images.*\(20, 784\) of torch.uint8 are no images"):
        MNIST(folder)


def test_check_tells_which_file_is_not_the_published_one(folder):
    found = MNIST.check(folder)
    assert not found
    assert len(found.problems) == 4
    assert (
        "(20,) of torch.uint8, and (60000,) of torch.uint8 is right"
        in found.problems[folder / "train-labels-idx1-ubyte.gz"]
    )
    (folder / "t10k-images-idx3-ubyte").unlink()
    assert MNIST.check(folder).problems[folder / "t10k-images-idx3-ubyte"] == "not there"


def test_check_compares_checksums(folder, monkeypatch):
    def digest(name):
        return "md5:" + hashlib.md5((folder / name).read_bytes()).hexdigest()

    published = {
        "train-labels-idx1-ubyte": ((20,), digest("train-labels-idx1-ubyte.gz")),
        "t10k-labels-idx1-ubyte": ((10,), "md5:" + "0" * 32),
        "train-images-idx3-ubyte": ((20, 28, 28), "md5:" + "0" * 32),  # of the gzipped file, which is not there
    }
    monkeypatch.setattr(MNIST, "published", published)
    found = MNIST.check(folder)
    assert found.problems == {
        folder / "t10k-labels-idx1-ubyte.gz": f"its md5 is not {'0' * 32}, that of the published file"
    }
    assert str(found).splitlines()[0] == f"ok     {folder / 'train-labels-idx1-ubyte.gz'}"


def test_download_brings_what_is_missing_and_tells_where_files_belong_without_a_network(folder, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    published = {}
    for name, (shape, _) in MNIST.published.items():
        content = gzip.compress(idx(8, (5, *shape[1:]), bytes(5 * 784 if len(shape) > 1 else 5)))
        (mirror / f"{name}.gz").write_bytes(content)
        published[name] = ((5, *shape[1:]), "md5:" + hashlib.md5(content).hexdigest())
    monkeypatch.setattr(MNIST, "published", published)
    monkeypatch.setattr(MNIST, "mirrors", (f"{tmp_path.as_uri()}/none/", f"{mirror.as_uri()}/"))
    there = tmp_path / "there"
    assert len(MNIST(there, download=True, progress=False)) == 5
    assert MNIST.check(there)
    (mirror / "t10k-labels-idx1-ubyte.gz").write_bytes(b"other")
    (there / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(OSError, match="invalid hash value") as error:
        MNIST.download(there, progress=False)
    assert f"put the file at {there / 't10k-labels-idx1-ubyte.gz'}" in str(error.value)
