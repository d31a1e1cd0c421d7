"""Records of an archive one by one."""

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
