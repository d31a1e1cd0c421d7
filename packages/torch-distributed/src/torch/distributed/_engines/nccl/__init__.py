"""NCCL, between GPUs: the calls that a backend needs. The backend waits for tensors on GPUs."""
