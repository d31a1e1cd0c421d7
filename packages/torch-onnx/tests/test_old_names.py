import pytest
import torch


def test_export_as_text():
    assert "Relu" in torch.onnx.export_to_pretty_string(torch.nn.ReLU(), (torch.ones(2),), google_printer=True)


def test_a_block_in_training_ends_as_it_began():
    net = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval())
    with torch.onnx.set_training(net, True):
        assert net[0].training and net[1].training
    assert net[0].training and not net[1].training


def test_what_2018_had_for_operators_of_ones_own_says_what_to_use():
    for name in ("symbolic_override", "symbolic_override_first_arg_based", "symbolic_override_packed_sequence_based"):
        with pytest.raises(NotImplementedError, match="register_custom_op_symbolic"):
            getattr(torch.onnx, name)(len)
    assert torch.onnx.ExportTypes.PROTOBUF_FILE == 1
