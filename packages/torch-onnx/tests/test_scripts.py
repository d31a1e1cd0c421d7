"""Scripts keep their branches and loops: If and Loop run by onnxruntime."""

import numpy
import pytest
import torch
from agreement import run
from scripts import Branch, Growing, Lists, Prints, Rows, Turns
from torch.onnx.errors import SymbolicValueError


def agrees(module, args, others, **options):
    torch.manual_seed(0)
    script = torch.jit.script(module.eval())
    proto = torch.onnx.export(script, args, **options).model_proto
    for given in (args, *others):
        wanted = module(*given)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        found = run(proto, *given)
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            y = y.detach().numpy() if isinstance(y, torch.Tensor) else numpy.asarray(y)
            assert x.shape == y.shape
            numpy.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
    return [node.op_type for node in proto.graph.node]


def test_a_branch_on_values():
    x = torch.ones(4, 3)
    assert "If" in agrees(Branch(), (x,), [(-x,), (torch.randn(4, 3),)])
    agrees(Branch(), (x,), [(-torch.ones(7, 3),)], dynamic_axes={"x": {0: "n"}})


def test_loops_with_a_count_and_until_something_holds():
    kinds = agrees(Turns(), (torch.randn(2, 3), 2), [(torch.randn(2, 3) * 50, 2), (torch.zeros(2, 3), 2)])
    assert kinds.count("Loop") == 2


def test_a_loop_over_a_size_that_may_change():
    axes = {"x": {0: "time", 1: "batch"}}
    kinds = agrees(
        Rows(), (torch.randn(3, 2, 4),), [(torch.randn(7, 5, 4),), (torch.randn(1, 1, 4),)], dynamic_axes=axes
    )
    assert "Loop" in kinds


def test_a_tensor_may_grow_in_a_loop():
    agrees(Growing(), (torch.randn(2, 3),), [(torch.randn(5, 3),)], dynamic_axes={"x": {0: "n"}})


@pytest.mark.parametrize(
    "module, text", [(Lists(), "scripts.py:.*aten::Int of a tensor"), (Prints(), "scripts.py:.*prim::Print")]
)
def test_what_a_script_does_and_onnx_cannot_say(module, text):
    with pytest.raises(SymbolicValueError, match=text):
        torch.onnx.export(torch.jit.script(module), (torch.ones(2),))


def test_arguments_of_scripts():
    script = torch.jit.script(Branch())
    with pytest.raises(NotImplementedError, match="by position"):
        torch.onnx.export(script, (), kwargs={"x": torch.ones(1, 3)})
    with pytest.raises(NotImplementedError, match="by dynamic_axes"):
        torch.onnx.export(script, (torch.ones(1, 3),), dynamic_shapes=({},))


@pytest.mark.parametrize(
    "resize",
    [
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2),
        lambda x: torch.nn.functional.interpolate(x, size=(5, 3), mode="nearest-exact"),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=0.5, mode="area"),
        lambda x: torch.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda x: torch.nn.functional.interpolate(x, size=(9, 5), mode="bicubic", align_corners=True),
        lambda x: torch.nn.functional.interpolate(x[0], size=7, mode="linear"),
        lambda x: torch.nn.functional.interpolate(x, size=(3, 9), mode="bicubic", antialias=True),
        lambda x: torch.nn.functional.interpolate(x[..., :2], size=(x.shape[2] * 2, x.shape[3])),
    ],
)
def test_traces_that_resize_images_are_written_for_the_sizes_of_the_example(resize):
    class Resize(torch.nn.Module):
        def forward(self, x):
            return resize(x) + 1

    x = torch.rand(1, 2, 6, 4)
    proto = torch.onnx.export(torch.jit.trace(Resize(), x), (x,)).model_proto
    (found,) = run(proto, x)
    numpy.testing.assert_allclose(found, Resize()(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("compiled", [torch.jit.trace, lambda module, x: torch.jit.script(module)])
def test_traces_and_scripts_resize_images_to_sizes_that_change(compiled):
    class Skips(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.down = torch.nn.Conv2d(2, 2, 3, stride=2, padding=1)

        def forward(self, x):
            up = torch.nn.functional.interpolate(self.down(x), size=x.shape[2:], mode="bilinear")
            return torch.nn.functional.interpolate(up + x, scale_factor=2.0, mode="bicubic", align_corners=True)

    model, x = Skips(), torch.rand(1, 2, 6, 8)
    axes = {"x": {2: "height", 3: "width"}}
    proto = torch.onnx.export(compiled(model, x), (x,), input_names=["x"], dynamic_axes=axes).model_proto
    for size in ((6, 8), (7, 9)):
        x = torch.rand(1, 2, *size)
        (found,) = run(proto, x)
        numpy.testing.assert_allclose(found, model(x).detach().numpy(), rtol=1e-5, atol=1e-5)
