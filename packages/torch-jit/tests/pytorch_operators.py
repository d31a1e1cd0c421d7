"""The operators that PyTorch's texts of programs may call: their parameters, by name.

pytorch_operators.json holds those of PyTorch 2.13: for each operator its overloads, each as ``type name`` of the parameters, with
``=`` where there is a default and after ``*`` by keyword only. To record them anew, run this file where that torch is
installed: ``python pytorch_operators.py > pytorch_operators.json``.
"""

import json
import re

import torch

# What programs do not call: kernels of other libraries, fused and functional forms, backward passes, checks.
LEFT_OUT = re.compile(
    r"_foreach|_fused|_?cudnn|_?mkldnn|miopen|quantized|_?sparse|fbgemm|_test|_nested|_mps|_cslt|_thnn|_nnpack|_transf|q_|_weight|"
    r"_assert|_make|_efficient|_flash|_scaled|_functional|sym_|qscheme|_amp|_use|_fw|quantize|dequant|fake_q|int_repr|"
    r"lift|_validate|_embedding_bag|_resize|_reshape|record|_cast|_has|_dim|_pin|_pad|_histogram|_copy|_to(?!_copy)|(?!index|_to_).*_copy$|.*_backward$"
)


def parameters(schema):
    """The parameters of a schema as one text."""
    parts = []
    for each in schema.arguments:
        if each.kwarg_only and "*" not in parts:
            parts.append("*")
        parts.append(f"{each.type} {each.name}" + ("=" if each.has_default_value() else ""))
    return ", ".join(parts)


if __name__ == "__main__":
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        space, name = schema.name.split("::")
        writes = any(each.kwarg_only and re.fullmatch(r"out\d?", each.name) for each in schema.arguments)
        if space == "aten" and not writes and not LEFT_OUT.match(name):
            found.setdefault(name, []).append(parameters(schema))
    lines = (f'"{name}": {json.dumps(found[name])}' for name in sorted(found))
    print("{\n" + ",\n".join(lines) + "\n}")
