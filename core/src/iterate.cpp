#include "iterate.h"

#include <algorithm>
#include <cstring>

#include "staging.h"
#include "torch/core/pool.h"

namespace torch {

const Staging& staging() noexcept {
#if TORCH_X86
  static const Staging& table =
      *pick_level<const Staging*>(nullptr, &v2::staging_table, &v3::staging_table, &v4::staging_table);
#else
  static const Staging& table = generic::staging_table;
#endif
  return table;
}

ConvertPath convert_path(DType from, DType to) noexcept {
  const Staging& s = staging();
  ConvertPath path;
  auto go = [&](DType next) {
    path.step[path.count] = s.convert[int(next)][int(from)];
    path.gives[path.count++] = next;
    from = next;
  };
  while (from != to) {
    if (s.convert[int(to)][int(from)])
      go(to);
    else if (is_complex(from))
      go(real_of(from));
    else if (is_reduced_floating(from))
      go(DType::Float32);
    else if (is_complex(to) && from != real_of(to))
      s.convert[int(real_of(to))][int(from)] ? go(real_of(to)) : go(DType::Float32);
    else
      go(DType::Float32);  // to a half type
  }
  return path;
}

namespace {

constexpr int64_t kBlock = 1024;        // elements in a block, fewer for wide types
constexpr int64_t kBufferBytes = 8192;  // of one operand's block: all of them stay in the first cache
constexpr int64_t kPanelRows = 16;      // rows that are transposed at a time: one cache line of 4-byte elements
constexpr int64_t kPanelBytes = 65536;
constexpr int kMaxPanels = 2;
constexpr int64_t kShortRow = 64;  // below, blocks span rows

enum class Mode : uint8_t {
  Direct,  // adjacent elements of the loop's type: its memory is passed
  Const,   // stride 0: a buffer is filled once
  Staged,  // gathered, scattered, converted
  Panel,   // adjacent along the next dimension: transposed some rows at a time
};

struct Operand {
  char* base;
  const int64_t* stride;  // bytes, innermost first
  DType type;             // as stored
  DType loop_type;        // as the loop wants it
  Mode mode;
  bool linear;       // the whole operand is adjacent elements in iteration order, of the loop's type
  ConvertPath path;  // input: stored to loop; output: loop to stored
};

struct Plan {
  const Kernel* kernel;
  int ndim, count;
  int64_t block;
  bool all_direct;
  int panels;
  int64_t size[kMaxDims];
  int64_t stride[kMaxOperands][kMaxDims];
  Operand op[kMaxOperands];
};

// A thread's memory for blocks. Nothing is initialised.
struct Buffers {
  alignas(64) char block[kMaxOperands][kBufferBytes];
  alignas(64) char step[2][kBufferBytes];
  const char* filled[kMaxOperands] = {};  // which element a Const operand's buffer holds
  int64_t filled_count[kMaxOperands] = {};
};

// Runs n elements from `data` through a path, to `out`; `step` has room for each stage in between.
void convert_block(const ConvertPath& path, char* out, const char* data, int64_t n, char (*step)[kBufferBytes]) {
  for (int i = 0; i < path.count; ++i) {
    char* to = i + 1 == path.count ? out : step[i % 2];
    char* pointers[] = {to, const_cast<char*>(data)};
    path.step[i](pointers, n, nullptr);
    data = to;
  }
}

// Fills a buffer with n copies of one element, unless it has them already.
char* constant(const Operand& op, Buffers& buffers, int k, const char* element, int64_t n) {
  if (buffers.filled[k] == element && buffers.filled_count[k] >= n) return buffers.block[k];
  alignas(16) char value[16], step[2][kBufferBytes];
  const char* converted = element;
  if (op.path.count) {
    convert_block(op.path, value, element, 1, step);
    converted = value;
  }
  staging().fill[size_class(item_size(op.loop_type))](buffers.block[k], converted, n);
  buffers.filled[k] = element;
  buffers.filled_count[k] = n;
  return buffers.block[k];
}

// n elements with one stride, staged.
char* fetch(const Operand& op, Buffers& buffers, int k, const char* from, int64_t n) {
  const int64_t size = item_size(op.type);
  if (op.path.count == 0) {
    staging().gather[size_class(size)](buffers.block[k], from, n, op.stride[0], 1, 0);
    return buffers.block[k];
  }
  const char* data = from;
  alignas(64) char raw[kBufferBytes];
  if (op.stride[0] != size) {
    staging().gather[size_class(size)](raw, from, n, op.stride[0], 1, 0);
    data = raw;
  }
  convert_block(op.path, buffers.block[k], data, n, buffers.step);
  return buffers.block[k];
}

void put(const Operand& op, Buffers& buffers, int k, char* to, int64_t n) {
  const int64_t size = item_size(op.type);
  const char* data = buffers.block[k];
  alignas(64) char raw[kBufferBytes];
  if (op.path.count) {
    char* target = op.stride[0] == size ? to : raw;
    convert_block(op.path, target, data, n, buffers.step);
    if (target == to) return;
    data = raw;
  }
  staging().scatter[size_class(size)](to, n, op.stride[0], 1, 0, data);
}

// --- long rows: blocks are pieces of the innermost dimension
// -------------------------------------------------------------

void run_row(const Plan& plan, Buffers& buffers, char* const* row, int64_t begin, int64_t end, char* const* panel) {
  const Kernel& kernel = *plan.kernel;
  const int64_t block = plan.all_direct ? end - begin : plan.block;
  char* data[kMaxOperands];
  for (int64_t at = begin; at < end; at += block) {
    const int64_t n = std::min(block, end - at);
    for (int k = 0; k < plan.count; ++k) {
      const Operand& op = plan.op[k];
      char* p = row[k] + at * op.stride[0];
      switch (op.mode) {
        case Mode::Direct:
          data[k] = p;
          break;
        case Mode::Panel:
          data[k] = panel[k] + (at - begin) * item_size(op.loop_type);
          break;
        case Mode::Const:
          data[k] = constant(op, buffers, k, p, std::min(plan.size[0], plan.block));
          break;
        case Mode::Staged:
          data[k] = k < kernel.outputs ? buffers.block[k] : fetch(op, buffers, k, p, n);
          break;
      }
    }
    kernel.loop(data, n, kernel.scalars);
    for (int k = 0; k < kernel.outputs; ++k)
      if (plan.op[k].mode == Mode::Staged) put(plan.op[k], buffers, k, row[k] + at * plan.op[k].stride[0], n);
  }
}

// Rows [begin, end) of all dimensions but the innermost, columns [from, to).
void run_rows(const Plan& plan, int64_t begin, int64_t end, int64_t from, int64_t to) {
  Buffers buffers;
  int64_t index[kMaxDims] = {};
  char* row[kMaxOperands];
  for (int k = 0; k < plan.count; ++k) row[k] = plan.op[k].base;
  int64_t rest = begin;
  for (int d = 1; d < plan.ndim; ++d) {
    index[d] = rest % plan.size[d];
    rest /= plan.size[d];
    for (int k = 0; k < plan.count; ++k) row[k] += index[d] * plan.stride[k][d];
  }
  for (int64_t r = begin;;) {
    run_row(plan, buffers, row, from, to, nullptr);
    if (++r >= end) return;
    for (int d = 1; d < plan.ndim; ++d) {
      for (int k = 0; k < plan.count; ++k) row[k] += plan.stride[k][d];
      if (++index[d] < plan.size[d]) break;
      for (int k = 0; k < plan.count; ++k) row[k] -= plan.size[d] * plan.stride[k][d];
      index[d] = 0;
    }
  }
}

// One group of up to kPanelRows rows along dimension 1, with some operands transposed into panels first.
void run_panel(const Plan& plan, int64_t group) {
  Buffers buffers;
  alignas(64) char memory[kMaxPanels][kPanelBytes];
  alignas(64) char raw[kPanelBytes];
  const int64_t groups = (plan.size[1] + kPanelRows - 1) / kPanelRows;
  const int64_t first = group % groups * kPanelRows, rows = std::min(kPanelRows, plan.size[1] - first);
  char* start[kMaxOperands];
  for (int k = 0; k < plan.count; ++k) start[k] = plan.op[k].base + first * plan.stride[k][1];
  int64_t rest = group / groups;
  for (int d = 2; d < plan.ndim; ++d) {
    for (int k = 0; k < plan.count; ++k) start[k] += rest % plan.size[d] * plan.stride[k][d];
    rest /= plan.size[d];
  }
  int64_t widest = 4;
  for (int k = 0; k < plan.count; ++k)
    if (plan.op[k].mode == Mode::Panel)
      widest = std::max({widest, item_size(plan.op[k].type), item_size(plan.op[k].loop_type)});
  const int64_t columns = kPanelBytes / kPanelRows / widest;
  char *panel[kMaxOperands], *row[kMaxOperands];
  for (int64_t at = 0; at < plan.size[0]; at += columns) {
    const int64_t n = std::min(columns, plan.size[0] - at);
    int used = 0;
    for (int k = 0; k < plan.count; ++k) {
      const Operand& op = plan.op[k];
      if (op.mode != Mode::Panel) continue;
      const int64_t size = item_size(op.type);
      char* target = op.path.count ? raw : memory[used];
      staging().transpose[size_class(size)](target, n * size, start[k] + at * op.stride[0], op.stride[0], rows, n);
      if (op.path.count) {
        const int64_t wide = item_size(op.loop_type), all = rows * n, step = kBufferBytes / 16;
        for (int64_t i = 0; i < all; i += step)
          convert_block(op.path, memory[used] + i * wide, raw + i * size, std::min(step, all - i), buffers.step);
      }
      panel[k] = memory[used++];
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int k = 0; k < plan.count; ++k) row[k] = start[k] + r * plan.stride[k][1];
      run_row(plan, buffers, row, at, at + n, panel);
      for (int k = 0; k < plan.count; ++k)
        if (plan.op[k].mode == Mode::Panel) panel[k] += n * item_size(plan.op[k].loop_type);
    }
  }
}

// --- short rows: blocks span several of them
// -------------------------------------------------------------------------------

// Calls f(pointer, elements along dim 0, rows along dim 1) for each piece of `n` elements that starts at `index`.
template <class F>
void for_each_piece(const Plan& plan, const Operand& op, const int64_t* start, int64_t n, F f) {
  int64_t index[kMaxDims];
  char* p = op.base;
  for (int d = 0; d < plan.ndim; ++d) {
    index[d] = start[d];
    p += index[d] * op.stride[d];
  }
  const int64_t row = plan.size[0];
  while (n > 0) {
    int64_t rows = 1, length = std::min(row - index[0], n);
    if (index[0] == 0 && n >= row && plan.ndim > 1) rows = std::min(plan.size[1] - index[1], n / row);
    f(p, length, rows);
    n -= length * rows;
    if (n == 0) return;
    index[0] += length;
    p += length * op.stride[0];
    if (index[0] < row) continue;
    p -= row * op.stride[0];
    index[0] = 0;
    int64_t step = rows;
    for (int d = 1; d < plan.ndim; ++d) {
      index[d] += step;
      p += step * op.stride[d];
      if (index[d] < plan.size[d]) break;
      p -= plan.size[d] * op.stride[d];
      index[d] = 0;
      step = 1;
    }
  }
}

void run_blocks(const Plan& plan, int64_t begin, int64_t end) {
  const Kernel& kernel = *plan.kernel;
  Buffers buffers;
  alignas(64) char raw[kBufferBytes];
  int64_t index[kMaxDims];
  for (int64_t at = begin; at < end; at += plan.block) {
    const int64_t n = std::min(plan.block, end - at);
    int64_t rest = at;
    for (int d = 0; d < plan.ndim; ++d) {
      index[d] = rest % plan.size[d];
      rest /= plan.size[d];
    }
    char* data[kMaxOperands];
    for (int k = 0; k < plan.count; ++k) {
      const Operand& op = plan.op[k];
      if (op.linear) {
        data[k] = op.base + at * item_size(op.type);
        continue;
      }
      data[k] = buffers.block[k];
      if (k < kernel.outputs) continue;
      const int64_t size = item_size(op.type);
      char* target = op.path.count ? raw : buffers.block[k];
      for_each_piece(plan, op, index, n, [&](const char* p, int64_t length, int64_t rows) {
        staging().gather[size_class(size)](target, p, length, op.stride[0], rows, plan.ndim > 1 ? op.stride[1] : 0);
        target += length * rows * size;
      });
      if (op.path.count) convert_block(op.path, buffers.block[k], raw, n, buffers.step);
    }
    kernel.loop(data, n, kernel.scalars);
    for (int k = 0; k < kernel.outputs; ++k) {
      const Operand& op = plan.op[k];
      if (op.linear) continue;
      const int64_t size = item_size(op.type);
      const char* source = buffers.block[k];
      if (op.path.count) {
        convert_block(op.path, raw, source, n, buffers.step);
        source = raw;
      }
      for_each_piece(plan, op, index, n, [&](char* p, int64_t length, int64_t rows) {
        staging().scatter[size_class(size)](p, length, op.stride[0], rows, plan.ndim > 1 ? op.stride[1] : 0, source);
        source += length * rows * size;
      });
    }
  }
}

// --- the plan
// ------------------------------------------------------------------------------------------------------------------

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

void run(const Plan& plan) {
  const int64_t grain = plan.kernel->grain;
  int64_t total = 1;
  for (int d = 0; d < plan.ndim; ++d) total *= plan.size[d];
  const int64_t rows = total / plan.size[0];
  if (plan.panels && plan.size[0] >= 4) {
    const int64_t groups = rows / plan.size[1] * ((plan.size[1] + kPanelRows - 1) / kPanelRows);
    parallel_for(groups, std::max<int64_t>(1, grain / (plan.size[0] * kPanelRows)), [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) run_panel(plan, g);
    });
    return;
  }
  if (plan.ndim > 1 && plan.size[0] < kShortRow) {
    const int64_t blocks = (total + plan.block - 1) / plan.block;
    parallel_for(blocks, std::max<int64_t>(1, grain / plan.block), [&](int64_t begin, int64_t end) {
      run_blocks(plan, begin * plan.block, std::min(total, end * plan.block));
    });
    return;
  }
  if (rows == 1) {
    parallel_for(total, grain, [&](int64_t begin, int64_t end) { run_rows(plan, 0, 1, begin, end); });
  } else if (plan.size[0] <= grain) {
    parallel_for(rows, std::max<int64_t>(1, grain / plan.size[0]),
                 [&](int64_t begin, int64_t end) { run_rows(plan, begin, end, 0, plan.size[0]); });
  } else {
    const int64_t pieces = (plan.size[0] + grain - 1) / grain;
    parallel_for(rows * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i % pieces * grain;
        run_rows(plan, i / pieces, i / pieces + 1, from, std::min(plan.size[0], from + grain));
      }
    });
  }
}

// --- one dimension: all operands are contiguous, or one element
// ----------------------------------------------------------------

struct Flat {
  char* base;
  int64_t step;  // bytes from element to element; 0 for a single one
  DType type, loop_type;
  ConvertPath path;
};

void run_flat(const Kernel& kernel, const Flat* flat, int64_t block, int64_t begin, int64_t end) {
  alignas(64) char buffer[kMaxOperands][kBufferBytes], step[2][kBufferBytes];
  const int count = kernel.outputs + kernel.inputs;
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

}  // namespace

void iterate(const Kernel& kernel, TensorImpl* const* t) {
  const int64_t n = t[0]->numel;
  if (n == 0) return;
  bool direct = true, one_dim = true;
  for (int k = 0; k < kernel.outputs + kernel.inputs; ++k) {
    // A contiguous operand with as many elements as the output, to which it broadcasts, has its shape.
    const bool same = t[k]->contiguous() & (t[k]->numel == n);
    one_dim &= same | (t[k]->numel == 1);
    direct &= same & (t[k]->dtype == kernel.types[k]);
  }
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
