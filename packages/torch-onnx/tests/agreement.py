"""A model beside what onnxruntime makes of its file."""

import numpy
import onnxruntime
import torch
from torch import _pytree as pytree


def run(proto, *args):
    """The outputs of a model of ONNX for the tensors in the arguments."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    tensors = [x for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)]
    names = [i.name for i in proto.graph.input]
    wanted = {i.name for i in session.get_inputs()}
    feed = {name: x.detach().numpy() for name, x in zip(names, tensors, strict=True) if name in wanted}
    return session.run(None, feed)


def agree(model, *args, others=(), tolerance=1e-5, **options):
    """Export, run, and compare: for the example, and for other arguments."""
    program = torch.onnx.export(model, args, **options)
    if isinstance(model, torch.nn.Module):
        model.eval()
    for given in (args, *others):
        with torch.no_grad():
            wanted = [x for x in pytree.tree_leaves(model(*given)) if x is not None]
        found = run(program.model_proto, *given)
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            y = y.numpy() if isinstance(y, torch.Tensor) else numpy.asarray(y)
            assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, y.shape, x.dtype, y.dtype)
            numpy.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    return program.model_proto
