"""How ranks meet: urls, the environment, and everything that keeps them from it."""

import json
import os
import re
import socket
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

SHORT = timedelta(seconds=1.5)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def total(rank):
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x)
    return x.item()


def by_url(url, **options):
    def make(rank, size):
        dist.init_process_group("gloo", init_method=url, rank=rank, world_size=size, **options)

    return make


def test_meeting_at_an_address(ranks):
    assert ranks(3, total, make=by_url(f"tcp://127.0.0.1:{free_port()}")) == [6.0] * 3


def test_meeting_at_a_file(ranks, tmp_path):
    assert ranks(2, total, make=by_url(f"file://{tmp_path}/meeting")) == [3.0] * 2
    assert not (tmp_path / "meeting").exists()


def test_meeting_by_the_environment(ranks):
    port = str(free_port())

    def make(rank, size):
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="localhost", MASTER_PORT=port)
        dist.init_process_group()
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (rank, size, "gloo")

    def twice(rank):
        first = total(rank)
        dist.destroy_process_group()
        dist.init_process_group("gloo")  # at the same address, again
        return first, total(rank)

    assert ranks(2, twice, make=make) == [(3.0, 3.0)] * 2


def test_a_chosen_network_interface(ranks):
    def make(rank, size):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        by_url(url)(rank, size)

    def families(rank):
        x = torch.full((700_000,), rank + 1.0)
        dist.all_reduce(x)
        peers = [peer for peer in dist.group.WORLD._mesh.peers if peer is not None]
        return x.unique().tolist(), [peer.socket.family for peer in peers]

    url = f"tcp://127.0.0.1:{free_port()}"
    assert ranks(2, families, make=make) == [([3.0], [socket.AF_INET])] * 2
    assert ranks(2, families) == [([3.0], [socket.AF_UNIX])] * 2

    def wrong(rank, size):
        os.environ["GLOO_SOCKET_IFNAME"] = "nonsense0"
        by_url(url)(rank, size)

    (result,) = ranks(1, total, make=wrong, errors=True)
    assert "GLOO_SOCKET_IFNAME: no IPv4 address of interface 'nonsense0'" in str(result)


@pytest.mark.parametrize("missing", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
def test_a_missing_variable_is_named(monkeypatch, missing):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(missing)
    text = f"using env:// rendezvous: environment variable {missing} expected, but not set"
    with pytest.raises(ValueError, match=text):
        dist.init_process_group("gloo")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"init_method": "tcp://127.0.0.1:1"}, ValueError, "tcp:// rendezvous: rank parameter missing"),
        ({"init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1}, ValueError, "port number missing"),
        ({"init_method": "file:///x", "rank": 0}, ValueError, "world size parameter missing"),
        ({"init_method": "carrier://pigeon"}, RuntimeError, r"No rendezvous handler for carrier:// \(there are env, file, tcp"),
        ({"init_method": "env://", "store": 1}, ValueError, "Cannot specify both init_method and store"),
        ({"store": 1, "rank": 0, "world_size": 1}, TypeError, "store must be a Store, got int"),
        ({"store": dist.HashStore()}, ValueError, "world_size must be positive if using store"),
        ({"store": dist.HashStore(), "world_size": 2}, ValueError, "rank must be non-negative if using store"),
        ({"store": dist.HashStore(), "world_size": 2, "rank": 2}, ValueError, "rank must be from 0 to world_size - 1 = 1, got 2"),
        ({"init_method": "env://", "timeout": 5}, TypeError, "to be of type datetime.timedelta"),
        ({"backend": "nccl", "store": dist.HashStore(), "world_size": 1, "rank": 0}, RuntimeError, "doesn't have NCCL built in"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        dist.init_process_group(**options)
    assert not dist.is_initialized()


def test_a_second_default_group_is_refused():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="initialize the default process group twice"):
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    finally:
        dist.destroy_process_group()


def test_a_port_in_use_is_reported(ranks):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        (result,) = ranks(1, total, make=by_url(url, timeout=SHORT), errors=True)
    assert re.search("Address already in use .EADDRINUSE.; another job or program uses it", str(result))


def test_a_rank_that_does_not_come_is_named_by_those_who_wait(ranks):
    def make(rank, size):
        if rank != 1:
            dist.init_process_group("gloo", store=store, rank=rank, world_size=3, timeout=SHORT)

    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    first, _, third = ranks(3, lambda rank: None, make=make, errors=True)
    store.close()
    assert "rank 0 waited 1.5 s for rank 1, which has not come" in str(first)
    assert "rank 2 waited 1.5 s for rank 1, which has not come" in str(third)


def test_two_processes_of_one_rank_are_named_to_all(ranks):
    def make(rank, size):
        number = [0, 1, 1][rank]  # rank 2 of 3 never comes
        dist.init_process_group("gloo", store=store, rank=number, world_size=3, timeout=timedelta(seconds=15))

    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for result in ranks(3, total, make=make, errors=True):
        assert re.search(r"two processes call themselves rank 1: process \d+ on \S+ and process \d+ on", str(result)), (
            result
        )
    store.close()


def test_ranks_that_count_the_world_differently_are_named_to_all(ranks):
    def make(rank, size):
        dist.init_process_group("gloo", store=store, rank=rank, world_size=3 + rank, timeout=timedelta(seconds=15))

    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for result in ranks(2, total, make=make, errors=True):
        assert re.search(r"rank \d was started with world_size \d, another rank with world_size \d", str(result)), (
            result
        )
    store.close()


def test_a_store_of_an_earlier_job_is_noticed(ranks, tmp_path):
    def make(rank, size):
        dist.init_process_group("gloo", store=dist.FileStore(f"{tmp_path}/s"), rank=rank, world_size=2)

    assert ranks(2, total, make=make) == [3.0, 3.0]
    for result in ranks(2, total, make=make, errors=True):
        assert "two processes call themselves rank" in str(result)


def test_a_scheme_of_ones_own(ranks):
    def serve(url, query, timeout=None, **_):
        yield dist.HashStore(), int(query["rank"]), int(query["world_size"])

    dist.register_rendezvous_handler("memory", serve)
    with pytest.raises(RuntimeError, match="Rendezvous handler for memory:// already registered"):
        dist.register_rendezvous_handler("memory", serve)
    assert ranks(1, total, make=by_url("memory://here")) == [1.0]


def test_strangers_at_a_ranks_port_do_no_harm(ranks):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)

    def make(rank, size):
        if rank == 1:  # what a port scanner does to rank 0, which listens for us
            while not (keys := [key for key in store.list_keys() if key.endswith("rank/0")]):
                time.sleep(0.01)
            card = json.loads(store.get(keys[0]))
            for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b""):
                with socket.create_connection((card["hosts"][0], card["port"])) as stranger:
                    stranger.sendall(garbage)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=20))

    assert ranks(2, total, make=make) == [3.0, 3.0]
    store.close()


def test_the_doctor_lists_what_can_carry_the_bytes():
    from torch import doctor

    (line,) = [line for line in doctor.report().splitlines() if line.startswith("distributed")]
    for name in ("gloo: sockets of torch-distributed", "libgloo: ", "mpi: ", "nccl: "):
        assert name in line
