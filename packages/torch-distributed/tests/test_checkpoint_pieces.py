"""Checkpoints of tensors in pieces: saved by some ranks, loaded by others, and PyTorch's own."""

import os
import pathlib
import pickle
import re
import signal
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

WRITTEN_BY_PYTORCH = Path(__file__).parent / "data" / "pytorch_checkpoint"


def whole(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("sizes", [(3, 2), (2, 4), (1, 3)])
def test_pieces_of_some_ranks_become_those_of_others(ranks, tmp_path, sizes):
    def write(rank):
        mesh = dist.init_device_mesh("cpu", (sizes[0],))
        held = {
            "a": distribute_tensor(whole(7, 3), mesh, [Shard(0)]),
            "b": distribute_tensor(whole(2, 5), mesh, [Shard(1)]),
        }
        metadata = dcp.save({"x": held, "n": 4}, checkpoint_id=tmp_path)
        assert len(metadata.state_dict_metadata["x.a"].chunks) == len(whole(7, 3).chunk(sizes[0]))

    ranks(sizes[0], write)

    def read(rank):
        mesh = dist.init_device_mesh("cpu", (sizes[1],))
        for placement in (Shard(1), Replicate(), Shard(0)):
            a = DTensor.from_local(
                distribute_tensor(torch.zeros(7, 3), mesh, [placement]).to_local(), mesh, [placement], shape=(7, 3)
            )
            held = {"x": {"a": a, "b": torch.zeros(2, 5)}, "n": 0}
            dcp.load(held, checkpoint_id=tmp_path)
            assert torch.equal(a.full_tensor(), whole(7, 3))
            assert torch.equal(held["x"]["b"], whole(2, 5))
            assert held["n"] == 4

    ranks(sizes[1], read)


def test_of_a_saved_piece_only_the_part_is_read_that_is_wanted(ranks, tmp_path, monkeypatch):
    """A piece of 4 MB, of which each of two ranks wants rows or columns, and a rank of its own a few."""
    from torch.serialize._storage.source import DescriptorSource

    dcp.save({"n": [1], "a": whole(1000, 1000), "b": whole(3)}, checkpoint_id=tmp_path, no_dist=True)
    read = []
    real = DescriptorSource.read_into
    monkeypatch.setattr(DescriptorSource, "read_into", lambda s, at, view: read.append(len(view)) or real(s, at, view))

    def work(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        for placement in (Shard(0), Shard(1)):
            a = distribute_tensor(torch.zeros(1000, 1000), mesh, [placement])
            dcp.load({"a": a}, checkpoint_id=tmp_path)
            assert sum(read) < 1000
            assert torch.equal(a.full_tensor(), whole(1000, 1000))
        dcp.load({"a": (a := torch.zeros(1000, 1000))}, checkpoint_id=tmp_path)
        assert sum(read) >= a.nbytes
        assert torch.equal(a, whole(1000, 1000))

    ranks(2, work)


def test_sharded_training_goes_on_with_another_number_of_ranks(ranks, tmp_path):
    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()

    def steps(model, optimizer, first, last):
        for step in range(first, last):
            optimizer.zero_grad()
            model(torch.full((2, 3), 0.1 * step + 0.2, dtype=torch.float64)).square().sum().backward()
            optimizer.step()

    def write(rank):
        model = fully_shard(net())
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        steps(model, optimizer, 0, 3)
        names, slots = get_state_dict(model, optimizer)
        dcp.save({"model": names, "optimizer": slots}, checkpoint_id=tmp_path)

    ranks(3, write)
    expected = net()
    other = torch.optim.Adam(expected.parameters(), 0.01)
    steps(expected, other, 0, 5)

    def read(rank):
        model = FSDP(net()) if rank < 2 else None
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        names, slots = get_state_dict(model, optimizer)
        held = {"model": names, "optimizer": slots}
        dcp.load(held, checkpoint_id=tmp_path)
        set_state_dict(model, optimizer, model_state_dict=held["model"], optim_state_dict=held["optimizer"])
        steps(model, optimizer, 3, 5)
        for p, q in zip(model.parameters(), expected.parameters(), strict=True):
            assert torch.allclose(p.full_tensor(), q, rtol=1e-10)

    ranks(2, read)


def test_whole_states_of_sharded_models_come_from_and_go_to_rank_0(ranks):
    def work(rank):
        torch.manual_seed(rank)
        model = fully_shard(nn.Linear(3, 2))
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        model(torch.ones(1, 3)).sum().backward()
        optimizer.step()
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        names, slots = get_state_dict(model, optimizer, options=options)
        if rank:
            assert names == {}
            assert slots == {}
        else:
            assert names["weight"].shape == (2, 3)
            assert not isinstance(slots["state"]["weight"]["exp_avg"], DTensor)
        back = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        before = model.weight.full_tensor()
        with torch.no_grad():
            model.weight.fill_(0)
        set_model_state_dict(model, names, options=back)
        set_optimizer_state_dict(model, optimizer, slots, options=back)
        assert torch.equal(model.weight.full_tensor(), before)
        assert isinstance(optimizer.state[model.weight]["exp_avg"], DTensor)
        flat = get_optimizer_state_dict(model, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
        assert {"state.weight.exp_avg", "param_groups.bias.lr"} < set(flat)
        set_optimizer_state_dict(model, optimizer, flat, options=StateDictOptions(flatten_optimizer_state_dict=True))
        assert optimizer.param_groups[0]["lr"] == 0.1

    ranks(2, work)


def test_a_part_of_a_model_by_its_names():
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 2)))
    assert list(get_model_state_dict(model, submodules={model[1]})) == ["1.0.weight", "1.0.bias"]
    options = StateDictOptions(keep_submodule_prefixes=False)
    assert list(get_model_state_dict(model, submodules={model[1]}, options=options)) == ["0.weight", "0.bias"]


