"""Stores: what each request does, waiting, several processes, and what goes wrong."""

import os
import socket
import threading
from datetime import timedelta

import pytest
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributed._stores.codec import decode, encode


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    if request.param == "file":
        made = dist.FileStore(str(tmp_path / "store"), 1)
    elif request.param == "tcp":
        made = dist.TCPStore("127.0.0.1", 0, is_master=True)
    else:
        made = dist.HashStore()
    yield dist.PrefixStore("below", made) if request.param == "prefix" else made
    if request.param == "tcp":
        made.close()


def test_a_key_holds_the_bytes_that_were_set_last(store):
    store.set("key", "text")
    store.set("key", b"\x00\xff")
    assert store.get("key") == b"\x00\xff"


def test_add_counts_from_zero_and_keeps_a_decimal_number(store):
    assert [store.add("n", k) for k in (5, -7, 0)] == [5, -2, -2]
    assert store.get("n") == b"-2"
    with pytest.raises(ValueError, match="word' holds b'three', which is not a number"):
        store.set("word", "three")
        store.add("word", 1)


def test_compare_set_sets_only_what_is_as_expected(store):
    assert store.compare_set("k", "something", "new") == b"something"
    assert not store.check(["k"])
    assert store.compare_set("k", "", "first") == b"first"
    assert store.compare_set("k", "", "second") == b"first"
    assert store.compare_set("k", "first", "second") == b"second"
    assert store.get("k") == b"second"


def test_keys_are_deleted_counted_and_listed(store):
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"]
    assert store.num_keys() == 2
    assert store.list_keys() == ["a", "b"]
    assert store.delete_key("a") is True
    assert store.delete_key("a") is False
    assert store.check(["b"])
    assert not store.check(["a", "b"])
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        store.multi_set(["a", "b"], ["1"])


def test_append_and_queues(store):
    store.append("k", "ab")
    store.append("k", b"c")
    assert store.get("k") == b"abc"
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert (store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q"), store.queue_len("q")) == (
        2,
        b"1",
        b"2",
        0,
    )
    with pytest.raises(dist.QueueEmptyError, match="queue 'q' is empty"):
        store.queue_pop("q", block=False)


def test_a_read_waits_until_the_key_is_there(store):
    threading.Timer(0.05, lambda: store.set("late", "came")).start()
    assert store.get("late") == b"came"
    store.wait(["late"], timedelta(seconds=1))


def test_a_wait_that_takes_too_long_names_the_missing_keys(store):
    store.set_timeout(timedelta(seconds=0.05))
    assert store.timeout == timedelta(seconds=0.05)
    store.set("there", "")
    for waits, call in (
        ("0.05", lambda: store.get("gone")),
        ("0.02", lambda: store.wait(["there", "gone"], timedelta(seconds=0.02))),
    ):
        text = rf"wait timeout after {waits} s, keys that were not set: (below/)?gone$"
        with pytest.raises(dist.DistStoreError, match=text):
            call()


def test_arguments_of_the_wrong_kind_are_refused(store):
    with pytest.raises(TypeError, match="value must be str or bytes, got int"):
        store.set("k", 3)
    with pytest.raises(TypeError, match="keys must be a list of str, got 'k'"):
        store.wait("k")
    with pytest.raises(ValueError, match="timeout must be positive"):
        store.set_timeout(timedelta(0))


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_processes_that_add_at_once_lose_nothing(ranks, tmp_path, kind):
    path = str(tmp_path / "store")
    serving = dist.TCPStore("127.0.0.1", 0, is_master=True) if kind == "tcp" else None

    def work(rank):
        store = dist.TCPStore("127.0.0.1", serving.port) if kind == "tcp" else dist.FileStore(path)
        for i in range(50):
            store.add("n", 1)
            store.set(f"{rank}/{i}", str(i))
        store.barrier("all", 3)
        return int(store.get("n")), store.num_keys()

    # 150 keys of ranks, the number, and two of the barrier
    assert ranks(3, work, make=None) == [(150, 153)] * 3


