"""`convert` of objects whose classes are not there."""

import numpy as np
import pytest
from torch.serialize import UnsafeGlobalError, convert, inspect, load, save

LAYERS = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]


def gone(tmp_path):
    """A file of an object whose class cannot be found any more, and the state that it has."""
    source = "class Net:\n    def __init__(self, **state): self.__dict__.update(state)\n"
    made: dict = {"__name__": __name__}
    exec(source, made)
    globals()["Net"] = made["Net"]
    state = {"table": np.arange(3.0), "rows": [np.ones(2)], "depth": 3}
    try:
        save(made["Net"](**state), tmp_path / "net.pt", arrays="numpy")
    finally:
        del globals()["Net"]
    return tmp_path / "net.pt"


@pytest.mark.parametrize("ending", ["safetensors", "npz"])
def test_a_saved_module_gives_its_tensors_without_its_classes(data, tmp_path, ending):
    target = tmp_path / f"module.{ending}"
    left_out = convert(data / "module.pt", target)
    assert "0.in_features" in left_out and "1.eps" in left_out
    out = load(target, arrays="numpy")
    assert (
        sorted(out) == sorted(LAYERS) and out["0.weight"].shape == (4, 3) and out["1.running_var"].tolist() == [1] * 4
    )
    assert [row.name for row in inspect(data / "module.pt")] == LAYERS


def test_an_object_gives_the_tensors_of_its_attributes(tmp_path):
    path = gone(tmp_path)
    with pytest.raises(AttributeError, match="Net"):
        load(path, arrays="numpy", weights_only=False)
    assert convert(path, tmp_path / "net.safetensors") == ["depth"]
    out = load(tmp_path / "net.safetensors", arrays="numpy")
    assert out["table"].tolist() == [0, 1, 2] and out["rows.0"].tolist() == [1, 1]
    assert convert(path, tmp_path / "sharded.safetensors", max_shard_size=30) == ["depth"]


def test_such_an_object_is_not_written_again_as_a_whole(data, tmp_path):
    with pytest.raises(UnsafeGlobalError, match=r"container.Sequential.*\.safetensors or .npz takes its tensors"):
        convert(data / "module.pt", tmp_path / "again.pt")
    assert not (tmp_path / "again.pt").exists()