def test_readers_writers_and_planners_can_be_given(tmp_path):
    writer = dcp.FileSystemWriter(tmp_path)
    dcp.save({"a": torch.ones(2), "b": torch.zeros(3)}, storage_writer=writer, planner=dcp.DefaultSavePlanner())
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    assert metadata.state_dict_metadata["b"].size == torch.Size([3])
    assert metadata.planner_data == {"a": ("a",), "b": ("b",)}

    class Halved(dcp.DefaultSavePlanner):
        def transform_object(self, item, value):
            return super().transform_object(item, value / 2 if isinstance(value, torch.Tensor) else value)

    dcp.save({"a": torch.ones(2)}, checkpoint_id=tmp_path, planner=Halved())
    held = {"a": torch.zeros(2), "new": torch.full((2,), 7.0)}
    with pytest.raises(KeyError, match="the checkpoint has no new"):
        dcp.load(held, checkpoint_id=tmp_path)
    dcp.load(
        held, storage_reader=dcp.FileSystemReader(tmp_path), planner=dcp.DefaultLoadPlanner(allow_partial_load=True)
    )
    assert held["a"].tolist() == [0.5, 0.5]
    assert held["new"].tolist() == [7.0, 7.0]
    with pytest.raises(RuntimeError, match="already exists and overwrite=False"):
        dcp.save({"a": torch.ones(2)}, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False))


def test_one_file_of_a_checkpoint_and_back(tmp_path):
    state = {"a": {"w": whole(3, 2)}, "list": [1, {"x": torch.arange(3)}], "n": "name"}
    torch.save(state, tmp_path / "one.pt")
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "many")
    dcp_to_torch_save(tmp_path / "many", tmp_path / "again.pt")
    again = torch.load(tmp_path / "again.pt")
    assert torch.equal(again["a"]["w"], state["a"]["w"])
    assert again["list"][0] == 1
    assert torch.equal(again["list"][1]["x"], torch.arange(3))
    assert again["n"] == "name"


