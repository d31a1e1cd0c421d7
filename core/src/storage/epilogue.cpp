#include "storage/epilogue.h"

#include <utility>

#include "torch/core/thread_end.h"

namespace torch {

constinit thread_local PendingEpilogue* pending_epilogue = nullptr;

Epilogue take_pending_epilogue(void* out, int64_t elements, DType dtype) noexcept {
  PendingEpilogue& p = *pending_epilogue;
  if (p.elements >= 0 && (p.elements != elements || p.dtype != dtype)) return {};
  p.epilogue.out = out;
  ++p.taken;
  const Epilogue taken = p.epilogue;
  if (p.elements >= 0) p.epilogue.rows = nullptr;
  return taken;
}

}  // namespace torch

void torch_epilogue_begin(torch::Epilogue::Rows rows, void* to, int64_t elements, int dtype) noexcept {
  using torch::pending_epilogue;
  if (!pending_epilogue) {
    pending_epilogue = new torch::PendingEpilogue;
    torch::at_thread_end([]() noexcept { delete std::exchange(pending_epilogue, nullptr); });
  }
  *pending_epilogue = {{rows, to, nullptr}, elements, torch::DType(dtype), 0};
}
int64_t torch_epilogue_end(const void** out) noexcept {
  torch::PendingEpilogue& p = *torch::pending_epilogue;
  *out = p.epilogue.out;
  p.epilogue.rows = nullptr;
  return p.taken;
}
