// Runs a plan of the iteration engine: long rows in blocks, transposed operands in panels, short rows several at a
// time.
#include <algorithm>

#include "iterate/plan.h"
#include "torch/core/pool.h"

namespace torch::iteration {

namespace {

constexpr int64_t kPanelBytes = 65536;
constexpr int64_t kShortRow = 64;  // below, blocks span rows

// A thread's memory for blocks, which is not initialised: as many as a plan has operands, on the stack.
struct Buffers {
  char (*block)[kBufferBytes];
  const char* filled[kMaxOperands];  // which element a Const operand's buffer holds
  int64_t filled_count[kMaxOperands];
  alignas(64) char step[2][kBufferBytes];

  Buffers(void* memory, int operands) : block(static_cast<char (*)[kBufferBytes]>(memory)) {
    for (int k = 0; k < operands; ++k) filled[k] = nullptr, filled_count[k] = 0;
  }
};
#define TORCH_BUFFERS(name, plan) \
  Buffers name(__builtin_alloca_with_align(size_t((plan).count) * kBufferBytes, 512), (plan).count)

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

// Long rows: blocks are pieces of the innermost dimension.

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
  TORCH_BUFFERS(buffers, plan);
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
  TORCH_BUFFERS(buffers, plan);
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
  // Short rows that only change places go straight there: 512 x 512 weights of 3 x 3 from channels last to rows 3.6 ms
  // by panels, 1.0 so (AMD EPYC, Zen 4). Long ones would meet in one set of the first cache.
  constexpr int64_t kShort = 32;
  if (plan.size[0] <= kShort && plan.op[0].mode == Mode::Direct && plan.op[plan.count - 1].mode == Mode::Panel &&
      only_moves(plan.kernel->loop)) {
    staging().transpose[size_class(item_size(plan.op[0].type))](start[0], plan.stride[0][1], start[1],
                                                                plan.stride[1][0], rows, plan.size[0]);
    return;
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

// Short rows: blocks span several of them.

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
  TORCH_BUFFERS(buffers, plan);
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

// What only changes places goes there without a block between.
bool moves_straight(const Plan& plan) {
  return plan.count == 2 && plan.op[0].linear && plan.op[1].path.count == 0 && plan.op[1].type == plan.op[0].type &&
         only_moves(plan.kernel->loop);
}
void run_moves(const Plan& plan, int64_t begin, int64_t end) {
  const Operand& from = plan.op[1];
  const int64_t size = item_size(from.type);
  int64_t index[kMaxDims], rest = begin;
  for (int d = 0; d < plan.ndim; ++d) {
    index[d] = rest % plan.size[d];
    rest /= plan.size[d];
  }
  char* to = plan.op[0].base + begin * size;
  for_each_piece(plan, from, index, end - begin, [&](const char* p, int64_t length, int64_t rows) {
    if (p != to)  // else it is copied to itself
      staging().gather[size_class(size)](to, p, length, from.stride[0], rows, plan.ndim > 1 ? from.stride[1] : 0);
    to += length * rows * size;
  });
}

}  // namespace

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
  if (moves_straight(plan))
    return parallel_for(total, grain, [&](int64_t begin, int64_t end) { run_moves(plan, begin, end); });
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

}  // namespace torch::iteration
