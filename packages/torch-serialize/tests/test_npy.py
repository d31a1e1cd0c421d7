"""NumPy's own files."""

import io

import numpy as np
import pytest
from torch.serialize import FileFormatError, load, load_npy, load_npz, save_npy


def npy(array, **kwargs):
    out = io.BytesIO()
    np.save(out, array, **kwargs)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["bool", "int8", "uint16", "<i4", ">i4", "float16", ">f8", "complex64", ">c16"])
def test_npy_files_of_numbers_are_read_in_either_byte_order_and_memory_order(kind):
    array = np.arange(6).reshape(2, 3).astype(kind)
    for a in (array, np.asfortranarray(array), array[0, 0], array[:0]):
        for reader in (load_npy, load):
            out = reader(npy(a), arrays="numpy")
            assert np.array_equal(out, a) and out.shape == a.shape and out.dtype == np.dtype(kind).newbyteorder("=")


def test_npz_archives_compressed_or_not_are_dicts():
    for write in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        write(out, a=np.arange(3.0), b=np.eye(2))
        for reader in (load_npz, load):
            got = reader(out.getvalue(), arrays="numpy")
            assert np.array_equal(got["a"], np.arange(3.0)) and np.array_equal(got["b"], np.eye(2))


def test_what_is_written_numpy_reads(tmp_path):
    for kind in ("bool", "uint8", "int64", "float16", "float32", "complex64"):
        array = np.arange(6).reshape(2, 3).astype(kind)
        save_npy(array.T, tmp_path / "a.npy")
        assert np.array_equal(np.load(tmp_path / "a.npy"), array.T)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (npy(np.array([1, "x"], object), allow_pickle=True), "numbers and booleans are read"),
        (npy(np.zeros(2, [("a", "f4")])), "numbers and booleans are read"),
        (npy(np.arange(9.0))[:-1], "after its header"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': 'f8', ", "broken .npy header"),
        (b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16, "version 9"),
        (npy(np.zeros(2)).replace(b"(2,)", b"-2,2"), ".npy|shape"),
    ],
)
def test_other_contents_and_damage_are_explained(file, text):
    import re

    with pytest.raises(FileFormatError) as info:
        load_npy(file, arrays="numpy")
    assert re.search(text, str(info.value))
