/* Peaks of a signal, found in C. */
#pragma once
#include <torch/c/torch.h>

/* x (n) minus its mean, over its standard deviation: operators of torch, called by name. NULL on failure. */
torch_tensor* standardized(torch_tensor* x);

/* Writes 1 into found (n, uint8) where x (n, float32) is larger than both neighbours and than `level`; counts them. */
torch_status find_peaks(torch_tensor* x, torch_tensor* found, float level);
