"""Functions of torch.nn.functional whose texts, flags and optional arguments only the run tells are parts of programs."""

import io

import pytest
import torch
import torch.nn.functional as F

X, Y = torch.linspace(-2, 2, 12).reshape(3, 4), torch.linspace(0.1, 0.9, 12).reshape(3, 4)
IMAGE = torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4)
GRID = torch.linspace(-1.2, 1.2, 18).reshape(1, 3, 3, 2)
VOLUME, PLACES = IMAGE.reshape(1, 1, 2, 4, 4), torch.linspace(-1.2, 1.2, 24).reshape(1, 2, 2, 2, 3)
STEPS = torch.linspace(-1, 1, 48).reshape(6, 2, 4).log_softmax(2)
ROWS = torch.tensor([0, 2, 1, 1])
WIDTH = 4
QUERY, KEY = torch.linspace(-1, 1, 40).reshape(5, 2, WIDTH), torch.linspace(0, 1, 48).reshape(6, 2, WIDTH)


def attended(**given):
    """The arguments of attention, by place."""
    square = torch.linspace(-1, 1, WIDTH**2).reshape(WIDTH, WIDTH)
    arguments = {
        "query": QUERY, "key": KEY, "value": KEY, "embed_dim_to_check": WIDTH, "num_heads": 2,
        "in_proj_weight": torch.cat([square, square.sin(), square.cos()]), "in_proj_bias": torch.linspace(-1, 1, 3 * WIDTH), "bias_k": None,
        "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": square, "out_proj_bias": None, "training": True,
        "key_padding_mask": None, "need_weights": True, "attn_mask": None, "use_separate_proj_weight": False, "q_proj_weight": None,
        "k_proj_weight": None, "v_proj_weight": None, "static_k": None, "static_v": None, "average_attn_weights": True, "is_causal": False,
    }  # fmt: skip
    assert given.keys() <= arguments.keys()
    return tuple({**arguments, **given}.values())


