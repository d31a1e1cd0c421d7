"""Records of an archive one by one."""

import io
import pickle

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch._C")


def test_records_are_read_by_name(tmp_path):
    x = torch.arange(6, dtype=torch.float64)
    torch.save({"x": x}, tmp_path / "file")
    reader = torch.PyTorchFileReader(str(tmp_path / "file"))
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1") and reader.get_record_size("data/0") == 48
    offset = reader.get_record_offset("data/0")
    assert (tmp_path / "file").read_bytes()[offset : offset + 48] == x.numpy().tobytes() == reader.get_record("data/0")
    assert reader.get_storage_from_record("data/0", 6, torch.float64).equal(x)
    assert reader.get_storage_from_record("data/0", 0, torch.float64).numel() == 0
    with (tmp_path / "file").open("rb") as file:
        assert torch._C.PyTorchFileReader(file).get_record("data/0") == reader.get_record("data/0")
    with pytest.raises(RuntimeError, match="has no record 'data/9'"):
        reader.get_record("data/9")
    with pytest.raises(RuntimeError, match="holds 48 bytes, fewer than 7 of torch.float64"):
        reader.get_storage_from_record("data/0", 7, torch.float64)
    with pytest.raises(Exception, match="not a valid zip archive"):
        (tmp_path / "no").write_bytes(b"x" * 100)
        torch.PyTorchFileReader(str(tmp_path / "no"))


def test_one_tensor_of_a_checkpoint_is_read_by_hand(tmp_path):
    from torch import serialization

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            return serialization.StorageType(name) if name.endswith("Storage") else super().find_class(module, name)

        def persistent_load(self, saved):
            word, kind, key, location, numel = saved
            assert serialization._maybe_decode_ascii(word) == serialization._maybe_decode_ascii(b"storage")
            storage = archive.get_storage_from_record(f"data/{key}", numel, kind.dtype).untyped_storage()
            return torch.storage.TypedStorage(wrap_storage=restore(storage, location), dtype=kind.dtype)

    torch.save({"x": torch.arange(3.0), "y": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "file")
    restore = serialization._get_restore_location(None)
    with serialization._open_file_like(tmp_path / "file", "rb") as file:
        assert serialization._is_zipfile(file) and file.tell() == 0
        with serialization._open_zipfile_reader(file) as archive:
            assert not serialization._is_torchscript_zip(archive)
            found = Reader(io.BytesIO(archive.get_record("data.pkl"))).load()
    assert file.closed and found["x"].tolist() == [0, 1, 2] and found["y"].dtype is torch.bfloat16
    assert str(serialization.StorageType("IntStorage")) == "StorageType(dtype=torch.int32)"
    with pytest.raises(KeyError, match="no class of storages has the name 'Tensor'"):
        serialization.StorageType("Tensor")


def test_what_a_map_location_stands_for_is_a_function():
    from torch.serialization import _get_restore_location as restoring

    storage = torch.UntypedStorage(4)
    for where in ({"cuda:7": "cpu"}, "cpu", b"cpu", torch.device("cpu"), lambda storage, location: storage):
        assert restoring(where)(storage, "cuda:7") is storage
    with pytest.raises(RuntimeError, match="no CUDA device|there are .* CUDA devices"):
        restoring({})(storage, "cuda:7")
    with pytest.raises(RuntimeError, match="no CUDA device|there are .* CUDA devices"):
        restoring(lambda storage, location: None)(storage, "cuda:7")


def test_files_and_buffers_are_opened_alike(tmp_path):
    from torch.serialization import _is_zipfile, _open_file_like

    class Counted(io.BytesIO):
        flushed = 0

        def flush(self):
            self.flushed += 1

    buffer = Counted(b"abcd")
    with _open_file_like(buffer, "rb") as file:
        assert file is buffer and not _is_zipfile(file) and file.tell() == 0
    with _open_file_like(buffer, "wb") as file:
        pass
    assert buffer.flushed == 1 and not buffer.closed
    with pytest.raises(RuntimeError, match="expected 'r' or 'w' in the mode, got 'x'"):
        _open_file_like(buffer, "x")
    with pytest.raises(AttributeError, match="'int' object has no attribute 'seek'"):
        _open_file_like(3, "rb")
