import collections
import gc
import math
import subprocess
import sys
import threading
import weakref

import pytest
import torch
from torch.autograd.graph import get_gradient_edge, register_multi_grad_hook, saved_tensors_hooks


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_a_tensor_hook_sees_and_replaces_the_gradient():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1, 1], [10, 10]] and x.grad.tolist() == [30, 30]


def test_a_leafs_hook_sees_the_whole_gradient_once():
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * x + x).sum().backward()
    assert seen == [5]


def test_a_removed_hook_is_not_called():
    x, seen = leaf(1.0), []
    handle = x.register_hook(lambda g: seen.append(1))
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: seen.append(2)):
        pass
    x.sum().backward()
    assert not seen


def test_a_hook_must_return_a_tensor_or_none():
    x = leaf(1.0)
    x.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="must return None or a Tensor, got int"):
        x.sum().backward()


def test_what_a_hook_of_accumulated_gradients_gives_back_changes_nothing():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda p: p.data.sub_(p.grad))
    (2 * x).sum().backward()
    assert x.tolist() == [-1.0] and x.grad.tolist() == [2.0]
    x.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(TypeError, match="must return None .* got int"):
        x.sum().backward()


def test_asarray_keeps_the_history_unless_it_is_told_not_to():
    result = leaf(1.0) + 1
    assert torch.asarray(result) is result and torch.asarray(result, requires_grad=True) is result
    bare = torch.asarray(result, requires_grad=False)
    assert not bare.requires_grad and bare.data_ptr() == result.data_ptr()
    assert torch.asarray(result.detach(), requires_grad=True).requires_grad
    assert torch.asarray(result, dtype=torch.float64, requires_grad=False).grad_fn is None


def test_hooks_need_a_gradient():
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(print)


def test_retained_gradients_of_results():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not x.retains_grad
    (y * y).sum().backward()
    assert y.grad.item() == 4


def test_the_gradient_of_a_result_is_not_kept_and_says_so():
    y = leaf(1.0) * 2
    y.sum().backward()
    with pytest.warns(
        UserWarning, match=r"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
    ):
        assert y.grad is None


def test_node_hooks():
    x = leaf(3.0)
    y = x * 2
    order = []
    y.grad_fn.register_prehook(lambda out: order.append(("pre", out[0].item())))
    y.grad_fn.register_hook(lambda into, out: order.append(("post", into[0].item(), out[0].item())))
    y.sum().backward()
    assert order == [("pre", 1), ("post", 2, 1)]


def test_post_accumulate_hook_gets_the_leaf():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [(True, 2), (True, 5)]


def test_hooks_of_a_leaf_run_around_what_is_added_to_its_gradient():
    x, order = leaf(1.0), []
    node = get_gradient_edge(x).node
    node.register_hook(lambda into, out: order.append(("post", x.grad.item())))
    x.register_post_accumulate_grad_hook(lambda t: order.append(("accumulated", t.grad.item())))
    node.register_prehook(lambda out: order.append(("pre", x.grad)))
    x.register_hook(lambda g: order.append(("hook", x.grad)))
    (x * 2).sum().backward()
    assert order == [("hook", None), ("pre", None), ("accumulated", 2), ("post", 2)]


def test_numbers_of_hooks_begin_at_0():
    program = "import torch; x = torch.ones(1, requires_grad=True); x.register_hook(abs); print(*x._backward_hooks)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "0\n"


def test_multi_grad_hook_waits_for_all():
    x, w, seen = leaf(1.0), leaf(2.0), []
    register_multi_grad_hook((x, w), lambda grads: seen.append([g.item() for g in grads]))
    (x * w).sum().backward()
    assert seen == [[2, 1]]


def test_multi_grad_hook_tells_each_pass_apart():
    x, w = leaf(1.0), leaf(2.0)
    y, unused = x * w, leaf(3.0)
    seen, first = [], []
    register_multi_grad_hook((x, w, unused), lambda grads: seen.append([g and g.item() for g in grads]))
    register_multi_grad_hook((x, w), lambda g: first.append(g.item()), mode="any")
    y.backward(retain_graph=True)
    (x * 5).backward()  # w has no part in this pass
    y.backward(inputs=[w], retain_graph=True)
    torch.autograd.grad(y, (x, w))
    assert seen == [[2, 1, None], [5, None, None], [None, 1, None], [2, 1, None]]
    assert len(first) == 4 and first[1:3] == [5, 1]


def test_multi_grad_hook_in_a_pass_within_a_pass():
    x, w, seen = leaf(1.0), leaf(2.0), []
    register_multi_grad_hook((x, w), lambda grads: seen.append([g and g.item() for g in grads]))
    y = x * w
    y.register_hook(torch.enable_grad()(lambda g: (x * w * 3).backward()))
    y.backward()
    assert seen == [[6, 3], [2, 1]]


