#include "ops/reduce/engine.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "dispatch/work.h"
#include "iterate/staging.h"
#include "ops/reduce/columns.h"
#include "torch/core/interrupt.h"
#include "torch/core/row_loops.h"

namespace torch {

namespace {

constexpr int64_t kBlock = 2048;     // elements that are converted at a time
constexpr int64_t kAlongTile = 256;  // results whose accumulators are held together
constexpr int64_t kAcrossTile = 512;
constexpr int64_t kPiece = 1 << 16;  // elements that make a piece of a split reduction
constexpr int64_t kMaxPieces = 256;
constexpr int kFewUnits = 32;
constexpr int64_t kMaxAcc = int64_t(RowLoop::kMostBytes);
constexpr int64_t kWholeRuns = 4096;  // rows that kernels fold into accumulators at once, or a multiple of it
constexpr int64_t kAskEvery = 256;    // blocks or runs: a stride of 0 makes a task as long as one likes

const ReduceKernel& find_kernel(Reduce which, DType t) {
  return work<ReduceTables>.on_cpu().of[int(which)]->by_dtype[int(t)];
}

struct Dim {
  int64_t size, in;  // strides in bytes
  int64_t out[2];
  bool reduced;
};

struct Plan {
  const ReduceKernel* kernel;
  const char* data;
  char* out[2];
  bool direct, along;
  int64_t item, kernel_item;
  ConvertPath path;
  int size_class;
  Dim run;                             // along: the reduced dim of a run; across: the rows
  Dim lane;                            // the kept dim whose results form tiles
  int64_t tile;                        // results in a tile
  Dim kept[kMaxDims], rest[kMaxDims];  // other kept dims, other reduced dims
  int kept_count = 0, rest_count = 0;
  int64_t units, tiles, rest_total;
};

Plan make_plan(const ReduceJob& job, const Tensor& self, const DimSet& dims, const Tensor* outs, int out_count) {
  Plan p;
  p.kernel = &find_kernel(job.which, job.kernel);
  TORCH_CHECK_IMPLEMENTED(p.kernel->along, "reduction of ", self.dtype(), ": no kernel");
  p.data = self.data<const char>();
  p.item = self.item_size();
  p.kernel_item = item_size(job.kernel);
  p.path = job.convert == self.dtype() ? ConvertPath{} : convert_path(self.dtype(), job.convert);
  p.size_class = size_class(p.item);
  for (int k = 0; k < 2; ++k) p.out[k] = k < out_count ? outs[k].data<char>() : nullptr;

  Dim all[kMaxDims];
  int n = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.size(d) == 1) continue;
    Dim& x = all[n++];
    x = {self.size(d), self.stride(d) * p.item, {0, 0}, dims[d]};
    for (int k = 0; k < out_count && !x.reduced; ++k) x.out[k] = outs[k].stride(d) * outs[k].item_size();
  }
  // Outermost first; a stride of zero repeats work and goes outside.
  std::stable_sort(all, all + n, [](const Dim& a, const Dim& b) {
    if (a.in == 0 || b.in == 0) return a.in == 0 && b.in != 0;
    return std::abs(a.in) > std::abs(b.in);
  });
  int m = 0;
  for (int i = 0; i < n; ++i) {
    Dim& x = all[i];
    if (m > 0) {
      Dim& y = all[m - 1];
      if (y.reduced == x.reduced && y.in == x.in * x.size && y.out[0] == x.out[0] * x.size &&
          y.out[1] == x.out[1] * x.size) {
        int64_t size = y.size * x.size;
        y = x;
        y.size = size;
        continue;
      }
    }
    all[m++] = x;
  }
  const Dim one_kept{1, p.item, {0, 0}, false}, one_reduced{1, p.item, {0, 0}, true};
  p.along = m > 0 && all[m - 1].reduced;
  p.run = one_reduced;
  p.lane = one_kept;
  bool have_run = false, have_lane = false;
  for (int i = m - 1; i >= 0; --i) {
    if (all[i].reduced) {
      if (!have_run)
        p.run = all[i], have_run = true;
      else
        p.rest[p.rest_count++] = all[i];
    } else {
      if (!have_lane)
        p.lane = all[i], have_lane = true;
      else
        p.kept[p.kept_count++] = all[i];
    }
  }
  p.direct = p.path.count == 0 && (p.along ? p.run.in : p.lane.in) == p.item;
  p.tile = std::min(p.lane.size, p.along ? kAlongTile : kAcrossTile);
  // Long runs in smaller tiles, and so many tasks, before a run is cut.
  if (p.along && p.tile * p.run.size > kPiece)
    p.tile =
        std::clamp<int64_t>(p.lane.size / kFewUnits, 1, std::max<int64_t>(1, std::min(p.tile, kPiece / p.run.size)));
  p.tiles = p.tile ? (p.lane.size + p.tile - 1) / p.tile : 0;
  p.units = p.tiles;
  p.rest_total = 1;
  for (int i = 0; i < p.kept_count; ++i) p.units *= p.kept[i].size;
  for (int i = 0; i < p.rest_count; ++i) p.rest_total *= p.rest[i].size;
  return p;
}

