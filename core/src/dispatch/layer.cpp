#include "torch/core/layer.h"

#include "blas/openblas.h"
#include "dispatch/non_blocking.h"
#include "dispatch/outlet.h"

namespace torch {

constinit std::atomic<Keys> profiling_key{0};
constinit thread_local uint8_t inference_flag = 0;  // declared in tensor.h; here it takes no room of its own
constinit thread_local bool may_go_on = false;      // likewise, of non_blocking.h
constinit thread_local bool t_openblas = false;     // and of openblas.h
constinit thread_local ThreadKeys thread_keys{0, key(DispatchKey::Python)};  // until a layer is there for them

namespace {
constinit std::atomic<Layer> layers[kDispatchKeys] = {};
}  // namespace

Layer set_layer(DispatchKey dispatch_key, Layer layer) noexcept {
  return layers[unsigned(dispatch_key)].exchange(layer, std::memory_order_acq_rel);
}

bool detail::has_layer(DispatchKey dispatch_key) noexcept {
  return layers[unsigned(dispatch_key)].load(std::memory_order_acquire) != nullptr;
}

void detail::call_layer(const Row& row, DispatchKey dispatch_key, const Value* arguments, Result& result) {
  const Layer layer = layers[unsigned(dispatch_key)].load(std::memory_order_acquire);
  if (TORCH_UNLIKELY(!layer)) missing_kernel(row, dispatch_key);
  Exclude itself(dispatch_key);
  layer(row, arguments, result);
}

}  // namespace torch
