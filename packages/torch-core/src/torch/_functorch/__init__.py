"""Names of the machinery below PyTorch's ``torch.func``. Ours runs a function once for each example (see torch.func), so that
no tensor ever stands for several.
"""
