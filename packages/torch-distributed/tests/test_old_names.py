import pytest
import torch
import torch.distributed as dist
from torch.distributed import c10d, collectives
from torch.distributed.tensor.placement_types import Shard


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_collectives_are_called_as_in_2017(alone):
    found = [torch.zeros(2)]
    collectives.gather_recv(found, torch.ones(2))
    assert found[0].tolist() == [1.0, 1.0]
    x = torch.zeros(2)
    collectives.scatter_send([torch.full((2,), 3.0)], x)
    assert x.tolist() == [3.0, 3.0]
    collectives.broadcast(x, src_rank=0)
    collectives.reduce(x, dst_rank=0)
    assert collectives.get_rank() == 0 and collectives.get_num_processes() == 1


def test_pieces_of_a_dim_are_where_shard_says():
    assert [Shard.local_shard_size_and_offset(2, 4, rank) for rank in range(4)] == [(1, 0), (1, 1), (0, 2), (0, 2)]
    assert Shard(0)._local_shard_size_and_offset(10, 4, 3) == (1, 9)


def test_names_that_libraries_look_for(alone):
    from torch.distributed._functional_collectives import permute_tensor
    from torch.distributed.distributed_c10d import _get_global_rank, _pg_map
    from torch.distributed.rpc import api

    with pytest.warns(FutureWarning, match="use get_global_rank"):
        assert _get_global_rank(dist.group.WORLD, 0) == 0

    assert [backend for backend, _ in _pg_map.values()] == ["gloo"]
    assert permute_tensor(torch.ones(2, 2), [0]).shape == (2, 2)
    with pytest.raises(ValueError, match="src_dst must hold each of 1 ranks once"):
        permute_tensor(torch.ones(1), [1])
    with pytest.raises(NotImplementedError, match="use a library for remote calls"):
        api._all_gather(1)
    assert torch._C._distributed_c10d.ProcessGroup is dist.ProcessGroup
    with pytest.raises(NotImplementedError, match="no rank commands the others"):
        dist.init_master_worker("gloo")


def test_groups_are_made_by_hand_as_in_2018():
    group = c10d.ProcessGroupGloo(c10d.HashStore(), 0, 1)
    assert (group.rank(), group.size()) == (0, 1)
    assert not isinstance(group, c10d.ProcessGroupNCCL)


def test_modules_of_the_older_package_of_tensors_are_imported():
    from torch.distributed._tensor.api import DTensor
    from torch.distributed._tensor.device_mesh import DeviceMesh, init_device_mesh
    from torch.distributed._tensor.placement_types import Placement, Replicate
    from torch.distributed.launcher import LaunchConfig, elastic_launch

    assert DTensor is dist.tensor.DTensor and issubclass(Replicate, Placement)
    assert (DeviceMesh, init_device_mesh) == (dist.device_mesh.DeviceMesh, dist.device_mesh.init_device_mesh)
    assert callable(elastic_launch) and LaunchConfig.__name__ == "LaunchConfig"


def test_a_module_tells_what_is_noted_of_it(alone):
    from torch.distributed._composable_state import _get_module_state, _State
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.distributed.fsdp._common_utils import _FSDPState, clean_tensor_name

    plain, sharded = torch.nn.Linear(2, 2), fully_shard(torch.nn.Linear(2, 2))
    wrapped = FullyShardedDataParallel(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    assert _get_module_state(plain) is None and isinstance(_get_module_state(sharded), _State)
    assert isinstance(wrapped, _FSDPState) and not isinstance(sharded, _FSDPState)
    names = [clean_tensor_name("_fsdp_wrapped_module." + name) for name, _ in wrapped.module.named_parameters()]
    assert names == ["0.weight", "0.bias"] and clean_tensor_name("a._checkpoint_wrapped_module.b") == "a.b"