def test_a_checkpoint_that_pytorch_wrote_is_read():
    """Written by PyTorch 2.13 on two ranks: ``w`` = arange(15).view(5, 3) as Shard(0), and what stands below."""
    held = {
        "model": {"w": torch.zeros(5, 3), "b": torch.zeros(2, dtype=torch.bfloat16)},
        "step": 0,
        "list": [0, torch.zeros(2)],
    }
    dcp.load(held, checkpoint_id=WRITTEN_BY_PYTORCH)
    assert torch.equal(held["model"]["w"], torch.arange(15.0).view(5, 3))
    assert held["model"]["b"].tolist() == [1.0, 2.0]
    assert held["step"] == 5
    assert held["list"][0] == 1
    assert held["list"][1].tolist() == [3.0, 4.0]


def test_metadata_with_other_classes_are_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("echo never",)

    for value in (Evil(), 5, torch.nn.Linear):
        (tmp_path / ".metadata").write_bytes(
            pickle.dumps(value) if not isinstance(value, Evil) else b"cposix\nsystem\n(S'true'\ntR."
        )
        with pytest.raises(pickle.UnpicklingError, match=rf"metadata {tmp_path}/.metadata (has no business|holds)"):
            dcp.load({"x": 1}, checkpoint_id=tmp_path)


def a_piece(**changes):
    """The pickled metadata of a checkpoint of one tensor, ``x`` of 4 elements, with some fields changed."""
    chunk = ChunkStorageMetadata(changes.get("offsets", torch.Size([0])), changes.get("sizes", torch.Size([4])))
    entry = TensorStorageMetadata(TensorProperties(), changes.get("size", torch.Size([4])), [chunk])
    index = MetadataIndex("x", [0])
    vars(index).update(changes.get("index", {}))
    place = _StorageInfo(changes.get("path", "a.distcp"), changes.get("offset", 0), changes.get("length", 10))
    found = Metadata(changes.get("entries", {"x": entry}), storage_data={index: place})
    vars(found).update(changes.get("more", {}))
    return pickle.dumps(found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offsets": (0,)}, "offsets of a ChunkStorageMetadata is a tuple that it cannot be"),
        ({"offsets": torch.Size([1])}, r"a piece of 'x' of shape \(4,\) at \(1,\) lies outside of its shape \(4,\)"),
        ({"sizes": torch.Size([2, 2])}, "lies outside of its shape"),
        ({"size": torch.Size([-1])}, "size of a TensorStorageMetadata is a Size that it cannot be"),
        ({"index": {"fqn": ("x",)}}, "fqn of a MetadataIndex is a tuple"),
        ({"index": {"__hash__": 0}}, "hides what the class has"),
        ({"path": None}, "relative_path of a _StorageInfo is a NoneType"),
        ({"offset": -1}, "offset of a _StorageInfo is a int"),
        ({"length": 1 << 80}, "length of a _StorageInfo is a int"),
        ({"entries": {"x": 1}}, "the entry 'x' is a int"),
        ({"entries": [1]}, "state_dict_metadata of a Metadata is a list"),
        ({"more": {"storage_data": {"x": 1}}}, "the place of a str is a int"),
    ],
)
def test_metadata_that_make_no_sense_are_refused(changes, said, tmp_path):
    (tmp_path / ".metadata").write_bytes(a_piece(**changes))
    with pytest.raises(pickle.UnpicklingError, match=f"metadata {tmp_path}/.metadata.*{said}"):
        dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)


def test_metadata_cannot_change_classes(tmp_path):
    """BUILD with a pair sets attributes of whatever lies on the stack, in Python's own unpickler of a class too."""
    for name in ("torch.distributed.checkpoint.metadata MetadataIndex", "pathlib PurePosixPath"):
        module, kind = name.split()
        program = f"c{module}\n{kind}\n(N}}(S'mark'\nS'here'\nutb.".encode()
        (tmp_path / ".metadata").write_bytes(program)
        with pytest.raises(pickle.UnpicklingError):
            dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)
    assert not hasattr(MetadataIndex, "mark") and not hasattr(pathlib.PurePosixPath, "mark")


