"""Programs that are traced, scripted, transformed, exported, profiled and pruned. Type checkers must find nothing here."""

import torch
import torch.backends.cudnn as cudnn
import torch.fx
import torch.hub
import torch.nn.utils.prune as prune
from torch import Tensor, nn
from torch.export import export
from torch.futures import Future
from torch.fx import GraphModule, Interpreter, Node, Transformer, symbolic_trace
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

cudnn.benchmark = True
cudnn.deterministic = False
torch.backends.cuda.matmul.allow_tf32 = True


@torch.jit.script
def doubled(x: Tensor, times: int) -> Tensor:
    for _ in range(times):
        x = x + x
    return x


result: Tensor = doubled(torch.ones(2), 3)
text: str = doubled.code
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
scripted = torch.jit.script(net)
scripted.save("net.pt")
out: Tensor = scripted(torch.ones(1, 2))
traced = torch.jit.trace(net, torch.ones(1, 2))
loaded = torch.jit.load("net.pt", map_location="cpu")
frozen = torch.jit.freeze(scripted.eval())
print(traced.graph, loaded.code, frozen(torch.ones(1, 2)).shape)
waiting: Future[Tensor] = torch.jit.fork(torch.relu, torch.ones(2))
print(torch.jit.wait(waiting).shape, torch.jit.is_scripting())


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.by = 2.0

    @torch.jit.export
    def halves(self, x: Tensor) -> Tensor:
        return x / self.by

    @torch.jit.ignore
    def told(self, x: Tensor) -> None:
        print(x.shape)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


class Doubles(Transformer):
    def call_function(self, target: torch.fx.node.Target, args: tuple[torch.fx.node.Argument, ...], kwargs: dict[str, torch.fx.node.Argument]) -> Tensor:  # fmt: skip
        value: Tensor = super().call_function(target, args, kwargs)
        return value * 2


class Shapes(Interpreter):
    def run_node(self, n: Node) -> object:
        value = super().run_node(n)
        n.meta["shape"] = getattr(value, "shape", None)
        return value


graph: GraphModule = symbolic_trace(Scaled())
for node in graph.graph.nodes:
    if node.op == "call_function" and node.target is torch.mul:
        with graph.graph.inserting_after(node):
            new = graph.graph.call_function(torch.relu, args=(node,))
            node.replace_all_uses_with(new)
        graph.graph.erase_node(node)
graph.graph.lint()
graph.recompile()
print(graph.code, len(graph.graph.nodes), Shapes(graph).run(torch.ones(2)), Doubles(graph).transform().graph)


def backend(module: GraphModule, examples: list[Tensor]) -> object:
    module.graph.print_tabular()
    return module.forward


compiled = torch.compile(net, backend=backend, dynamic=True)
print(compiled(torch.ones(1, 2)).shape, torch.compiler.is_compiling())
program = export(net, (torch.ones(1, 2),))
print(program.module()(torch.ones(1, 2)).shape, program.graph_signature)

with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2),
    on_trace_ready=tensorboard_trace_handler("runs"),
    record_shapes=True,
) as prof:
    for _ in range(4):
        with record_function("step"):
            net(torch.ones(1, 2))
        prof.step()
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=5))

prune.global_unstructured([(net[0], "weight")], pruning_method=prune.L1Unstructured, amount=0.2)
prune.remove(net[0], "weight")
with torch.device("meta"):
    skeleton = nn.Linear(2, 2)
optimizer = torch.optim.LBFGS(net.parameters(), history_size=5)


def closure() -> Tensor:
    optimizer.zero_grad()
    loss: Tensor = net(torch.ones(1, 2)).sum()
    loss.backward()
    return loss


optimizer.step(closure)


@torch.library.custom_op("doc::halved", mutates_args=())
def halved(x: Tensor) -> Tensor:
    return x / 2


@halved.register_fake
def halved_fake(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Meters(Tensor):
    def told(self) -> str:
        return f"{self.sum().item()} m"


length: str = torch.ones(2).as_subclass(Meters).told()
for parameter in net.parameters():
    parameter.register_post_accumulate_grad_hook(lambda p: p.grad.zero_())
storage = torch.FloatStorage([1.0, 2.0])
print(storage.data_ptr(), storage.double().tolist(), torch.float32.to_complex())
