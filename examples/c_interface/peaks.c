/* Plain C99 over the stable C interface of torch-core: it knows nothing of C++ and nothing of Python. */
#include "peaks.h"

#include <torch/c/torch.h>

/* The one tensor that an operator gives, or NULL. */
static torch_tensor* call(const char* op, torch_value a, torch_value b, int count) {
  torch_value arguments[2], result;
  arguments[0] = a;
  arguments[1] = b;
  return torch_call(op, arguments, count, &result, 1) == TORCH_OK ? result.as.tensor : NULL;
}

torch_tensor* standardized(torch_tensor* x) {
  torch_tensor* mean = call("mean", torch_value_tensor(x), torch_value_none(), 1);
  torch_tensor* spread = mean ? call("std", torch_value_tensor(x), torch_value_none(), 1) : NULL;
  torch_tensor* centred = spread ? call("sub", torch_value_tensor(x), torch_value_tensor(mean), 2) : NULL;
  torch_tensor* result =
      centred ? call("true_divide", torch_value_tensor(centred), torch_value_tensor(spread), 2) : NULL;
  torch_release(mean);
  torch_release(spread);
  torch_release(centred);
  return result;
}

torch_status find_peaks(torch_tensor* x, torch_tensor* found, float level) {
  torch_value fill[2], nothing;
  torch_status status;
  const float* in;
  uint8_t* out;
  int64_t n, step, i;
  if (torch_ndim(x) != 1 || torch_get_dtype(x) != TORCH_FLOAT32 || torch_ndim(found) != 1 ||
      torch_get_dtype(found) != TORCH_UINT8 || torch_numel(found) != torch_numel(x) || torch_strides(found)[0] != 1)
    return torch_fail(TORCH_ERROR_VALUE, "expected x (n) of float32 and found (n) of uint8 without gaps");
  /* in place, so that the version of `found` rises and autograd would notice */
  fill[0] = torch_value_tensor(found);
  fill[1] = torch_value_int(0);
  status = torch_call("fill_", fill, 2, &nothing, 1);
  if (status != TORCH_OK) return status;
  torch_release(nothing.as.tensor);
  in = torch_data(x);
  out = torch_data(found);
  n = torch_numel(x);
  step = torch_strides(x)[0];
  for (i = 1; i + 1 < n; ++i)
    out[i] = in[i * step] > level && in[i * step] > in[(i - 1) * step] && in[i * step] > in[(i + 1) * step];
  return TORCH_OK;
}