// Buffers of one task, for elements that are not read in place.
struct Buffers {
  alignas(64) char a[kBlock * 16], b[kBlock * 16];
};

// Strided elements (n0 of each of n1 rows) as dense elements of the kernel's type.
const char* fetch(const Plan& p, Buffers& buffers, const char* from, int64_t n0, int64_t s0, int64_t n1, int64_t s1) {
  char *have = buffers.a, *next = buffers.b;
  staging().gather[p.size_class](have, from, n0, s0, n1, s1);
  for (int i = 0; i < p.path.count; ++i) {
    char* data[2] = {next, have};
    p.path.step[i](data, n0 * n1, nullptr);
    std::swap(have, next);
  }
  return have;
}

void fold_along(const Plan& p, Buffers* buffers, const char* from, int64_t n, int64_t position, char* acc) {
  if (p.direct) return p.kernel->along(from, n, position, acc);
  for (int64_t i = 0; i < n; i += kBlock) {
    if (TORCH_UNLIKELY(i / kBlock % kAskEvery == kAskEvery - 1)) check_interrupt();
    int64_t some = std::min(kBlock, n - i);
    p.kernel->along(fetch(p, *buffers, from + i * p.run.in, some, p.run.in, 1, 0), some, position + i, acc);
  }
}

bool is_narrow(const Plan& p, int64_t columns) { return columns * p.kernel_item <= 32; }

// Few columns would leave most lanes idle: dense rows are taken several at a time, as one wide row.
bool fold_narrow(const Plan& p, const char* from, int64_t rows, int64_t columns, char* acc) {
  if (!is_narrow(p, columns) || p.run.in != columns * p.item || rows < 256) return false;
  int64_t width = 256 / columns;
  alignas(64) char wide[256 * kMaxAcc];
  int64_t size = p.kernel->acc_size;
  p.kernel->reset(wide, width * columns);
  p.kernel->across(from, width * p.run.in, rows / width, width * columns, 0, wide);
  for (int64_t k = 0; k < width; ++k) p.kernel->merge(acc, wide + k * columns * size, columns);
  if (rows % width) p.kernel->across(from + rows / width * width * p.run.in, p.run.in, rows % width, columns, 0, acc);
  return true;
}