def test_the_graph_can_be_walked():
    x = leaf(1.0)
    y = x.exp() * 2
    assert y.grad_fn.name() == "MulBackward0" and type(y.grad_fn).__name__ == "MulBackward0"
    assert y.grad_fn is y.grad_fn
    (exp, nr), (number, _) = y.grad_fn.next_functions
    assert exp.name() == "ExpBackward0" and nr == 0 and number is None
    accumulate = exp.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad" and accumulate.variable is x
    assert get_gradient_edge(x).node is accumulate
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")


def test_saved_tensors_are_packed_and_unpacked():
    x, log = leaf(2.0, 3.0), []

    def pack(t):
        log.append("pack")
        return t.tolist()

    def unpack(values):
        log.append("unpack")
        return torch.tensor(values)

    with saved_tensors_hooks(pack, unpack):
        y = x * x
    assert log == ["pack", "pack"]
    y.sum().backward()
    assert x.grad.tolist() == [4, 6] and log.count("unpack") == 2


def test_numbers_of_the_program_are_not_packed():
    x, seen = leaf(2.0, 3.0), []
    with saved_tensors_hooks(lambda t: (seen.append(t.tolist()), t)[1], lambda t: t):
        y = 3 * x / 2
        assert seen == []
        z = y**2
    assert seen == [[3.0, 4.5]]
    z.sum().backward()
    assert x.grad.tolist() == [9.0, 13.5]


def test_a_power_keeps_its_result_for_the_gradient_of_the_exponent_only():
    x, p, seen = leaf(2.0, 3.0), leaf(2.0, 0.0), []
    with saved_tensors_hooks(lambda t: (seen.append(t.tolist()), t)[1], lambda t: t):
        x ** p.detach()
        assert seen == [[2.0, 3.0], [2.0, 0.0]]
        seen.clear()
        y = x**p
    assert seen == [[2.0, 3.0], [2.0, 0.0], [4.0, 1.0]]
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 0.0]
    assert p.grad.tolist() == pytest.approx([4 * math.log(2), math.log(3)])


def test_anomaly_mode_names_the_function_and_shows_its_stack():
    x = leaf(-1.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x.sqrt()
        with pytest.warns(
            UserWarning, match=r"(?s)Error detected in SqrtBackward0.*Traceback of forward call.*x\.sqrt\(\)"
        ):
            with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
                y.sum().backward()
    assert not torch.autograd.is_anomaly_enabled()


class Weight(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def weight(value):
    w = torch.Tensor._make_subclass(Weight, torch.tensor([value]), True)
    w.name = "w"
    return w


def test_a_leaf_that_only_the_graph_holds_is_the_same_object_with_its_attributes():
    w = weight(3.0)
    address, ref = id(w), weakref.ref(w)
    y = w * 2
    del w
    gc.collect()
    again = y.grad_fn.next_functions[0][0].variable
    assert id(again) == address and type(again) is Weight and again.name == "w" and again.requires_grad
    y.sum().backward()
    assert again.grad.tolist() == [2]
    del again
    assert ref() is not None  # y's graph has it
    del y
    assert ref() is None


def test_a_plain_leaf_that_only_the_graph_holds_is_there_too():
    y = torch.ones(2, requires_grad=True) * 2
    leaf = y.grad_fn.next_functions[0][0].variable
    y.sum().backward()
    assert leaf.is_leaf and leaf.grad.tolist() == [2, 2]
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [5, 5]


def test_post_accumulate_hook_runs_for_a_leaf_that_only_the_graph_holds():
    seen = []
    w = weight(3.0)
    w.register_post_accumulate_grad_hook(lambda t: seen.append((type(t), t.name, t.grad.tolist())))
    y = (w * 2).sum()
    del w
    y.backward()
    assert seen == [(Weight, "w", [2.0])]


def test_a_gradient_keeps_its_attributes():
    w = weight(1.0)
    (w * 2).sum().backward()
    w.grad.note = "first"
    gc.collect()
    assert w.grad.note == "first"
    (w * 2).sum().backward()  # added in place: the same tensor
    assert w.grad.note == "first" and w.grad.tolist() == [4]


def test_a_saved_tensor_keeps_its_attributes():
    a, b = weight(2.0), weight(3.0)
    y, note = a * b, object()
    a.note = note
    ref = weakref.ref(a)
    del a
    gc.collect()
    assert ref().note is note
    y.sum().backward()
    assert b.grad.tolist() == [2] and ref().grad.tolist() == [3]
    del y
    assert ref() is None


def test_a_hook_that_refers_to_its_own_tensor_is_collected():
    def make(result):
        x = torch.ones(1, requires_grad=True)
        t = x * 2 if result else x
        t.register_hook(lambda g: t)
        return weakref.ref(t)

    for result in (False, True):
        ref = make(result)
        gc.collect()
        assert ref() is None


def test_the_collector_spares_hooks_and_attributes_of_a_leaf_that_a_graph_holds():
    seen = []

    def make():
        x = weight(1.0)
        x.me = x
        x.register_hook(lambda g: seen.append(x))
        return (x * 2).sum()

    y = make()
    gc.collect()
    y.backward()
    assert seen[0].me is seen[0] and seen[0].name == "w" and seen[0].grad.tolist() == [2]


def test_leaves_change_hands_in_many_threads():
    def work():
        for _ in range(200):
            w = weight(1.0)
            y = (w.expand(3) * 2).sum()
            node = y.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0]
            del w
            y.backward()
            if node.variable.name != "w" or node.variable.grad.tolist() != [6]:
                wrong.append(node.variable)
            del y

    wrong = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("made", [False, True])
def test_the_hooks_of_a_tensor_may_be_set_as_a_whole(made):
    leaf = torch.ones(2, requires_grad=True)
    x = leaf * 1 if made else leaf
    x._backward_hooks = None
    assert x._backward_hooks is None
    x.register_hook(lambda g: g * 100)
    x._backward_hooks = {0: lambda g: g * 3, 1: lambda g: g + 1}
    assert len(x._backward_hooks) == 2
    (x * 2).sum().backward(retain_graph=True)
    assert leaf.grad.tolist() == [7, 7]
    leaf.grad = None
    for nothing in (None, {}, collections.OrderedDict()):
        x._backward_hooks = nothing
        assert x._backward_hooks is None
    (x * 2).sum().backward()
    assert leaf.grad.tolist() == [2, 2]


def test_hooks_that_are_none_leave_those_that_are_there():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: g * 3)
    for bad in (5, [len], {0: "no function"}, {0: len, 1: None}):
        with pytest.raises(TypeError):
            x._backward_hooks = bad
    with pytest.raises(RuntimeError, match="cannot be deleted"):
        del x._backward_hooks
    x.sum().backward()
    assert x.grad.tolist() == [3, 3]
    plain = torch.ones(2)
    plain._backward_hooks = None
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        plain._backward_hooks = {0: len}


