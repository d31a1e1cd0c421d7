#include "iterate/iterate.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "dispatch/work.h"
#include "iterate/plan.h"
#include "torch/core/pool.h"

namespace torch {

using namespace iteration;

namespace {

int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Sizes and byte strides of all operands over the outputs' shape, innermost dimension first, without dimensions of
// size 1.
void lay_out(Plan& plan, TensorImpl* const* t) {
  const int ndim = t[0]->ndim;
  plan.ndim = 0;
  for (int d = ndim - 1; d >= 0; --d) {
    const int64_t size = t[0]->sizes()[d];
    if (size == 1) continue;
    const int to = plan.ndim++;
    plan.size[to] = size;
    for (int k = 0; k < plan.count; ++k) {
      const int own = d - (ndim - t[k]->ndim);
      const bool broadcast = own < 0 || t[k]->sizes()[own] == 1;
      plan.stride[k][to] = broadcast ? 0 : t[k]->strides()[own] * item_size(t[k]->dtype);
    }
  }
  if (plan.ndim == 0) {
    plan.ndim = 1;
    plan.size[0] = 1;
    for (int k = 0; k < plan.count; ++k) plan.stride[k][0] = item_size(t[k]->dtype);
  }
}

// Ascending strides of the first operand that tells two dimensions apart: outputs are walked through memory in order.
void sort_dims(Plan& plan) {
  auto before = [&](int a, int b) {
    for (int k = 0; k < plan.count; ++k) {
      const int64_t x = magnitude(plan.stride[k][a]), y = magnitude(plan.stride[k][b]);
      if (x != y && x != 0 && y != 0) return x < y;
      if (k < plan.kernel->outputs && x != y) return x < y;
    }
    return false;
  };
  for (int i = 1; i < plan.ndim; ++i)
    for (int j = i; j > 0 && before(j, j - 1); --j) {
      std::swap(plan.size[j], plan.size[j - 1]);
      for (int k = 0; k < plan.count; ++k) std::swap(plan.stride[k][j], plan.stride[k][j - 1]);
    }
}

// Walks a dimension backwards where the first output does.
void make_output_ascend(Plan& plan) {
  for (int d = 0; d < plan.ndim; ++d) {
    if (plan.stride[0][d] >= 0) continue;
    for (int k = 0; k < plan.count; ++k) {
      plan.op[k].base += (plan.size[d] - 1) * plan.stride[k][d];
      plan.stride[k][d] = -plan.stride[k][d];
    }
  }
}

void merge_dims(Plan& plan) {
  int to = 0;
  for (int d = 1; d < plan.ndim; ++d) {
    bool merge = true;
    for (int k = 0; k < plan.count; ++k) merge &= plan.stride[k][d] == plan.stride[k][to] * plan.size[to];
    if (merge) {
      plan.size[to] *= plan.size[d];
      continue;
    }
    ++to;
    plan.size[to] = plan.size[d];
    for (int k = 0; k < plan.count; ++k) plan.stride[k][to] = plan.stride[k][d];
  }
  plan.ndim = to + 1;
}

void choose_modes(Plan& plan, TensorImpl* const* t) {
  const Kernel& kernel = *plan.kernel;
  plan.all_direct = true;
  plan.panels = 0;
  int64_t widest = 1;
  for (int k = 0; k < plan.count; ++k) {
    Operand& op = plan.op[k];
    op.type = t[k]->dtype;
    op.loop_type = kernel.types[k];
    op.stride = plan.stride[k];
    op.path.count = 0;
    const bool output = k < kernel.outputs;
    if (op.type != op.loop_type)
      op.path = output ? convert_path(op.loop_type, op.type) : convert_path(op.type, op.loop_type);
    const int64_t size = item_size(op.type);
    widest = std::max({widest, size, item_size(op.loop_type)});
    for (int i = 0; i < op.path.count; ++i) widest = std::max(widest, item_size(op.path.gives[i]));
    op.linear = op.type == op.loop_type && op.stride[0] == size;
    for (int d = 1; d < plan.ndim; ++d) op.linear &= op.stride[d] == op.stride[d - 1] * plan.size[d - 1];
    if (op.type == op.loop_type && op.stride[0] == size)
      op.mode = Mode::Direct;
    else if (!output && op.stride[0] == 0)
      op.mode = Mode::Const;
    else if (!output && plan.ndim > 1 && op.stride[1] == size && op.stride[0] != size && plan.size[1] >= 4 &&
             plan.panels < kMaxPanels)
      op.mode = Mode::Panel, ++plan.panels;
    else
      op.mode = Mode::Staged;
    plan.all_direct &= op.mode == Mode::Direct;
  }
  plan.block = std::min(kBlock, kBufferBytes / widest);
}

// One dimension: all operands are contiguous, or one element.

struct Flat {
  char* base;
  int64_t step;  // bytes from element to element; 0 for a single one
  DType type, loop_type;
  ConvertPath path;
};

void run_flat(const Kernel& kernel, const Flat* flat, int64_t block, int64_t begin, int64_t end) {
  const int count = kernel.outputs + kernel.inputs;
  auto* buffer = static_cast<char (*)[kBufferBytes]>(__builtin_alloca_with_align(size_t(count) * kBufferBytes, 512));
  alignas(64) char step[2][kBufferBytes];
  char* data[kMaxOperands];
  for (int k = kernel.outputs; k < count; ++k) {
    if (flat[k].step) continue;
    alignas(16) char value[16];
    convert_block(flat[k].path, value, flat[k].base, 1, step);
    staging().fill[size_class(item_size(flat[k].loop_type))](buffer[k], flat[k].path.count ? value : flat[k].base,
                                                             std::min(block, end - begin));
    data[k] = buffer[k];
  }
  for (int64_t at = begin; at < end; at += block) {
    const int64_t n = std::min(block, end - at);
    for (int k = 0; k < count; ++k) {
      const Flat& f = flat[k];
      if (f.path.count == 0) {
        if (f.step) data[k] = f.base + at * f.step;
        continue;
      }
      if (f.step == 0) continue;
      data[k] = buffer[k];
      if (k >= kernel.outputs) convert_block(f.path, buffer[k], f.base + at * f.step, n, step);
    }
    kernel.loop(data, n, kernel.scalars);
    for (int k = 0; k < kernel.outputs; ++k)
      if (flat[k].path.count) convert_block(flat[k].path, flat[k].base + at * flat[k].step, buffer[k], n, step);
  }
}

TORCH_NOINLINE void iterate_flat(const Kernel& kernel, TensorImpl* const* t) {
  Flat flat[kMaxOperands];
  const int64_t n = t[0]->numel;
  int64_t widest = 1;
  for (int k = 0; k < kernel.outputs + kernel.inputs; ++k) {
    Flat& f = flat[k];
    f.base = static_cast<char*>(t[k]->data());
    f.type = t[k]->dtype;
    f.loop_type = kernel.types[k];
    const int64_t size = item_size(f.type);
    f.step = t[k]->numel == 1 && n > 1 ? 0 : size;
    widest = std::max({widest, size, item_size(f.loop_type)});
    f.path.count = 0;
    if (f.type == f.loop_type) continue;
    f.path = k < kernel.outputs ? convert_path(f.loop_type, f.type) : convert_path(f.type, f.loop_type);
    for (int i = 0; i < f.path.count; ++i) widest = std::max(widest, item_size(f.path.gives[i]));
  }
  const int64_t block = std::min(kBlock, kBufferBytes / widest);
  if (n <= kernel.grain) return run_flat(kernel, flat, block, 0, n);
  parallel_for(n, kernel.grain, [&](int64_t begin, int64_t end) { run_flat(kernel, flat, block, begin, end); });
}

TORCH_NOINLINE void iterate_any(const Kernel& kernel, TensorImpl* const* t) {
  Plan plan;
  plan.kernel = &kernel;
  plan.count = kernel.outputs + kernel.inputs;
  for (int k = 0; k < plan.count; ++k) plan.op[k].base = static_cast<char*>(t[k]->data());
  lay_out(plan, t);
  sort_dims(plan);
  make_output_ascend(plan);
  merge_dims(plan);
  choose_modes(plan, t);
  run(plan);
}

// The watches of all threads: there are hardly ever any.
struct Watching {
  const Watch* by;
  std::thread::id thread;
  Watch::Seen seen;
  void* to;
};
std::mutex watching_mutex;
std::vector<Watching>& watching() {
  static std::vector<Watching>& all = *new std::vector<Watching>;
  return all;
}

TORCH_NOINLINE void show(const Kernel& kernel, TensorImpl* const* t) {
  std::vector<Watching> mine;
  {
    std::lock_guard lock(watching_mutex);
    for (const Watching& w : watching())
      if (w.thread == std::this_thread::get_id()) mine.push_back(w);
  }
  for (const Watching& w : mine) w.seen(w.to, kernel, t);
}

[[noreturn]] TORCH_NOINLINE void refuse(const Kernel& kernel, TensorImpl* const* t) {
  TensorImpl* const* const last = t + kernel.outputs + kernel.inputs;
  const auto found = std::find_if(t, last, [](const TensorImpl* x) { return x->device.type != DeviceType::CPU; });
  missing_work((*found)->device);
}

}  // namespace

std::atomic<int> watches{0};

Watch::Watch(Seen seen, void* to) {
  std::lock_guard lock(watching_mutex);
  watching().push_back({this, std::this_thread::get_id(), seen, to});
  ++watches;
}
Watch::~Watch() {
  std::lock_guard lock(watching_mutex);
  std::erase_if(watching(), [&](const Watching& w) { return w.by == this; });
  --watches;
}

void iterate(const Kernel& kernel, TensorImpl* const* t) {
  const int64_t n = t[0]->numel;
  if (n == 0) return;
  if (TORCH_UNLIKELY(watches.load(std::memory_order_relaxed))) show(kernel, t);
  bool direct = true, one_dim = true;
  unsigned elsewhere = 0;
  for (int k = 0; k < kernel.outputs + kernel.inputs; ++k) {
    // A contiguous operand with as many elements as the output, to which it broadcasts, has its shape.
    const bool same = t[k]->contiguous() & (t[k]->numel == n);
    one_dim &= same | (t[k]->numel == 1);
    direct &= same & (t[k]->dtype == kernel.types[k]);
    elsewhere |= unsigned(t[k]->device.type);
  }
  if (TORCH_UNLIKELY(elsewhere != unsigned(DeviceType::CPU))) refuse(kernel, t);
  if (TORCH_LIKELY(direct)) {
    char* data[kMaxOperands];
    if (n <= kernel.grain) {
      for (int k = 0; k < kernel.outputs + kernel.inputs; ++k) data[k] = static_cast<char*>(t[k]->data());
      kernel.loop(data, n, kernel.scalars);
      return;
    }
    parallel_for(n, kernel.grain, [&](int64_t begin, int64_t end) {
      char* piece[kMaxOperands];
      for (int k = 0; k < kernel.outputs + kernel.inputs; ++k)
        piece[k] = static_cast<char*>(t[k]->data()) + begin * item_size(t[k]->dtype);
      kernel.loop(piece, end - begin, kernel.scalars);
    });
    return;
  }
  if (one_dim) return iterate_flat(kernel, t);
  iterate_any(kernel, t);
}

}  // namespace torch
