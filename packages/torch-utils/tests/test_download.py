"""Downloads: from a server of our own that breaks, lies and forgets."""

import hashlib
import http.server
import threading

import pytest
from torch.utils import _download
from torch.utils._download import DownloadError, download_url_to_file, fetch

DATA = bytes(i * 7 % 251 for i in range(300_000))
SHA = hashlib.sha256(DATA).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = DATA
        self.cut = []  # after how many bytes of each answer the connection breaks
        self.ranges = True
        self.tag = '"1"'
        self.asked = []
        self.status = None
        self.threads = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.threads.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file.bin"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if server.status:
            code = server.status.pop(0)
            if code != 200:
                self.send_error(code)
                return
        content, begin = server.content, 0
        tag = self.headers.get("If-Range")
        if asked and server.ranges and tag in (None, server.tag):
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.send_header("ETag", server.tag)
        self.end_headers()
        cut = server.cut.pop(0) if server.cut else len(content)
        if callable(cut):
            cut = cut()
        self.wfile.write(content[begin:][:cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(_download.time, "sleep", lambda _: None)
    server = Server()
    yield server
    server.shutdown()
    server.server_close()
    server.threads.join()


def test_a_file_comes_whole_and_leaves_nothing_beside_it(server, tmp_path):
    path = fetch(server.url, tmp_path / "deep" / "a.bin", digest=f"sha256:{SHA}", size=len(DATA), progress=False)
    assert path.read_bytes() == DATA
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"]


def test_a_broken_connection_is_taken_up_where_it_broke(server, tmp_path):
    server.cut = [100_000, 50_000]
    download_url_to_file(server.url, str(tmp_path / "a"), hash_prefix=SHA[:8], progress=False)
    assert (tmp_path / "a").read_bytes() == DATA
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_a_server_that_cannot_continue_sends_all_of_it_again(server, tmp_path):
    server.cut, server.ranges = [100_000], False
    assert fetch(server.url, tmp_path / "a", progress=False).read_bytes() == DATA


def test_a_server_that_always_breaks_at_the_same_place_is_given_up(server, tmp_path):
    server.cut, server.ranges = [100_000] * 20, False
    with pytest.raises(DownloadError, match="could not be fetched"):
        fetch(server.url, tmp_path / "a", progress=False)
    assert len(server.asked) < 8


def test_a_file_that_changed_meanwhile_is_not_joined_with_the_old_one(server, tmp_path):
    def change():
        server.tag, server.content = '"2"', DATA[::-1]
        return 100_000

    server.cut = [change]
    path = fetch(server.url, tmp_path / "a", progress=False)
    assert path.read_bytes() == DATA[::-1]


def test_what_an_earlier_process_left_is_continued_when_a_checksum_can_tell(server, tmp_path):
    (tmp_path / "a.partial").write_bytes(DATA[:1000])
    assert fetch(server.url, tmp_path / "a", digest=f"sha256:{SHA}", progress=False).read_bytes() == DATA
    assert server.asked == ["bytes=1000-"]
    (tmp_path / "b.partial").write_bytes(b"other" * 200)
    assert fetch(server.url, tmp_path / "b", progress=False).read_bytes() == DATA
    assert server.asked[1:] == [None]


def test_a_wrong_beginning_is_dropped(server, tmp_path):
    (tmp_path / "a.partial").write_bytes(b"x" * 1000)
    assert fetch(server.url, tmp_path / "a", digest=f"sha256:{SHA}", progress=False).read_bytes() == DATA
    assert server.asked == ["bytes=1000-", None]
    (tmp_path / "b.partial").write_bytes(b"x" * len(DATA))
    assert fetch(server.url, tmp_path / "b", digest=f"sha256:{SHA}", progress=False).read_bytes() == DATA


def test_a_wrong_checksum_is_named_and_leaves_no_file(server, tmp_path):
    with pytest.raises(RuntimeError, match=f'invalid hash value: sha256 "12ab" was expected, got "{SHA[:4]}"'):
        download_url_to_file(server.url, str(tmp_path / "a"), hash_prefix="12ab", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_size_is_named(server, tmp_path):
    with pytest.raises(DownloadError, match="300000 bytes, 12 were expected"):
        fetch(server.url, tmp_path / "a", size=12, progress=False)


def test_a_file_that_is_there_is_not_fetched_again(server, tmp_path):
    (tmp_path / "a").write_bytes(DATA)
    fetch(server.url, tmp_path / "a", digest=f"md5:{hashlib.md5(DATA).hexdigest()}", progress=False)
    assert server.asked == []


def test_a_server_in_trouble_is_asked_again_and_one_that_refuses_is_not(server, tmp_path):
    server.status = [503, 500]
    assert fetch(server.url, tmp_path / "a", progress=False).read_bytes() == DATA
    server.status, server.asked = [404], []
    with pytest.raises(DownloadError, match=rf"file.bin could not be fetched \(404 .*put the file at {tmp_path / 'b'}"):
        fetch(server.url, tmp_path / "b", progress=False)
    assert len(server.asked) == 1
    server.status, server.asked = [503] * 9, []
    with pytest.raises(DownloadError, match="503"):
        fetch(server.url, tmp_path / "b", progress=False)
    assert len(server.asked) == 4


def test_without_a_network_the_error_says_where_the_file_belongs(tmp_path, monkeypatch):
    monkeypatch.setattr(_download.time, "sleep", lambda _: None)
    with pytest.raises(DownloadError, match=f"Without a network, put the file at {tmp_path / 'a'}"):
        fetch("http://127.0.0.1:9/file", tmp_path / "a", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_two_at_a_time_give_one_whole_file(server, tmp_path):
    errors = []

    def one():
        try:
            fetch(server.url, tmp_path / "a", digest=f"sha256:{SHA}", progress=False)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert (tmp_path / "a").read_bytes() == DATA
    assert len(server.asked) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_disk_that_is_too_small_is_told_before(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download.shutil, "disk_usage", lambda _: type("", (), {"free": 1000}))
    with pytest.raises(DownloadError, match="has 1000 bytes free, and 300000 of a are still to come"):
        fetch(server.url, tmp_path / "a", progress=False)


def test_a_digest_of_another_kind_is_refused(tmp_path):
    for digest in ("abc", "crc:12", "md5:", "md5:xyz"):
        with pytest.raises(ValueError, match="digest must be 'md5:' or 'sha256:'"):
            (tmp_path / "a").touch()
            fetch("file:///nothing", tmp_path / "a", digest=digest)


def test_progress_is_shown(server, tmp_path, capsys):
    pytest.importorskip("tqdm")
    fetch(server.url, tmp_path / "name.bin", digest=f"sha256:{SHA}")
    assert "name.bin: 100%" in capsys.readouterr().err
