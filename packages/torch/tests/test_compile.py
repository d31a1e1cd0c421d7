"""``torch.compile`` and ``torch.jit`` over whole modules."""

import copy
import io

import pytest
import torch
import torch._dynamo
import torch._dynamo.config
from torch import nn, optim


def test_a_compiled_module_trains_the_module_that_it_wraps():
    torch.manual_seed(0)  # not all units are dead
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    compiled = torch.compile(net)
    assert type(compiled) is torch._dynamo.OptimizedModule and compiled._orig_mod is net
    sgd = optim.SGD(compiled.parameters(), lr=0.1)
    before = net[0].weight.clone()
    compiled(torch.ones(2, 3)).sum().backward()
    sgd.step()
    assert not torch.equal(before, net[0].weight)
    assert compiled.eval() is compiled and not net.training and len(compiled) == 3 and compiled[2] is net[2]


def test_its_state_has_the_prefix_that_programs_strip():
    net = nn.Linear(2, 1)
    compiled = torch.compile(net)
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    file = io.BytesIO()
    torch.save(compiled.state_dict(), file)
    file.seek(0)
    compiled.load_state_dict(torch.load(file))
    assert torch.equal(copy.deepcopy(compiled)(torch.ones(1, 2)), net(torch.ones(1, 2)))
    compiled.note = "on the module"
    assert net.note == "on the module" and compiled.note == "on the module"


def test_script_modules_are_modules():
    class Twice(torch.jit.ScriptModule):
        __constants__ = ["n"]

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        @torch.jit.script_method
        def forward(self, x):
            return self.linear(self.linear(x))

    assert Twice()(torch.ones(1, 2)).shape == (1, 2)
    linear = torch.jit.script(nn.Linear(2, 2).eval())
    assert isinstance(linear, torch.jit.ScriptModule) and isinstance(linear, nn.Module)
    assert torch.jit.freeze(linear).training is False


def test_lazy_properties_of_distributions_are_part_of_the_program():
    @torch.compile(fullgraph=True)
    def entropy(logits):
        chosen = torch.distributions.Categorical(logits=logits, validate_args=False)
        return chosen.entropy(), chosen.probs.argmax(-1)

    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]], requires_grad=True)
    found, best = entropy(logits)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    expected = torch.distributions.Categorical(logits=logits).entropy()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), logits)[0])
    assert best.tolist() == [2, 0]


D = torch.distributions
FAMILIES = {
    "normal": lambda p: D.Normal(p, p.exp()).log_prob(p),
    "samples": lambda p: D.Normal(p, 1.0).rsample() + D.Categorical(logits=p).sample().unsqueeze(1),
    "categorical": lambda p: D.Categorical(logits=p).entropy() + D.Categorical(probs=p.softmax(-1)).log_prob(p.argmax(1)),
    "bernoulli": lambda p: D.Bernoulli(probs=p.sigmoid()).log_prob((p > 0).float()),
    "beta": lambda p: D.Beta(p.exp(), p.exp()).rsample(),
    "independent": lambda p: D.Independent(D.Normal(p, 1.0), 1).log_prob(p),
    "matrix": lambda p: D.MultivariateNormal(p, torch.eye(3)).log_prob(p),
    "divergence": lambda p: D.kl_divergence(D.Normal(p, 1.0), D.Normal(0 * p, 2.0)),
    "mixture": lambda p: D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(p, 1.0)).log_prob(p[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_distributions_are_captured_whole_and_refuse_what_they_refused(name):
    function, p = FAMILIES[name], torch.randn(3, 3)
    compiled = torch.compile(function, fullgraph=True)
    for seed in range(2):
        torch.manual_seed(seed)
        wanted = function(p)
        torch.manual_seed(seed)
        torch.testing.assert_close(compiled(p), wanted)
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        compiled(torch.full((3, 3), torch.nan))


LAYERS = {
    "attention": lambda x: nn.functional.scaled_dot_product_attention(x, x, x),
    "encoder": nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
    "lstm": lambda x, layer=nn.LSTM(8, 8, batch_first=True): layer(x)[0],
    "gru": lambda x, layer=nn.GRU(8, 8, batch_first=True): layer(x)[0],
    "cosine": lambda x: nn.functional.cosine_similarity(x @ x.mT, x @ x.mT),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_are_composed_are_captured_whole_under_autocast(name):
    layer, x = LAYERS[name], torch.randn(2, 4, 8)
    compiled = torch.compile(layer, fullgraph=True)
    for enabled in (True, False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            wanted, found = layer(x), compiled(x)
            assert found.dtype == wanted.dtype
            torch.testing.assert_close(found, wanted)