def test_a_key_whose_hash_would_take_forever_is_refused(tmp_path):
    nested = b"(" + b"N" * 2 + b"t" + b"2\x86" * 200  # a tuple of the same tuple twice, of the same tuple twice, ...
    index = b"ctorch.distributed.checkpoint.metadata\nMetadataIndex\n)\x81}(S'fqn'\n" + nested + b"ub"
    for key in (index, nested):
        (tmp_path / ".metadata").write_bytes(b"\x80\x02}" + key + b"K\x01s.")
        with pytest.raises(pickle.UnpicklingError, match="fqn of a MetadataIndex|a key of more than"):
            dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)


def test_pieces_that_do_not_make_the_whole_are_named(tmp_path):
    dcp.save({"x": whole(4), "y": whole(5)}, checkpoint_id=tmp_path)
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    (chunk,) = metadata.state_dict_metadata["x"].chunks
    places = metadata.storage_data

    def changed(error, said):
        (tmp_path / ".metadata").write_bytes(pickle.dumps(metadata))
        with pytest.raises(error, match=said):
            dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)

    first, second = (MetadataIndex(name, [0]) for name in "xy")
    before = places[first].length
    places[first].length = 1 << 60
    changed(ValueError, f"ends within x: .* of {1 << 60} bytes are there")
    places[first].length = before
    chunk.sizes = torch.Size([3])
    changed(ValueError, "pieces of x have 3 of the 4 elements wanted")
    metadata.state_dict_metadata["x"].chunks.append(ChunkStorageMetadata(torch.Size([3]), torch.Size([1])))
    changed(ValueError, r"does not say where MetadataIndex\(fqn='x', offset=torch.Size\(\[3\]\)")
    metadata.state_dict_metadata["x"].chunks[:] = [ChunkStorageMetadata(torch.Size([0]), torch.Size([4]))]
    dcp.save({"x": whole(2), "y": whole(5)}, checkpoint_id=tmp_path / "less")
    less = dcp.FileSystemReader(tmp_path / "less").read_metadata().storage_data[first]
    (tmp_path / "less.distcp").write_bytes((tmp_path / "less" / less.relative_path).read_bytes())
    places[first] = _StorageInfo("less.distcp", less.offset, less.length)
    changed(ValueError, r"the piece of x at \(0,\) is a tensor of shape \(2,\), and elements up to \(4,\) are wanted")
    assert second in places


def test_a_value_that_is_broken_is_named(tmp_path):
    dcp.save({"step": 5}, checkpoint_id=tmp_path)
    (file,) = tmp_path.glob("*.distcp")
    file.write_bytes(b"?" * len(file.read_bytes()))
    with pytest.raises((RuntimeError, pickle.UnpicklingError), match=f"{file}: step"):
        dcp.load({"step": 0}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("place", ["../elsewhere", "a\0b"])
def test_files_that_are_cut_or_lie_elsewhere_are_named(place, tmp_path):
    dcp.save({"x": whole(4)}, checkpoint_id=tmp_path)
    (file,) = tmp_path.glob("*.distcp")
    data = file.read_bytes()
    file.write_bytes(data[:-10])
    with pytest.raises(ValueError, match="ends within x: .* bytes are there"):
        dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    for info in metadata.storage_data.values():
        info.relative_path = place
    (tmp_path / ".metadata").write_bytes(pickle.dumps(metadata))
    with pytest.raises(ValueError, match=re.escape(f"names {place!r}, which lies elsewhere")):
        dcp.load({"x": torch.zeros(4)}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("name", [".metadata", ".", "notes.txt", "a\0b"])
def test_a_checkpoint_that_is_written_anew_removes_pieces_and_nothing_else(name, tmp_path):
    dcp.save({"x": whole(4)}, checkpoint_id=tmp_path)
    (tmp_path / "notes.txt").write_text("kept")
    metadata = dcp.FileSystemReader(tmp_path).read_metadata()
    for info in metadata.storage_data.values():
        info.relative_path = name
    (tmp_path / ".metadata").write_bytes(pickle.dumps(metadata))
    dcp.save({"x": whole(5)}, checkpoint_id=tmp_path)
    state = {"x": torch.zeros(5)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert torch.equal(state["x"], whole(5)) and (tmp_path / "notes.txt").read_text() == "kept"


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda m: setattr(m.state_dict_metadata["x"], "size", torch.Size([1 << 40])), ValueError, "x of shape .* its pieces in the files"),
        (lambda m: m.planner_data.update(x=("x", 1 << 40)), pickle.UnpicklingError, "1 values in lists of 1099511627777 elements"),
        (lambda m: m.planner_data.update(x=("x", -1)), pickle.UnpicklingError, r"the path to 'x' is \('x', -1\)"),
        (lambda m: m.planner_data.update(x=5), pickle.UnpicklingError, "the path to 'x' is 5"),
    ],
)  # fmt: skip
def test_what_an_index_promises_is_compared_with_the_files_before_there_is_memory_for_it(change, error, text, tmp_path):
    dcp.save({"x": whole(4)}, checkpoint_id=tmp_path / "pieces")
    metadata = dcp.FileSystemReader(tmp_path / "pieces").read_metadata()
    metadata.planner_data = dict(metadata.planner_data or {})
    change(metadata)
    (tmp_path / "pieces" / ".metadata").write_bytes(pickle.dumps(metadata))
    with pytest.raises(error, match=text):
        dcp_to_torch_save(tmp_path / "pieces", tmp_path / "whole.pt")