def test_what_a_hook_queues_runs_when_the_pass_has_all_gradients():
    engine, seen = torch.autograd.Variable._execution_engine, []
    x, y = leaf(1.0), leaf(2.0)

    def last():
        seen.append(("last", torch._C._current_graph_task_id()))

    def at_end():
        seen.append((x.grad.item(), y.grad.item()))
        engine.queue_callback(last)

    product = x * y
    product.register_hook(lambda g: engine.queue_callback(at_end))
    assert torch._C._current_graph_task_id() == -1
    product.backward()
    assert seen[0] == (2, 1) and seen[1][0] == "last" and seen[1][1] > 0
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        engine.queue_callback(last)
    with pytest.raises(TypeError, match="expected a function, got int"):
        engine.queue_callback(3)


def test_an_error_of_what_was_queued_is_that_of_the_pass_and_an_error_of_the_pass_drops_it():
    engine, seen = torch.autograd.Variable._execution_engine, []

    def fail(g=None):
        raise KeyError("mine")

    x = leaf(1.0)
    y = 2 * x
    y.register_hook(lambda g: engine.queue_callback(fail))
    with pytest.raises(KeyError, match="mine"):
        y.backward()
    z = 3 * x
    z.register_hook(lambda g: engine.queue_callback(lambda: seen.append(1)))
    x.register_hook(fail)
    with pytest.raises(KeyError, match="mine"):
        z.backward()
    assert seen == [] and torch._C._current_graph_task_id() == -1


def test_the_node_that_runs_is_known_while_it_unpacks_what_it_saved():
    seen = []
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: t, lambda t: seen.append(torch._C._current_autograd_node()) or t):
        y = x.exp()
    assert torch._C._current_autograd_node() is None
    y.backward()
    assert seen == [y.grad_fn]


def test_a_pass_for_chosen_inputs_is_no_place_for_a_pass_that_is_for_all():
    x, seen = leaf(1.0), []

    def look(g):
        seen.append(torch.autograd._is_checkpoint_valid())

    def run():
        y = 2 * x
        y.register_hook(look)
        return y

    def nested(g):
        with torch.enable_grad():
            run().backward()

    assert torch.autograd._is_checkpoint_valid()
    run().backward()
    torch.autograd.grad(run(), x)
    run().backward(inputs=[x])
    outer = 3 * x
    outer.register_hook(nested)
    torch.autograd.grad(outer, x)
    assert seen == [True, False, False, False] and torch.autograd._is_checkpoint_valid()