def test_a_file_store_survives_a_writer_that_was_cut_off(tmp_path):
    path = tmp_path / "store"
    first = dist.FileStore(str(path))
    first.set("a", "1")
    whole = path.read_bytes()
    first.set("b", "2")
    path.write_bytes(path.read_bytes()[:-3])  # as if killed while it wrote b
    second = dist.FileStore(str(path))
    assert second.get("a") == b"1"
    assert not second.check(["b"])
    second.set("c", "3")
    assert path.read_bytes().startswith(whole)
    assert dist.FileStore(str(path)).multi_get(["a", "c"]) == [b"1", b"3"]


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "store").write_text("not a store at all")
    with pytest.raises(ValueError, match="is not the file of a store"):
        dist.FileStore(str(tmp_path / "store")).check(["a"])


@pytest.mark.parametrize(
    "body",
    [
        b"i\1\0\0\0x",
        b"i\1\0\0\0",
        b"s\1\0\0\0a",
        b"l\0\0\0\0",
        [["set"]],
        ["launch"],
        ["set", "a"],
        5,
        ["pop", "nothing"],
        ["set", "a", 3],
        ["set", ["a"], b"x"],
        ["__init__"],
        b"f\x09\0\0\0" + b"0x1p99999",
    ],
)
def test_a_record_that_is_none_of_a_store_is_told_with_its_file_and_its_place(body, tmp_path):
    from torch.distributed._stores.codec import encode
    from torch.distributed._stores.file import HEAD, MARK

    path = tmp_path / "store"
    dist.FileStore(str(path), -1).set("a", "1")
    size = path.stat().st_size
    body = body if isinstance(body, bytes) else encode(body)
    path.write_bytes(path.read_bytes() + HEAD.pack(MARK, len(body)) + body)
    with pytest.raises(ValueError, match=f"FileStore: .*store holds a record at byte {size} that is none of a store"):
        dist.FileStore(str(path), -1).get("a")


def test_the_last_user_of_a_file_store_removes_the_file(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
    del first
    assert path.exists()
    del second
    assert not path.exists()


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            dist.DistNetworkError, match=rf"127.0.0.1:{port}: Address already in use \(EADDRINUSE\); another"
        ):
            dist.TCPStore("127.0.0.1", port, is_master=True)


def test_a_port_of_something_else_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(
            target=lambda: other.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3), daemon=True
        ).start()
        with pytest.raises(
            dist.DistNetworkError, match="is not a store of this torch.distributed; choose another port"
        ):
            dist.TCPStore("127.0.0.1", other.getsockname()[1], timeout=timedelta(seconds=5))


def test_nobody_serves():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(dist.DistNetworkError, match=r"no answer within 0.2 s .*does rank 0 run"):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=0.2))
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        dist.TCPStore("127.0.0.1", 70000)
    with pytest.raises(ValueError, match="port 0 is for the master"):
        dist.TCPStore("127.0.0.1", 0)


def test_a_store_that_vanishes_is_named():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    other = dist.TCPStore("127.0.0.1", store.port, timeout=timedelta(seconds=5))
    threading.Timer(0.1, store.close).start()
    with pytest.raises(dist.DistNetworkError, match="the store is gone"):
        other.get("never")


def test_workers_that_do_not_come_are_counted():
    with pytest.raises(dist.DistNetworkError, match="1 of 3 processes came within 0.2 s"):
        dist.TCPStore("127.0.0.1", 0, 3, True, timeout=timedelta(seconds=0.2))


def test_a_forked_child_has_a_connection_of_its_own(ranks):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("parent", str(os.getpid()))

    def child(rank):
        store.set(f"child {rank}", str(os.getpid()))
        return int(store.get("parent"))

    assert ranks(2, child, make=None) == [os.getpid()] * 2
    assert store.check(["child 0", "child 1"])
    store.close()


def test_garbage_at_the_servers_port_does_no_harm():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"torch.distributed store 1\n\xff\xff\xff\xff",
        b"torch.distributed store 1\n\x05\0\0\0zzzzz",
    ):
        with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
            stranger.sendall(garbage)
            while stranger.recv(100):  # the server hangs up
                pass
    store.set("k", "v")
    assert store.get("k") == b"v"
    store.close()


def asked(*message):
    body = message[0] if isinstance(message[0], bytes) else encode(list(message))
    return len(body).to_bytes(4, "little") + body