def test_a_rank_killed_at_any_step_leaves_the_checkpoint_before(ranks, tmp_path):
    dcp.save({"x": torch.full((8,), 1.0)}, checkpoint_id=tmp_path)
    for method in ("set_up_storage_writer", "prepare_local_plan", "write_data"):

        def write(rank, method=method):
            writer = dcp.FileSystemWriter(tmp_path)
            if rank == 1:
                setattr(writer, method, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            mesh = dist.init_device_mesh("cpu", (2,))
            dcp.save({"x": distribute_tensor(torch.full((8,), 2.0), mesh, [Shard(0)])}, storage_writer=writer)

        first, _ = ranks(2, write, errors=True)
        assert "rank 1 died" in str(first)
        held = {"x": torch.zeros(8)}
        dcp.load(held, checkpoint_id=tmp_path)
        assert held["x"].tolist() == [1.0] * 8


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.Adam(p, 0.1),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        lambda p: torch.optim.AdamW(p, torch.tensor(0.1), weight_decay=0.5),
        lambda p: torch.optim.RMSprop(p, 0.1),
    ],
)
def test_a_new_optimizer_has_places_for_what_a_checkpoint_holds_and_is_none_the_wiser(make, tmp_path):
    def trained(steps):
        torch.manual_seed(1)
        model = torch.nn.Linear(2, 3)
        optimizer = make(model.parameters())
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.ones(4, 2)).square().sum().backward()
            optimizer.step()
        return model, optimizer

    model, optimizer = trained(2)
    names, slots = get_state_dict(model, optimizer)
    dcp.save({"net": names, "optimizer": slots}, checkpoint_id=tmp_path, no_dist=True)

    other, fresh = trained(0)
    before = [p.detach().clone() for p in other.parameters()]
    fresh.zero_grad()
    names, slots = get_state_dict(other, fresh)
    assert set(slots["state"]) == {"weight", "bias"}
    assert not fresh.state
    assert fresh.param_groups[0]["lr"] == 0.1
    assert slots["param_groups"][0]["lr"] == 0.1
    assert all(p.grad is None and torch.equal(p, q) for p, q in zip(other.parameters(), before, strict=True))
    dcp.load({"net": names, "optimizer": slots}, checkpoint_id=tmp_path, no_dist=True)
    set_state_dict(other, fresh, model_state_dict=names, optim_state_dict=slots)
    whole = trained(4)[0]
    for _ in range(2):
        fresh.zero_grad()
        other(torch.ones(4, 2)).square().sum().backward()
        fresh.step()
    assert all(torch.equal(p, q) for p, q in zip(other.parameters(), whole.parameters(), strict=True))