void fold_across(const Plan& p, Buffers* buffers, bool ordered, const char* from, int64_t rows, int64_t columns,
                 int64_t position, char* acc) {
  if (p.direct) {
    if (!ordered && fold_narrow(p, from, rows, columns, acc)) return;
    const int64_t step = std::max<int64_t>(1, (1 << 22) / (columns * kWholeRuns)) * kWholeRuns;
    for (int64_t r = 0; r < rows; r += step) {
      if (r) check_interrupt();
      p.kernel->across(from + r * p.run.in, p.run.in, std::min(step, rows - r), columns, position + r, acc);
    }
    return;
  }
  int64_t step = std::max<int64_t>(1, kBlock / columns);
  for (int64_t r = 0; r < rows; r += step) {
    if (TORCH_UNLIKELY(r / step % kAskEvery == kAskEvery - 1)) check_interrupt();
    int64_t some = std::min(step, rows - r);
    const char* block = fetch(p, *buffers, from + r * p.run.in, columns, p.lane.in, some, p.run.in);
    p.kernel->across(block, columns * p.kernel_item, some, columns, position + r, acc);
  }
}

// Where unit u starts, and how many results its tile has.
struct Unit {
  int64_t in, out[2], width;
};
Unit unit_at(const Plan& p, int64_t u) {
  int64_t t = u % p.tiles, k = u / p.tiles;
  Unit x{t * p.tile * p.lane.in,
         {t * p.tile * p.lane.out[0], t * p.tile * p.lane.out[1]},
         std::min(p.tile, p.lane.size - t * p.tile)};
  for (int i = 0; i < p.kept_count; ++i) {
    int64_t at = k % p.kept[i].size;
    k /= p.kept[i].size;
    x.in += at * p.kept[i].in;
    x.out[0] += at * p.kept[i].out[0];
    x.out[1] += at * p.kept[i].out[1];
  }
  return x;
}
int64_t rest_offset(const Plan& p, int64_t r) {
  int64_t offset = 0;
  for (int i = 0; i < p.rest_count; ++i) {
    offset += r % p.rest[i].size * p.rest[i].in;
    r /= p.rest[i].size;
  }
  return offset;
}

// Folds the part [first, last) of the run, for the outer reduced positions [r0, r1), into the unit's accumulators.
void fold_unit(const Plan& p, Buffers* buffers, bool ordered, const Unit& u, int64_t r0, int64_t r1, int64_t first,
               int64_t last, char* acc) {
  for (int64_t r = r0; r < r1; ++r) {
    if (TORCH_UNLIKELY(r % kAskEvery == kAskEvery - 1)) check_interrupt();
    const char* from = p.data + u.in + rest_offset(p, r) + first * p.run.in;
    if (p.along) {
      for (int64_t j = 0; j < u.width; ++j)
        fold_along(p, buffers, from + j * p.lane.in, last - first, first, acc + j * p.kernel->acc_size);
    } else {
      fold_across(p, buffers, ordered, from, last - first, u.width, first, acc);
    }
  }
}

// The innermost watch of each thread that has one: there are hardly ever any, and a pointer for each thread would take
// of the room that all libraries of a process share (static thread-local storage).
std::atomic<int> row_watches{0};
std::mutex row_watch_lock;
std::unordered_map<std::thread::id, RowWatch*>& innermost_watches() {
  static auto& all = *new std::unordered_map<std::thread::id, RowWatch*>;
  return all;
}

struct ColumnWatch {
  ColumnLoop::Seen seen = nullptr;
  void* to = nullptr;
};
std::unordered_map<std::thread::id, ColumnWatch>& column_watches() {
  static auto& all = *new std::unordered_map<std::thread::id, ColumnWatch>;
  return all;
}
ColumnWatch column_watch() {
  const std::lock_guard lock(row_watch_lock);
  const auto at = column_watches().find(std::this_thread::get_id());
  return at == column_watches().end() ? ColumnWatch() : at->second;
}

}  // namespace
}  // namespace torch

void torch_columns_seen(torch::ColumnLoop::Seen seen, void* to) noexcept {
  using namespace torch;
  const std::lock_guard lock(row_watch_lock);
  const auto me = std::this_thread::get_id();
  const int before = int(column_watches().erase(me));
  if (seen) column_watches()[me] = {seen, to};
  row_watches += int(seen != nullptr) - before;
}