ONE = torch.linspace(0, 1, WIDTH).reshape(1, 1, WIDTH)
SEPARATE = dict.fromkeys(("q_proj_weight", "k_proj_weight", "v_proj_weight"), torch.eye(WIDTH) + 0.1)
CALLS = {
    "ctc_loss": [
        *((STEPS, torch.tensor([[1, 2], [2, 3]]), torch.tensor([6, 5]), torch.tensor([2, 1]), 0, how, False) for how in ("mean", "sum", "none")),
        (STEPS, torch.tensor([1, 2, 2]), torch.tensor([6, 5]), torch.tensor([2, 1]), 0, "none", False),
        (STEPS, torch.tensor([[1, 2], [2, 3]]), torch.tensor([6, 1]), torch.tensor([0, 2]), 3, "none", True),
        (STEPS, torch.tensor([[1, 2], [2, 3]]), torch.tensor([0, 0]), torch.tensor([0, 2]), 0, "none", False),
        (STEPS[:, 0], torch.tensor([1, 2]), torch.tensor(6), torch.tensor(2), 0, "sum", False),
    ],
    "poisson_nll_loss": [
        *((X, Y * 3, log, full, None, 1e-8, None, how) for log, full, how in [(True, True, "none"), (False, False, "sum"), (True, False, "mean")]),
        (X, Y, True, False, False, 1e-8, None, "mean"), (X, Y, True, False, None, 1e-8, False, "mean"),
    ],
    "binary_cross_entropy_with_logits": [(X, Y, None, None, None, "mean", None), (X, Y, Y + 1, None, None, "sum", Y * 2), (X, Y, None, None, None, "none", Y)],
    "grid_sample": [
        *((IMAGE, GRID, mode, edge, corners) for mode in ("bilinear", "nearest", "bicubic") for edge in ("zeros", "border", "reflection") for corners in (True, None)),
        *((VOLUME, PLACES, mode, "reflection", False) for mode in ("bilinear", "nearest")),
    ],
    "embedding": [(ROWS, X, None, None, 2.0, False, False), (ROWS, X, -1, None, 2.0, True, False), (ROWS, X.clone(), None, 1.0, 2.0, False, False)],
    "embedding_bag": [
        *((ROWS, X, torch.tensor([0, 3]), None, 2.0, False, mode, False, None, False, skipped) for mode in ("sum", "mean", "max") for skipped in (None, 1)),
        (ROWS.reshape(2, 2), X, None, None, 2.0, False, "sum", False, Y[:2, :2], False, None), (ROWS, X, torch.tensor([0, 1, 4]), None, 2.0, False, "mean", False, None, True, None),
    ],
    "multi_head_attention_forward": [
        attended(), attended(in_proj_bias=None), attended(need_weights=False), attended(add_zero_attn=True), attended(bias_k=ONE, bias_v=ONE),
        attended(attn_mask=torch.linspace(-1, 1, 30).reshape(5, 6)), attended(key_padding_mask=torch.tensor([[False] * 5 + [True]] * 2)),
        attended(average_attn_weights=False), attended(use_separate_proj_weight=True, in_proj_weight=None, **SEPARATE),
        attended(use_separate_proj_weight=True, in_proj_weight=None, in_proj_bias=None, **SEPARATE),
    ],
    "pad": [(IMAGE, [1, 2, 0, 0], mode, None) for mode in ("constant", "reflect", "replicate", "circular")] + [(IMAGE, [0, 0, 0, 0], "replicate", None), (IMAGE, [1, 1], "constant", 2.0)],
    "interpolate": [
        *((IMAGE, [5, 3], None, mode, None, None, False) for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")),
        *((IMAGE, None, [1.7, 0.6], mode, None, again, False) for mode in ("nearest", "area", "bilinear") for again in (None, True)),
        (IMAGE, [3, 3], None, "bicubic", True, None, False), (IMAGE, [3, 3], None, "bilinear", False, None, True), (IMAGE, None, [0.5, 0.5], "bicubic", None, None, True),
        (IMAGE[0], [7], None, "linear", None, None, False), (IMAGE[0], None, [2.0], "nearest", None, None, False), (VOLUME, [3, 3, 3], None, "trilinear", True, None, False),
        (VOLUME, None, [2.0, 1.0, 0.5], "nearest-exact", None, None, False), (VOLUME, [2, 3, 1], None, "area", None, None, False),
    ],
}  # fmt: skip


def written(compiled):
    """A program that was written to an archive and read again."""
    file = io.BytesIO()
    compiled.save(file)
    return torch.jit.load(io.BytesIO(file.getvalue()))


def calls_python(program):
    return program.graph.findAllNodes("prim::PythonOp")


def is_close(found, expected):
    if expected is None:
        return found is None
    return torch.allclose(found, expected, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_one_program_for_all_that_it_may_be_asked_for(name):
    fn = getattr(F, name)
    compiled = torch.jit.script(fn)
    read = written(compiled)
    assert not calls_python(compiled) and not calls_python(read.forward)
    for args in CALLS[name]:
        expected = fn(*args)
        for program in (compiled, read):
            found = program(*args)
            several = isinstance(expected, tuple)
            pairs = zip(found, expected, strict=True) if several else [(found, expected)]
            assert all(is_close(*pair) for pair in pairs), args[1:]


@pytest.mark.parametrize("name", ["ctc_loss", "grid_sample", "interpolate", "poisson_nll_loss"])
def test_their_programs_have_gradients(name):
    compiled = torch.jit.script(getattr(F, name))
    for args in CALLS[name][:4]:
        gradients = []
        for fn in (getattr(F, name), compiled):
            x = args[0].clone().requires_grad_()
            fn(x, *args[1:]).sum().backward()
            gradients.append(x.grad)
        assert torch.allclose(*gradients, atol=1e-5)


@pytest.mark.parametrize(
    "args, message",
    [
        ((IMAGE, None, None, "nearest", None, None, False), "either size or scale_factor"),
        ((IMAGE, [2, 2], [2.0, 2.0], "nearest", None, None, False), "either size or scale_factor"),
        ((IMAGE, [2, 2], None, "nearest", True, None, False), "align_corners is for"),
        ((IMAGE, [2, 2], None, "linear", None, None, False), "no mode 'linear' for an input of 4 dims"),
        ((IMAGE, [2, 2], None, "nearby", None, None, False), "no mode 'nearby'"),
        ((IMAGE, [2], None, "area", None, None, False), "size must have 2 entries"),
        ((IMAGE, None, [2.0], "area", None, None, False), "scale_factor must have 2 entries"),
        ((IMAGE, [2, 2], None, "bilinear", None, True, False), "not meaningful with an explicit size"),
        ((IMAGE, [2, 2], None, "nearest", None, None, True), "antialias is for"),
        ((X, [2], None, "nearest", None, None, False), "must have 3, 4 or 5 dims"),
    ],
)
def test_what_resizing_does_not_take_is_refused_when_it_runs(args, message):
    with pytest.raises(torch.jit.Error, match=message):
        torch.jit.script(F.interpolate)(*args)


class Resizes(torch.nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.how = torch.nn.Upsample(**how)

    def forward(self, x):
        return self.how(x)


@pytest.mark.parametrize(
    "how, kind",
    [
        ({"scale_factor": 2}, "aten::upsample_nearest2d"),
        ({"size": (3, 5), "mode": "nearest-exact"}, "aten::_upsample_nearest_exact2d"),
        ({"scale_factor": (1.5, 2), "mode": "bilinear"}, "aten::upsample_bilinear2d"),
        ({"scale_factor": 1.5, "mode": "bicubic", "recompute_scale_factor": True}, "aten::upsample_bicubic2d"),
    ],
)
def test_layers_that_resize_are_operators(how, kind):
    layer = Resizes(**how)
    compiled = torch.jit.script(layer)
    assert compiled.inlined_graph.findAllNodes(kind)
    for program in (compiled, written(compiled)):
        assert torch.allclose(program(IMAGE), layer(IMAGE), atol=1e-5)


def resized_to(x, height: int, width: int):
    return F.interpolate(x, size=(height, width), mode="bilinear", antialias=True)


def resized_by(x, factor: float):
    return F.interpolate(x, scale_factor=factor)


def resized(x, size: int | None, factor: float | None):
    return F.interpolate(x, size, factor)


def test_sizes_and_factors_of_the_run_resize():
    assert torch.allclose(torch.jit.script(resized_to)(IMAGE, 2, 3), resized_to(IMAGE, 2, 3), atol=1e-6)
    for image in (IMAGE[0], IMAGE, VOLUME):
        assert torch.equal(torch.jit.script(resized_by)(image, 1.5), resized_by(image, 1.5))
        for args in ((3, None), (None, 1.5)):
            assert torch.equal(written(torch.jit.script(resized))(image, *args), resized(image, *args))


@pytest.mark.parametrize("fn", [F.sigmoid, F.tanh])
def test_functions_that_are_operators_are_compiled_by_themselves(fn):
    compiled = torch.jit.script(fn)
    assert torch.equal(compiled(X), fn(X)) and torch.equal(written(compiled)(X), fn(X))
    assert compiled.name == fn.__name__


def test_other_operators_are_no_functions_to_compile():
    with pytest.raises(TypeError, match="expected a function, class or module, got Operator"):
        torch.jit.script(torch.relu)
