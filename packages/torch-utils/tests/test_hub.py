"""torch.hub and model_zoo, from a server of our own that plays GitHub and a store of weights."""

import hashlib
import http.server
import io
import json
import os
import socket
import sys
import threading
import types
import zipfile
from urllib.parse import parse_qs, urlparse

import pytest
import torch
from torch.utils import _download, hub, model_zoo

HUBCONF = '''
dependencies = ["json"]
from beside import factor
def scaled(x, by=1):
    """x, scaled."""
    return x * by * factor
def _hidden(): pass
not_callable = 3
'''


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        path, query = urlparse(self.path).path, parse_qs(urlparse(self.path).query)
        answer = self.server.files.get(path)
        if query.get("page", ["1"]) != ["1"]:
            answer = b"[]"
        if isinstance(answer, str):
            self.send_response(302)
            self.send_header("Location", answer)
            self.end_headers()
            return
        if answer is None:
            self.send_error(404)
            return
        cut = self.server.cut.pop() if self.server.cut else len(answer)
        begin = int(self.headers.get("Range", "bytes=0-")[6:-1])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(answer) - begin))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(answer[begin:][:cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.files, server.asked, server.cut = {}, [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(_download.time, "sleep", lambda _: None)
    monkeypatch.setattr(hub, "GITHUB", server.url)
    monkeypatch.setattr(hub, "API", server.url + "/api")
    monkeypatch.setattr(hub, "_dir", str(tmp_path / "hub"))
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def weights(server):
    """A checkpoint on the server; its name ends in its hash."""
    file = io.BytesIO()
    pytest.importorskip("torch.serialize").save({"w": torch.arange(1000.0)}, file)
    content = file.getvalue()
    path = f"/net-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    server.files[path] = content
    return server.url + path


def archive(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


@pytest.fixture
def repository(server):
    content = archive({"me-nets-abc/hubconf.py": HUBCONF, "me-nets-abc/beside.py": "factor = 10\n"})
    server.files["/me/nets/zipball/main"] = content
    server.files["/me/nets/zipball/v1"] = content
    server.files["/api/repos/me/nets"] = json.dumps({"default_branch": "main"}).encode()
    server.files["/api/repos/me/nets/branches"] = json.dumps([{"name": "main", "commit": {"sha": "a" * 40}}]).encode()
    server.files["/api/repos/me/nets/tags"] = json.dumps([{"name": "v1", "commit": {"sha": "b" * 40}}]).encode()
    return server


def test_weights_are_fetched_once_and_kept(server, weights):
    for _ in range(2):
        state = torch.hub.load_state_dict_from_url(weights, progress=False)
        assert torch.equal(state["w"], torch.arange(1000.0))
    assert len(server.asked) == 1
    assert os.listdir(os.path.join(torch.hub.get_dir(), "checkpoints")) == [weights.rpartition("/")[2]]


def test_load_url_of_2017_is_the_same(weights, tmp_path):
    assert torch.equal(
        model_zoo.load_url(weights, tmp_path, progress=False, check_hash=True)["w"], torch.arange(1000.0)
    )
    assert torch.equal(
        model_zoo.load_url(weights, str(tmp_path), file_name="other.pth", progress=False)["w"], torch.arange(1000.0)
    )
    assert (tmp_path / "other.pth").exists()


def test_a_file_that_does_not_match_its_hash_is_refused_and_not_kept(server, weights, tmp_path):
    path = urlparse(weights).path
    server.files[path] = server.files[path][:-1] + b"\1"
    with pytest.raises(RuntimeError, match=r'invalid hash value: sha256 "[0-9a-f]{8}" was expected, got'):
        torch.hub.load_state_dict_from_url(weights, tmp_path, check_hash=True, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_kept_file_that_was_spoiled_is_fetched_again(weights, tmp_path):
    spoiled = tmp_path / weights.rpartition("/")[2]
    spoiled.write_bytes(b"spoiled")
    state = torch.hub.load_state_dict_from_url(weights, tmp_path, check_hash=True, progress=False)
    assert state["w"][3] == 3


def test_a_broken_connection_is_taken_up_where_it_broke(server, weights):
    server.cut = [None, 1000, 500]
    state = torch.hub.load_state_dict_from_url(weights, progress=False, check_hash=True)
    assert torch.equal(state["w"], torch.arange(1000.0))
    assert len(server.asked) == 3


def test_redirects_are_followed(server, weights):
    server.files["/moved.pth"] = weights
    assert torch.hub.load_state_dict_from_url(server.url + "/moved.pth", progress=False)["w"][1] == 1


def test_code_in_a_file_is_not_run_unless_allowed(server, tmp_path):
    serialize = pytest.importorskip("torch.serialize")
    file = io.BytesIO()
    serialize.save({"f": os.getcwd}, file)
    server.files["/f.pth"] = file.getvalue()
    with pytest.raises(Exception, match="getcwd"):
        torch.hub.load_state_dict_from_url(server.url + "/f.pth", progress=False)
    assert (
        torch.hub.load_state_dict_from_url(server.url + "/f.pth", progress=False, weights_only=False)["f"] is os.getcwd
    )


def test_addresses_that_cannot_be_are_refused(server):
    pytest.importorskip("torch.serialize")
    with pytest.raises(ValueError, match=r"check_hash needs a name such as model-5c106cde.pth, got 'plain.pth'"):
        torch.hub.load_state_dict_from_url(server.url + "/plain.pth", check_hash=True)
    with pytest.raises(ValueError, match="ends in no file name; give file_name"):
        torch.hub.load_state_dict_from_url(server.url + "/")
    with pytest.raises(RuntimeError, match="404"):
        torch.hub.load_state_dict_from_url(server.url + "/absent.pth", progress=False)


def test_without_a_network_the_place_for_the_file_is_told(server, tmp_path):
    pytest.importorskip("torch.serialize")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/net.pth"
    with pytest.raises(RuntimeError, match=f"Without a network, put the file at {tmp_path}/net.pth"):
        torch.hub.load_state_dict_from_url(url, tmp_path, progress=False)


def test_the_folder_follows_the_environment(monkeypatch):
    monkeypatch.setattr(hub, "_dir", None)
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert torch.hub.get_dir() == "/cache/torch/hub"
    torch.hub.set_dir("/mine")
    assert torch.hub.get_dir() == "/mine"


def test_a_model_of_a_repository_is_fetched_once_and_made(repository):
    assert torch.hub.load("me/nets", "scaled", 2, by=3, trust_repo=True, verbose=False) == 60
    first = len(repository.asked)
    assert torch.hub.load("me/nets", "scaled", 1, verbose=False) == 10  # trusted by now
    assert len(repository.asked) == first
    assert torch.hub.load("me/nets", "scaled", 1, force_reload=True, verbose=False) == 10
    assert repository.asked[-1] == "/me/nets/zipball/main"
    assert sorted(os.listdir(torch.hub.get_dir())) == [".lock", "me_nets_main", "trusted_list"]


def test_models_are_listed_and_explained(repository):
    assert torch.hub.list("me/nets:v1", trust_repo=True, verbose=False) == ["scaled"]
    assert torch.hub.help("me/nets:v1", "scaled") == "x, scaled."
    with pytest.raises(RuntimeError, match="hubconf.py has no function 'absent'; there are scaled"):
        torch.hub.help("me/nets:v1", "absent")
    with pytest.raises(RuntimeError, match="no function '_hidden'"):
        torch.hub.load("me/nets:v1", "_hidden", verbose=False)


def test_a_ref_that_is_not_the_repositorys_own_is_refused(repository):
    repository.files["/me/nets/zipball/fork"] = repository.files["/me/nets/zipball/main"]
    with pytest.raises(ValueError, match="'fork' is neither a branch nor a tag of me/nets"):
        torch.hub.load("me/nets:fork", "scaled", 1, trust_repo=True)
    assert torch.hub.load("me/nets:fork", "scaled", 1, trust_repo=True, skip_validation=True, verbose=False) == 10


def test_an_untrusted_repository_is_not_run_without_a_word(repository, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    for trust in ("check", False, None):
        with pytest.raises(RuntimeError, match="not trusted yet; trust_repo=True says that you do"):
            torch.hub.load("me/nets", "scaled", 1, trust_repo=trust)
    assert repository.asked == []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(RuntimeError, match="me/nets is not trusted, so nothing was run"):
        torch.hub.load("me/nets", "scaled", 1)
    monkeypatch.setattr("builtins.input", lambda question: "yes")
    assert torch.hub.load("me/nets", "scaled", 1, trust_repo=False, verbose=False) == 10
    assert "trusted_list" not in os.listdir(torch.hub.get_dir())
    assert torch.hub.load("me/nets", "scaled", 1, verbose=False) == 10
    assert "trusted_list" in os.listdir(torch.hub.get_dir())


def test_an_archive_that_reaches_out_of_its_folder_is_refused(repository, tmp_path):
    repository.files["/me/nets/zipball/main"] = archive({"a/hubconf.py": "", "a/../../../escaped.py": "x"})
    with pytest.raises(RuntimeError, match=r"escaped.py', which would lie outside its folder"):
        torch.hub.load("me/nets", "scaled", trust_repo=True, verbose=False)
    assert not (tmp_path / "escaped.py").exists()
    assert sorted(os.listdir(torch.hub.get_dir())) == [".lock", "trusted_list"]


def test_a_missing_dependency_is_named(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['json', 'no_such_module']\ndef f(): return 1")
    with pytest.raises(RuntimeError, match="needs no_such_module, which cannot be found"):
        torch.hub.load(tmp_path, "f", source="local")
    with pytest.raises(FileNotFoundError, match="has no hubconf.py"):
        torch.hub.load(tmp_path / "absent", "f", source="local")


def test_wrong_calls_are_told(server):
    with pytest.raises(ValueError, match="source must be 'github' or 'local', got 'web'"):
        torch.hub.load("me/nets", "f", source="web")
    with pytest.raises(
        ValueError, match="expected 'owner/name' or 'owner/name:branch', got 'nets'; a folder needs source='local'"
    ):
        torch.hub.load("nets", "f")
    with pytest.raises(ValueError, match="trust_repo must be True, False or 'check', got 'yes'"):
        torch.hub.load("me/nets", "f", trust_repo="yes")


def test_unreachable_github_points_to_local_folders(server, monkeypatch):
    monkeypatch.setattr(hub, "API", "http://127.0.0.1:1")
    with pytest.raises(RuntimeError, match="Without a network, load a folder: .*source='local'"):
        torch.hub.load("me/nets", "f", trust_repo=True)
    monkeypatch.setattr(hub, "API", server.url)
    with pytest.raises(RuntimeError, match="404 there is no such repository"):
        torch.hub.load("me/nets", "f", trust_repo=True)


def test_names_that_other_libraries_import_are_there(monkeypatch):
    from torch.hub import HASH_REGEX, _get_torch_home, download_url_to_file, urlparse

    assert HASH_REGEX.search("resnet18-5c106cde.pth")[1] == "5c106cde"
    assert urlparse("file:///a/b.pth").path == "/a/b.pth"
    assert callable(download_url_to_file)
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert _get_torch_home() == "/somewhere"


def test_libraries_find_tqdm_where_it_is_installed(monkeypatch):
    kept = types.ModuleType("tqdm")
    kept.tqdm = object()
    monkeypatch.setitem(sys.modules, "tqdm", kept)
    assert torch.hub.tqdm is kept.tqdm
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="cannot import name 'tqdm'"):
        from torch.hub import tqdm  # noqa: F401
    with pytest.raises(AttributeError, match="torch.hub.tqdm is that of the distribution tqdm: pip install tqdm"):
        torch.hub.tqdm