STRANGE = {
    "no list": asked(encode(None)),
    "an empty list": asked(encode([])),
    "a request that is no text": asked(3, 1.0),
    "a request that there is none of": asked("__init__", 1.0),
    "a patience that is no number": asked("get", "long", "k"),
    "a patience of no end": asked("get", float("inf"), "never"),
    "a patience that is not a number": asked("get", float("nan"), "never"),
    "a patience of a thousand digits": asked("get", 10**1000, "never"),
    "a patience longer than clocks": asked("get", 1e300, "never"),
    "a float that is too big": asked(b"f\x09\0\0\0" + b"0x1p99999"),
    "lists without end": asked(b"".join(b"l" + (5 * i).to_bytes(4, "little") for i in reversed(range(3000)))),
    "a key that is a list": asked("wait", 1.0, ["k"]),
    "a value that is a number": asked("set", 1.0, "k", 3),
    "a queue that is read as a value": asked("push", 1.0, "q", b"x") + asked("get", 1.0, "q"),
    "a value that is read as a queue": asked("pop", 1.0, "held"),
    "too few arguments": asked("compare_set", 1.0, "k"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_stranger_with_the_right_greeting_does_not_end_the_server(what):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=5))
    store.set("held", "v")
    with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
        stranger.sendall(b"torch.distributed store 1\n" + STRANGE[what])
        stranger.recv(100)  # the greeting
    with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
        stranger.sendall(b"torch.distributed store 1\n" + STRANGE[what])
        for _ in range(20):
            assert store.get("held") == b"v"
        assert store._server.thread.is_alive()
    store.close()


def test_a_chain_of_waiting_requests_is_served_however_long_it_is():
    # Each connection waits for the key before it, and then sets the next one.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=20))
    links = []
    for i in range(400):
        link = socket.create_connection(("127.0.0.1", store.port), timeout=5)
        link.sendall(b"torch.distributed store 1\n" + asked("wait", 20.0, str(i)) + asked("set", 1.0, str(i + 1), b"x"))
        links.append(link)
    store.set("0", "x")
    store.wait(["400"])
    for link in links:
        link.close()
    store.close()


def test_who_sends_and_never_reads_is_dropped():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("big", bytes(1 << 20))
    with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
        stranger.sendall(b"torch.distributed store 1\n")
        with pytest.raises(OSError, match="reset|Broken pipe"):
            for _ in range(100_000):
                stranger.sendall(asked("get", 1.0, "big") * 100)
    assert store.get("big") == bytes(1 << 20)
    store.close()


def test_who_does_not_greet_is_dropped(monkeypatch):
    from torch.distributed._stores import server

    monkeypatch.setattr(server, "SHY", 0.2)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
        stranger.sendall(b"torch.")
        assert stranger.recv(100) == server.GREETING
        assert stranger.recv(100) == b""
    store.close()


@pytest.mark.parametrize(
    "answer", [None, [], ["done"], ["done", 1, 2], ["late", 3], ["error", "ValueError"], ["what", 1]]
)
def test_a_server_that_answers_nonsense_is_named(answer):
    greeting = b"torch.distributed store 1\n"
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve():
            connected, _ = other.accept()
            connected.sendall(greeting)
            connected.recv(1000)
            connected.sendall(asked(encode(answer)))

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(dist.DistNetworkError, match="the store is gone .it answers"):
            dist.TCPStore("127.0.0.1", other.getsockname()[1], timeout=timedelta(seconds=5))


@pytest.mark.parametrize("kind", ["hash", "tcp", "file"])
def test_a_timeout_of_any_length_will_do(kind, tmp_path):
    longest = timedelta.max
    store = {
        "hash": lambda: dist.HashStore(),
        "tcp": lambda: dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=longest),
        "file": lambda: dist.FileStore(str(tmp_path / "store")),
    }[kind]()
    store.set_timeout(longest)
    threading.Timer(0.1, lambda: store.set("k", "v")).start()
    assert store.get("k") == b"v"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.data())
def test_messages_come_back_as_they_went_and_cut_ones_are_refused(value, data):
    whole = encode(value)
    assert decode(whole) == value
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError, match="cut off"):
        decode(whole[:cut])
