"""Folders of images, decoded late."""

import sys
import zlib
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader
from torch.utils.data.datasets import BrokenFile, ImageFolder, pillow_image

Image = pytest.importorskip("PIL.Image")

COLORS = {"green": (0, 255, 0), "blue": (0, 0, 255), "red": (255, 0, 0)}


@pytest.fixture
def root(tmp_path):
    for name, color in COLORS.items():
        (tmp_path / name).mkdir()
        for i in range(3):
            Image.new("RGB", (4, 2), color).save(tmp_path / name / f"{i}.PNG")
        (tmp_path / name / "notes.txt").write_text("no image")
    deep = tmp_path / "red" / "more"
    deep.mkdir()
    image = Image.new("RGB", (4, 2), COLORS["red"])
    image.putpixel((3, 1), (1, 2, 3))
    image.save(deep / "a.png")
    return tmp_path


def test_samples_are_sorted_by_class_and_path(root):
    data = ImageFolder(root)
    assert data.classes == ["blue", "green", "red"]
    assert data.class_to_idx == {"blue": 0, "green": 1, "red": 2}
    assert data.targets == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert [path.removeprefix(str(root)) for path, _ in data.samples][-2:] == ["/red/2.PNG", "/red/more/a.png"]
    image, label = data[9]
    assert label == 2
    assert image.shape == (3, 2, 4)
    assert image.dtype == torch.uint8
    assert image[:, 1, 3].tolist() == [1, 2, 3]
    assert image[:, 0, 3].tolist() == [255, 0, 0]


def test_images_are_batched_by_a_loader(root):
    images, labels = next(iter(DataLoader(ImageFolder(root), batch_size=10)))
    assert images.shape == (10, 3, 2, 4)
    assert images[labels == 0].flatten(2).amax(2).tolist() == [[0, 0, 255]] * 3


def test_gray_and_transparent_images_come_in_three_channels(root):
    Image.new("L", (4, 2), 7).save(root / "blue" / "gray.png")
    Image.new("RGBA", (4, 2), (1, 2, 3, 4)).save(root / "blue" / "haze.png")
    data = ImageFolder(root)
    assert data[3][0][:, 0, 0].tolist() == [7, 7, 7]
    assert data[4][0][:, 0, 0].tolist() == [1, 2, 3]


def test_transforms_take_what_the_loader_gives(root):
    data = ImageFolder(root, transform=lambda image: image.size, target_transform=str, loader=pillow_image)
    assert data[0] == ((4, 2), "0")
    assert ImageFolder(root, loader=len)[0][0] == len(str(root / "blue" / "0.PNG"))


def test_nothing_is_decoded_before_it_is_asked_for(root):
    asked = []
    data = ImageFolder(root, loader=asked.append)
    assert len(data) == 10
    assert asked == []
    data[1]
    assert len(asked) == 1


def test_the_user_decides_what_is_an_image(root):
    data = ImageFolder(
        root, is_valid_file=lambda path: path.endswith(".txt"), loader=lambda path: Path(path).read_text()
    )
    assert len(data) == 3
    assert data[0] == ("no image", 0)
    with pytest.raises(FileNotFoundError, match="is_valid_file accepts none"):
        ImageFolder(root, is_valid_file=lambda path: False)


def test_folders_without_images_are_named(root, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder /nowhere"):
        ImageFolder("/nowhere")
    (root / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"class 'empty' has no images in .*\.png.*allow_empty=True"):
        ImageFolder(root)
    assert ImageFolder(root, allow_empty=True).classes == ["blue", "empty", "green", "red"]
    with pytest.raises(FileNotFoundError, match="holds no folders"):
        ImageFolder(root / "empty")


def test_links_that_go_in_circles_end(root):
    (root / "blue" / "again").symlink_to(root / "blue")
    assert len(ImageFolder(root)) == 10


def damaged(root):
    whole = (root / "green" / "0.PNG").read_bytes()
    at = whole.index(b"IDAT") + 10
    yield "cut", whole[:at]
    yield "flipped", whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]
    yield "no image at all", b"GIF89a" + bytes(50)
    yield "empty", b""
    header = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0"
    bomb = b"\0\0\0\x0d" + header + zlib.crc32(header).to_bytes(4, "big")
    yield "bomb", whole[:8] + bomb + whole[33:]


def test_broken_images_are_named(root):
    path = root / "green" / "0.PNG"
    for what, content in damaged(root):
        path.write_bytes(content)
        with pytest.raises(BrokenFile, match="no image that Pillow can read|are an attack") as error:
            ImageFolder(root)[3]
        assert error.value.path == path, what
        assert ("are an attack" in str(error.value)) == (what == "bomb")


def test_check_loads_every_image(root):
    (root / "green" / "0.PNG").write_bytes(b"")
    (root / "red" / "more" / "a.png").write_bytes(b"x")
    data = ImageFolder(root)
    found = data.check()
    assert set(found.problems) == {root / "green" / "0.PNG", root / "red" / "more" / "a.png"}
    assert found.problems[root / "green" / "0.PNG"] == "empty"
    (root / "green" / "0.PNG").unlink()
    (root / "red" / "more" / "a.png").unlink()
    assert ImageFolder(root).check()


def test_without_pillow_the_error_says_what_to_install(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pillow, or give a loader="):
        ImageFolder(root)[0]