namespace torch {

RowWatch::RowWatch(Seen seen, void* to) noexcept : seen_(seen), to_(to) {
  const std::lock_guard lock(row_watch_lock);
  outer_ = std::exchange(innermost_watches()[std::this_thread::get_id()], this);
  ++row_watches;
}
RowWatch::~RowWatch() {
  const std::lock_guard lock(row_watch_lock);
  --row_watches;
  if (outer_)
    innermost_watches()[std::this_thread::get_id()] = outer_;
  else
    innermost_watches().erase(std::this_thread::get_id());
}
RowWatch* RowWatch::current() noexcept {
  if (TORCH_LIKELY(!row_watches.load(std::memory_order_relaxed))) return nullptr;
  const std::lock_guard lock(row_watch_lock);
  const auto at = innermost_watches().find(std::this_thread::get_id());
  return at == innermost_watches().end() ? nullptr : at->second;
}

void run_reduction(const ReduceJob& job, const Tensor& self, const DimSet& dims, const Tensor* outs, int out_count,
                   Finish finish, const Ending& ending) {
  if (outs[0].numel() == 0) return;
  if (TORCH_UNLIKELY(self.device().type != DeviceType::CPU)) {
    if (const auto* there = work<ReduceWork>.on(self)) there->run(job, self, dims, outs, out_count, ending);
    return;
  }
  if (self.is_contiguous() && outs[0].numel() == 1 && self.numel() <= kPiece && job.convert == self.dtype() &&
      self.numel() > 0) {
    // One run that one task folds, as the general path would: no plan (sum.1 on a loaded machine: 406 -> 133 ns).
    const ReduceKernel& kernel = find_kernel(job.which, job.kernel);
    TORCH_CHECK_IMPLEMENTED(kernel.along, "reduction of ", self.dtype(), ": no kernel");
    alignas(64) char acc[kMaxAcc];
    kernel.reset(acc, 1);
    kernel.along(self.data<const char>(), self.numel(), 0, acc);
    char* out[2] = {outs[0].data<char>(), out_count > 1 ? outs[1].data<char>() : nullptr};
    const int64_t step[2] = {0, 0};
    return finish(acc, 1, out, step);
  }
  Plan p = make_plan(job, self, dims, outs, out_count);
  const bool ordered = job.which == Reduce::ArgMax || job.which == Reduce::ArgMin;
  const int64_t acc_size = p.kernel->acc_size, work = p.run.size * p.rest_total * p.tile;
  auto write = [&](const Unit& u, const char* acc) {
    char* out[2] = {p.out[0] + u.out[0], p.out[1] + u.out[1]};
    finish(acc, u.width, out, p.lane.out);
  };
  auto whole = [&](int64_t begin, int64_t end) {
    alignas(64) char acc[kAcrossTile * kMaxAcc];
    std::unique_ptr<Buffers> buffers(p.direct ? nullptr : new Buffers);
    for (int64_t i = begin; i < end; ++i) {
      Unit u = unit_at(p, i);
      p.kernel->reset(acc, u.width);
      fold_unit(p, buffers.get(), ordered, u, 0, p.rest_total, 0, p.run.size, acc);
      write(u, acc);
    }
  };
  const int64_t pieces_wanted = std::min(work / kPiece, kMaxPieces);
  const bool is_shown = TORCH_UNLIKELY(row_watches.load(std::memory_order_relaxed) != 0) && ending.of_rows &&
                        p.direct && p.rest_count == 0 && self.is_contiguous() && outs[0].is_contiguous();
  const auto show_columns = [&](int64_t part) {
    if (!is_shown || p.along || p.kept_count != 0 || is_narrow(p, p.lane.size)) return;
    if (const ColumnWatch watch = column_watch(); watch.seen)
      watch.seen(watch.to,
                 {p.kernel->reset, p.kernel->across, p.kernel->merge, ending.of_rows, acc_size, ending.number, part},
                 p.lane.size, self, outs[0]);
  };
  if (p.units >= kFewUnits || pieces_wanted < 2) {
    if (const RowWatch* watch = is_shown && p.along ? RowWatch::current() : nullptr)
      watch->show(
          {p.kernel->reset, p.kernel->along, ending.of_rows, acc_size, ending.number, self.dtype(), outs[0].dtype()},
          p.run.size, self, outs[0]);
    show_columns(p.run.size);
    parallel_for(p.units, std::max<int64_t>(1, kPiece / std::max<int64_t>(work, 1)), whole);
    return;
  }
  // Few results and much to reduce: pieces are ranges of outer positions, or parts of each run.
  int64_t runs = 1, outer = p.rest_total,
          part = p.run.size;  // pieces along the run, pieces of outer positions, length of a part
  int64_t group = 1;
  if (p.rest_total >= pieces_wanted) {
    group = (p.rest_total + pieces_wanted - 1) / pieces_wanted;
    outer = (p.rest_total + group - 1) / group;
  } else {
    int64_t cuts = (pieces_wanted + p.rest_total - 1) / p.rest_total;
    part = std::max<int64_t>((p.run.size + cuts - 1) / cuts, 1);
    if (p.along) part = (part + 1023) / 1024 * 1024;
    runs = (p.run.size + part - 1) / part;
  }
  if (p.rest_total == 1) show_columns(part);
  const int64_t pieces = runs * outer, stride = p.tile * acc_size;
  Tensor partial = empty_tensor({p.units * pieces * stride}, DType::UInt8);
  char* acc = partial.data<char>();
  parallel_run(p.units * pieces, [&](int64_t task) {
    std::unique_ptr<Buffers> buffers(p.direct ? nullptr : new Buffers);
    Unit u = unit_at(p, task / pieces);
    int64_t piece = task % pieces, r = piece / runs * group, first = piece % runs * part;
    char* mine = acc + task * stride;
    p.kernel->reset(mine, u.width);
    fold_unit(p, buffers.get(), ordered, u, r, std::min(r + group, p.rest_total), first,
              std::min(first + part, p.run.size), mine);
  });
  for (int64_t i = 0; i < p.units; ++i) {
    Unit u = unit_at(p, i);
    char* total = acc + i * pieces * stride;
    for (int64_t k = 1; k < pieces; ++k) p.kernel->merge(total, total + k * stride, u.width);
    write(u, total);
  }
}

DimVector reduced_shape(IntArrayRef sizes, const DimSet& dims, bool keepdim) {
  DimVector shape;
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d) {
    if (!dims[d])
      shape.push_back(sizes[size_t(d)]);
    else if (keepdim)
      shape.push_back(1);
  }
  return shape;
}

ReduceOut make_out(const Tensor& self, const DimSet& dims, bool keepdim, DType dtype) {
  ReduceOut out;
  out.result = empty_tensor(reduced_shape(self.sizes(), dims, keepdim), dtype, self.device());
  if (keepdim || out.result.dim() == self.dim() ||
      (out.result.dim() == 0 && !is_complex(dtype))) {  // strides of reduced dims are never asked for
    out.kept = out.result;
  } else {
    DimVector sizes = reduced_shape(self.sizes(), dims, true), strides(sizes.ref().size(), 0);
    for (int64_t d = 0, k = 0; d < self.dim(); ++d)
      if (!dims[d]) strides[d] = out.result.stride(k++);
    out.kept = view_of(out.result, sizes, strides, out.result.storage_offset());
  }
  return out;
}

DimSet reduce_dims(const char* op, std::optional<IntArrayRef> dims, int64_t ndim) {
  return !dims || dims->empty() ? DimSet::all(ndim) : DimSet(op, *dims, ndim);
}

}  // namespace torch
