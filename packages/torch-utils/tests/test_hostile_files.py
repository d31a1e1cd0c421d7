"""Archives, names and files that somebody made to harm: nothing is written outside, nothing hangs, nothing is half there."""

import hashlib
import io
import json
import os
import random
import stat
import tarfile
import zipfile

import pytest
from torch.utils import _download, hub
from torch.utils._download import DownloadError, fetch
from torch.utils.data.datasets import CIFAR10, ImageFolder, cifar
from torch.utils.data.datasets.files import BrokenFile

KINDS = {
    "link": stat.S_IFLNK,
    "pipe": stat.S_IFIFO,
    "device": stat.S_IFCHR,
    "disk": stat.S_IFBLK,
    "socket": stat.S_IFSOCK,
}


def entry(name, content=b"x", kind=stat.S_IFREG):
    info = zipfile.ZipInfo("placeholder")
    info.filename = name  # unchanged, whatever it is
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (kind | 0o644) << 16
    return info, content


def zipped(*entries):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for info, content in entries:
            file.writestr(info, content)
    return packed.getvalue()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A function that publishes an archive as the repository me/nets, and a folder that nothing may be written into."""
    monkeypatch.setattr(hub, "GITHUB", (tmp_path / "site").as_uri())
    monkeypatch.setattr(hub, "_dir", str(tmp_path / "outer" / "hub"))
    place = tmp_path / "site" / "me" / "nets" / "zipball" / "v1"
    place.parent.mkdir(parents=True)
    return place.write_bytes


def load():
    return hub.load("me/nets:v1", "two", trust_repo=True, skip_validation=True, verbose=False)


GOOD = entry("top/hubconf.py", b"def two(): return 2\n")
BAD = {
    "parent": (entry("top/../../evil"), "'top/../../evil', which would lie outside its folder"),
    "parent at once": (entry("../evil"), "would lie outside"),
    "only dots": (entry("top/.."), "would lie outside"),
    "absolute": (entry("/tmp/evil-of-a-test"), "would lie outside"),
    "backslashes": (entry("top\\..\\..\\evil"), "would lie outside"),
    "drive": (entry("C:/evil"), "would lie outside"),
    "twice": (entry("top/hubconf.py", b"raise SystemExit\n"), "'top/hubconf.py' more than once"),
    **{kind: (entry("top/evil", b"/etc/passwd", mode), "which is a link or a device") for kind, mode in KINDS.items()},
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("what", BAD)
def test_an_archive_with_one_bad_entry_is_refused_whole(site, tmp_path, what, first):
    bad, match = BAD[what]
    site(zipped(*((bad, GOOD) if first else (GOOD, bad))))
    with pytest.raises(RuntimeError, match=match.replace("\\", r"\\")):
        load()
    left = {path.name for path in (tmp_path / "outer").rglob("*")}
    assert left == {"hub", ".lock", "trusted_list"}
    assert not os.path.exists("/tmp/evil-of-a-test")


def test_a_good_archive_takes_the_place_of_a_refused_one(site):
    site(zipped(entry("../evil")))
    with pytest.raises(RuntimeError):
        load()
    site(zipped(GOOD))
    assert load() == 2


def test_an_archive_bigger_than_the_disk_is_refused_before_it_is_unpacked(site, monkeypatch):
    site(zipped(GOOD, entry("top/zeros", bytes(50_000_000))))  # 50 kB
    free = hub.shutil.disk_usage("/")._replace(free=10_000_000)
    monkeypatch.setattr(hub.shutil, "disk_usage", lambda path: free)
    with pytest.raises(RuntimeError, match="unpacks to 500000.. bytes, and .* has 10000000 free"):
        load()


def test_a_spoiled_archive_is_refused_or_gives_what_is_in_it(site, tmp_path):
    good = zipped(GOOD, entry("top/data.bin", bytes(range(256)) * 20))
    choose = random.Random(0)
    for _ in range(200):
        spoiled = bytearray(good)
        for _ in range(choose.choice((1, 2, 8))):
            spoiled[choose.randrange(len(spoiled))] ^= 1 << choose.randrange(8)
        spoiled = spoiled[: choose.choice((len(spoiled), choose.randrange(len(spoiled))))]
        site(bytes(spoiled))
        try:
            hub.load("me/nets:v1", "two", trust_repo=True, skip_validation=True, verbose=False, force_reload=True)
        except (RuntimeError, FileNotFoundError, SyntaxError, ValueError, UnicodeError, OSError):
            pass
        folders = {path.name for path in (tmp_path / "outer" / "hub").iterdir()}
        assert folders <= {".lock", "trusted_list", "me_nets_v1"}
        assert {path.name for path in (tmp_path / "outer").iterdir()} == {"hub"}


@pytest.mark.parametrize(
    "name",
    ["../nets:v1", "me/..:v1", "./x", "me/nets:../../../evil/x/zipball/main", "me/nets:a..b", "me/nets:-x", "me/nets:/x",
     "me/nets:x/", "me/nets:a//b", "me/nets:a b", "me/nets:a\nb", "me/nets:a?b", "me/nets:a#b", "me/nets:a%2e%2e", "me/nets:a\\b"],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_no_repositories(site, name):
    with pytest.raises(ValueError, match="torch.hub.load"):
        hub.load(name, "two", trust_repo=True, skip_validation=True, verbose=False)


@pytest.mark.parametrize("url", ["file:///x/..", "file:///x/.", "file:///x/", "http://localhost"])
def test_addresses_without_a_file_name_are_refused(url, tmp_path):
    pytest.importorskip("torch.serialize")
    with pytest.raises(ValueError, match="ends in no file name"):
        hub.load_state_dict_from_url(url, model_dir=tmp_path / "models")


# --- downloads


DATA = b"weights" * 1000
SHA = "sha256:" + hashlib.sha256(DATA).hexdigest()


def plant(kind, path, victim):
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim.with_name("created"))
    elif kind == "hard link":
        os.link(victim, path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("digest", [None, SHA])
@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "folder"])
def test_what_lies_at_the_partial_file_is_not_written_through(tmp_path, kind, digest):
    source, victim, target = tmp_path / "source", tmp_path / "victim", tmp_path / "in" / "file"
    source.write_bytes(DATA)
    victim.write_bytes(b"precious")
    target.parent.mkdir()
    plant(kind, target.with_name("file.partial"), victim)
    with pytest.raises(OSError, match="file.partial"):
        fetch(source.as_uri(), target, digest=digest, progress=False)
    assert victim.read_bytes() == b"precious"
    assert not target.exists()
    assert not victim.with_name("created").exists()


@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_a_link_at_the_name_itself_is_replaced_not_followed(tmp_path, kind):
    source, victim, target = tmp_path / "source", tmp_path / "victim", tmp_path / "file"
    source.write_bytes(DATA)
    victim.write_bytes(b"precious")
    plant(kind, target, victim)
    fetch(source.as_uri(), target, digest=SHA, progress=False)
    assert target.read_bytes() == DATA
    assert victim.read_bytes() == b"precious"


def test_a_partial_file_of_other_bytes_is_not_believed(tmp_path):
    source, target = tmp_path / "source", tmp_path / "file"
    source.write_bytes(DATA)
    for left in (b"", b"evil", DATA[:100], DATA + b"more", os.urandom(len(DATA))):
        target.with_name("file.partial").write_bytes(left)
        target.unlink(missing_ok=True)
        fetch(source.as_uri(), target, digest=SHA, progress=False)
        assert target.read_bytes() == DATA
        assert not target.with_name("file.partial").exists()


def test_a_server_that_continues_elsewhere_is_asked_for_all_of_it(tmp_path, monkeypatch):
    class Answer(io.BytesIO):
        def __init__(self, begin, content, status):
            super().__init__(content)
            self.status = status
            self.headers = {
                "Content-Length": str(len(content)),
                "Content-Range": f"bytes {begin}-{begin + len(content)}/9",
            }

    answers = [Answer(7, DATA[7:], 206), Answer(0, DATA, 200)]
    monkeypatch.setattr(_download, "_open", lambda *_: answers.pop(0))
    monkeypatch.setattr(_download.time, "sleep", lambda _: None)
    target = tmp_path / "file"
    target.with_name("file.partial").write_bytes(DATA[:5])
    fetch("http://somewhere/file", target, digest=SHA, progress=False)
    assert target.read_bytes() == DATA
    assert not answers


def test_a_wrong_checksum_leaves_the_file_that_was_there(tmp_path):
    source, target = tmp_path / "source", tmp_path / "file"
    source.write_bytes(b"other")
    target.write_bytes(b"mine")
    with pytest.raises(DownloadError, match="invalid hash value"):
        fetch(source.as_uri(), target, digest=SHA, progress=False)
    assert target.read_bytes() == b"mine"


# --- data sets


@pytest.mark.parametrize("kind", ["symlink", "hard link", "pipe", "device", "folder", "two: a link, then the file"])
def test_the_archive_of_a_data_set_gives_files_only(tmp_path, kind):
    """Every name that is wanted is there as something else too."""
    outside, names = tmp_path / "outside", list(CIFAR10.published)
    outside.write_bytes(b"precious")
    archive, folder = tmp_path / "x.tar.gz", tmp_path / "out"
    types = {"symlink": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE, "pipe": tarfile.FIFOTYPE, "device": tarfile.CHRTYPE,
             "folder": tarfile.DIRTYPE, "two: a link, then the file": tarfile.SYMTYPE}  # fmt: skip
    with tarfile.open(archive, "w:gz") as tar:
        for name in names:
            bad = tarfile.TarInfo(f"../../{name}")
            bad.type, bad.linkname = types[kind], str(outside)
            tar.addfile(bad)
            if kind.startswith("two"):
                good = tarfile.TarInfo(f"/somewhere/{name}")
                good.size = 4
                tar.addfile(good, io.BytesIO(b"good"))
    if kind.startswith("two"):
        cifar._unpack(archive, folder, names)
        assert sorted(os.listdir(folder)) == sorted(names)
        assert all((folder / name).read_bytes() == b"good" and not (folder / name).is_symlink() for name in names)
    else:
        with pytest.raises(BrokenFile, match="is not in it"):
            cifar._unpack(archive, folder, names)
        assert os.listdir(folder) == []
    assert outside.read_bytes() == b"precious"


@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_unpacking_replaces_links_in_the_folder_and_does_not_follow_them(tmp_path, kind):
    victim, archive, folder = tmp_path / "victim", tmp_path / "x.tar", tmp_path / "out"
    victim.write_bytes(b"precious")
    folder.mkdir()
    for name in ("a", "a.partial"):
        plant(kind, folder / name, victim)
    with tarfile.open(archive, "w") as tar:
        info = tarfile.TarInfo("x/a")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"new"))
    cifar._unpack(archive, folder, ["a"])
    assert (folder / "a").read_bytes() == b"new"
    assert victim.read_bytes() == b"precious"


def test_an_archive_cut_anywhere_leaves_whole_files_only(tmp_path):
    content = {"a": os.urandom(3000), "b": os.urandom(3000)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    whole = packed.getvalue()
    for cut in range(0, len(whole) - 8, 97):
        folder = tmp_path / str(cut)
        archive = tmp_path / "cut.tar.gz"
        archive.write_bytes(whole[:cut])
        with pytest.raises(BrokenFile):
            cifar._unpack(archive, folder, ["a", "b"])
        for name in os.listdir(folder):
            assert (folder / name).read_bytes() == content[name]


def test_pipes_and_devices_among_images_are_named_and_do_not_hang(tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "cat").mkdir()
    os.mkfifo(tmp_path / "cat" / "a.png")
    (tmp_path / "cat" / "b.png").symlink_to("/dev/zero")
    images = ImageFolder(tmp_path)
    for i in range(2):
        with pytest.raises(BrokenFile, match="a pipe, a device or a folder, not a file"):
            images[i]
    assert len(images.check().problems) == 2
    (tmp_path / "cat" / "c.png").symlink_to("c.png")  # leads nowhere
    with pytest.raises(BrokenFile, match="no image that Pillow can read"):
        ImageFolder(tmp_path)[2]


# --- extensions


NAMES = [
    "../evil",
    "/tmp/evil",
    "a/b",
    "a.b",
    "",
    " ",
    "a b",
    "a;b",
    "$(x)",
    "a\0b",
    "-o",
    "1a",
    "a\n",
    None,
    3,
    ["a"],
    b"a",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_an_extension_is_an_identifier(name, tmp_path, monkeypatch):
    cpp = pytest.importorskip("torch.utils.cpp_extension")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "deep" / "cache"))
    source = tmp_path / "x.cpp"
    source.write_text("int x;")
    with pytest.raises(ValueError, match="load: name must be an identifier"):
        cpp.load(name, str(source))
    with pytest.raises(ValueError, match="load_inline: name must be an identifier"):
        cpp.load_inline(name, "int x;")
    assert os.listdir(tmp_path) == ["x.cpp"]


@pytest.mark.parametrize("note", ["", "{", "[1, 2]", '{"a": ', "3", "null", "\0"])
def test_a_spoiled_note_beside_an_object_means_compiling_again(note, tmp_path):
    from torch.utils.cpp_extension._compile import Folder, digest

    source = tmp_path / "x.cpp"
    source.write_text("int x;")
    folder = Folder(tmp_path, "x")
    key = digest("id", "cc", str(source), source.read_bytes())
    (folder.objects / f"{key}-0.json").write_text(note)
    (folder.objects / f"{key}-0.o").write_bytes(b"")
    assert folder._find(["cc"], source, "id") == (key, None)
    (folder.objects / f"{key}-0.json").write_text(json.dumps({}))
    assert folder._find(["cc"], source, "id") == (key, folder.objects / f"{key}-0.o")
