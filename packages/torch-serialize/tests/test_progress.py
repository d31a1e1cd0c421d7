"""Long reads and writes tell how far they are."""

import io
import sys

import numpy as np
import pytest
from torch.serialize import load, save, save_safetensors, save_sharded
from torch.serialize._storage.progress import SILENT, progress


class Heard(list):
    def __call__(self, done, total):
        self.append((done, total))


@pytest.mark.parametrize("format", ["zip", "stream", "tar"])
@pytest.mark.parametrize("where", ["path", "object"])
def test_a_function_hears_of_every_piece_in_order(tmp_path, format, where):
    big, heard = {"a": np.zeros(600_000), "b": np.zeros(10)}, Heard()
    out = tmp_path / "a.pt" if where == "path" else io.BytesIO()
    save(big, out, arrays="numpy", format=format, progress=heard)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard) and len(heard) > 1
    assert heard[-1][0] == heard[-1][1] >= 4_800_080 and len({total for _, total in heard}) == 1
    heard.clear()
    if where == "object":
        out.seek(0)
    load(out, arrays="numpy", progress=heard)
    assert heard[-1][0] == heard[-1][1] >= 4_800_080 and len(heard) >= 1


def test_several_files_are_one_piece_of_work(tmp_path):
    heard = Heard()
    save_sharded({"a": np.zeros(3000), "b": np.zeros(2000)}, tmp_path / "m.bin", 20_000, progress=heard)
    assert heard[-1] == (40_000, 40_000)
    heard.clear()
    load(tmp_path / "m.bin.index.json", arrays="numpy", progress=heard)
    assert heard[-1][0] == heard[-1][1] == sum(path.stat().st_size for path in tmp_path.glob("*.bin"))


def test_what_the_function_raises_ends_the_work_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"old")

    def stop(done, total):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        save_safetensors({"a": np.zeros(10**6)}, path, progress=stop)
    assert path.read_bytes() == b"old"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_being_asked_it_speaks_only_on_a_terminal_and_of_big_files(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress(None, 10**10, "save") is SILENT
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert progress(None, 10**6, "save") is SILENT and progress(False, 10**10, "save") is SILENT
    pytest.importorskip("tqdm")
    with progress(None, 10**10, "save") as bar:
        assert bar is not SILENT
    assert sys.stderr.getvalue() == ""  # not before two seconds are over


def test_a_bar_is_drawn_by_tqdm(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    save({"a": np.zeros(10**6)}, io.BytesIO(), arrays="numpy", progress=True)
    assert "save: 100%" in sys.stderr.getvalue() and "8.00M/8.00M" in sys.stderr.getvalue()


def test_without_tqdm_there_are_lines_for_who_asked(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    save({"a": np.zeros(10**6)}, io.BytesIO(), arrays="numpy", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "save: 100 % of 8,000,000 bytes" and len(lines) <= 10


def test_other_settings_are_refused():
    with pytest.raises(TypeError, match="progress must be True, False, None or a function"):
        save({}, io.BytesIO(), format="stream", progress=3)
