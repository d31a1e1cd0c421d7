"""What tests of libraries import: the test case, its decorators, flags and helpers.

``common_utils`` is for every test, ``common_device_type`` for tests that run once per device, ``jit_utils`` (with
torch-jit) for tests of scripts and traces. Names and meanings are those of PyTorch, so that such tests run unchanged.
"""
