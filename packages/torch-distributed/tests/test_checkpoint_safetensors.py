"""Checkpoints of safetensors files: whole tensors by one rank, pieces by all, and the pieces put together."""

import json
import shutil

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from torch.distributed.checkpoint.utils import find_state_dict_object, find_tensor_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor


def whole(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def test_whole_tensors_in_files_by_number_with_an_index(tmp_path):
    state = {"a": whole(3, 4), "m": {"b": torch.arange(5), "c": whole(2).bfloat16().t()}}
    writer = dcp.HuggingFaceStorageWriter(tmp_path, {"a": 1, "m.b": 2, "m.c": 1})
    dcp.save(state, storage_writer=writer, no_dist=True)
    first, second = (f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index == {"metadata": {"total_size": 92}, "weight_map": {"a": first, "m.b": second, "m.c": first}}
    assert set(torch.load(tmp_path / first)) == {"a", "m.c"}
    assert set(torch.load(tmp_path / "model.safetensors.index.json")) == {"a", "m.b", "m.c"}
    into = {"a": torch.zeros(3, 4), "m": {"b": torch.zeros(5).long(), "c": torch.zeros(2).bfloat16()}}
    dcp.load(into, storage_reader=dcp.HuggingFaceStorageReader(tmp_path), no_dist=True)
    assert torch.equal(into["a"], state["a"]) and torch.equal(into["m"]["b"], state["m"]["b"])
    assert torch.equal(into["m"]["c"], state["m"]["c"])


@pytest.mark.parametrize("together", [False, True])
def test_pieces_of_three_ranks_are_read_by_two(ranks, tmp_path, together):
    def write(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        state = {
            "a": distribute_tensor(whole(7, 3), mesh, [Shard(0)]),
            "b": distribute_tensor(whole(2, 5), mesh, [Shard(1)]),
            "c": distribute_tensor(whole(4), mesh, [Replicate()]),
        }
        writer = dcp.HuggingFaceStorageWriter(
            tmp_path, {"a": 1, "b": 2, "c": 2}, save_distributed=True, enable_consolidation=together
        )
        dcp.save(state, storage_writer=writer)

    ranks(3, write)
    if together:
        loaded = torch.load(tmp_path / "model.safetensors.index.json")
        assert torch.equal(loaded["a"], whole(7, 3)) and torch.equal(loaded["b"], whole(2, 5))
        assert len(list((tmp_path / "sharded").glob("shard-0000?-model-0000?-of-00002.safetensors"))) >= 5

    def read(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        for placement in (Shard(0), Shard(1)):
            a, b = (distribute_tensor(torch.zeros(s), mesh, [placement]) for s in ((7, 3), (2, 5)))
            dcp.load(
                {"a": a, "b": b, "c": (c := torch.zeros(4))}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path)
            )
            assert torch.equal(a.full_tensor(), whole(7, 3))
            assert torch.equal(b.full_tensor(), whole(2, 5)) and torch.equal(c, whole(4))

    ranks(2, read)


def test_what_the_files_cannot_hold_or_do_not_hold_is_named(ranks, tmp_path):
    def save(state, **options):
        dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, **options), no_dist=True)

    with pytest.raises(ValueError, match="step is no tensor"):
        save({"step": 3})
    with pytest.raises(ValueError, match="fqn_to_index_mapping has no number for a"):
        save({"a": whole(2)}, fqn_to_index_mapping={"b": 1})
    with pytest.raises(FileNotFoundError, match="holds no safetensors files"):
        dcp.load({}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path), no_dist=True)
    save({"a": whole(4, 2)})
    with pytest.raises(ValueError, match="differ in a, b"):
        consolidate_safetensors_files(tmp_path, tmp_path / "out", {"b": 1})
    file = tmp_path / "model-00001-of-00001.safetensors"
    good = file.read_bytes()
    for text in (b"[0, 9]", b"[0,-1]", b"[0, {]"):
        file.write_bytes(good.replace(b"[0, 0]", text))
        with pytest.raises((ValueError, RuntimeError), match="makes no sense|do not make up|not a valid safetensors"):
            dcp.load({"a": whole(4, 2)}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path), no_dist=True)
    file.write_bytes(good)
    shutil.copy(file, tmp_path / "model-00002-of-00002.safetensors")
    with pytest.raises(ValueError, match="the pieces of a .* do not make up"):
        dcp.load({"a": whole(4, 2)}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path), no_dist=True)

    def work(rank):
        with pytest.raises(RuntimeError, match="ranks 0, 1 have tensors to write, .* without save_distributed=True"):
            dcp.save({"a": whole(2), "b": whole(3)}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path / "x"))
        mesh = dist.init_device_mesh("cpu", (2,))
        with pytest.raises(RuntimeError, match="a lies in pieces on the ranks"):
            spread = distribute_tensor(whole(4), mesh, [Shard(0)])
            dcp.save({"a": spread}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path / "x"))

    ranks(2, work)


def test_an_item_is_found_by_its_index(ranks):
    w, at = whole(2), dcp.MetadataIndex("w", [0])
    assert find_state_dict_object({"w": w}, at) is w
    with pytest.raises(ValueError, match="Could not find FQN: 'x'"):
        find_state_dict_object({"w": w}, dcp.MetadataIndex("x"))
    with pytest.raises(ValueError, match=r"'n' is a int, which has no piece at \(1,\)"):
        find_state_dict_object({"n": 3}, dcp.MetadataIndex("n", [1]))
    with pytest.raises(ValueError, match="'w' is not a DTensor"):
        find_tensor_shard(w, dcp.MetadataIndex("w", [1]))


def test_the_state_of_an_optimizer_lies_as_the_model_does(ranks, tmp_path):
    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        model = {"w": distribute_tensor(whole(5, 3), mesh, [Shard(0)]), "b": whole(2)}
        momentum = {"w": {"m": distribute_tensor(whole(5, 3) + 1, mesh, [Shard(0)]), "step": torch.tensor(4.0)}}
        dcp.save({"model": model, "optim": {"state": momentum, "lr": 0.1}}, checkpoint_id=tmp_path)
        reader = dcp.FileSystemReader(tmp_path)
        held = dcp.load_sharded_optimizer_state_dict(model, "optim", reader)["optim"]
        assert held["lr"] == 0.1 and held["state"]["w"]["step"] == 4
        m = held["state"]["w"]["m"]
        assert m.placements == (Shard(0),) and torch.equal(m.full_tensor(), whole(5, 3) + 1)
        with pytest.raises(RuntimeError, match="nothing under 'adam'"):
            dcp.load_sharded_optimizer_state_dict(model, "adam", reader)

    ranks(2, work)
