// Pooling of float planes by vectors of outputs (forward) and of inputs (backward of averages). The latter asks for
// each input which windows see it: inputs that lie `stride` apart have the same taps and their windows are neighbours,
// so that each tap is one plain load, nothing is cleared first and nothing is added to memory. The backward pass of a
// maximum has one number to add for each window: the plain form (kernels/pooling.h) is faster.
#include "kernels/conv_patch.h"
#include "kernels/pool_winners.h"
#include "kernels/pooling.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using S = Simd<float>;
using V = S::V;
constexpr int W = S::kWidth;

TORCH_INLINE V load_strided(LaneMask mask, const float* s, int stride) {
  if (stride == 1) return S::load(mask, s);
  if (stride == 2) {
    const uint64_t wide = spread_lanes(mask);
    return S::even(S::load(LaneMask(wide), s), S::load(LaneMask(wide >> W), s + W));
  }
  V v{};
  for (int l = 0; l < W; l++)
    if (mask >> l & 1) v[l] = s[int64_t(l) * stride];
  return v;
}

// A store with a mask, even of all lanes, takes 12 cycles or more where a plain one takes one (AMD, before Zen 4).
TORCH_INLINE void store_some(LaneMask mask, float* p, V v) { mask == S::kAll ? S::store(p, v) : S::store(mask, p, v); }

// The lanes of kWidth outputs from x on whose tap s lies inside the row.
TORCH_INLINE LaneMask inside(const Windows& w, int64_t x, int64_t s) {
  const int64_t start = x * w.stride[2] - w.padding[2] + s * w.dilation[2], step = w.stride[2];
  if (start >= 0 && start + (W - 1) * step < w.in[2] && x + W <= w.out[2]) return S::kAll;
  const int64_t begin = start < 0 ? (-start + step - 1) / step : 0, last = w.in[2] - 1 - start;
  const int64_t end = last < 0 ? 0 : last / step + 1, count = w.out[2] - x < W ? w.out[2] - x : W;
  return begin >= W ? 0 : lane_range(int(begin), int(end < count ? end : count));
}

constexpr int kColumns = 32;  // taps along a row whose masks are kept; wider windows take the plain kernel

bool is_vector_case(const Windows& w) { return pool::winners_fit_a_byte(w) && w.kernel[2] <= kColumns; }

// f(row of outputs, its taps along z and y, its place along them) for the rows of a plane. What they reach, and how far
// that lies from the beginning of a plane, is found once: a row of two taps takes less time than its address.
class Rows {
 public:
  struct Tap {
    int64_t offset;
    int tap;
  };
  struct Line {
    const Tap *first, *last;
    int lead;  // the first tap, also where there is none
    const Tap* begin() const { return first; }
    const Tap* end() const { return last; }
  };

  explicit Rows(const Windows& w) : w_(w), lines_(conv::workspace_of<Line>(conv::Slot::Strip, w.out[0] + w.out[1])) {
    Tap* taps = conv::workspace_of<Tap>(conv::Slot::Panels, w.out[0] * w.kernel[0] + w.out[1] * w.kernel[1]);
    find(0, lines_, taps, w.in[1] * w.in[2], w.kernel[1] * w.kernel[2]);
    find(1, lines_ + w.out[0], taps + w.out[0] * w.kernel[0], w.in[2], w.kernel[2]);
  }
  template <class F>
  TORCH_INLINE void each(F f) const {
    for (int64_t z = 0; z < w_.out[0]; z++)
      for (int64_t y = 0; y < w_.out[1]; y++) f(z * w_.out[1] + y, lines_[z], lines_[w_.out[0] + y], z, y);
  }

 private:
  void find(int dim, Line* lines, Tap* taps, int64_t pitch, int64_t step) {
    for (int64_t i = 0; i < w_.out[dim]; i++) {
      const Reach r = reach(w_, dim, i);
      lines[i] = {taps, taps, int(r.begin * step)};
      for (int64_t t = r.begin; t < r.end; t++) *taps++ = {(r.start + t * w_.dilation[dim]) * pitch, int(t * step)};
      lines[i].last = taps;
    }
  }

  const Windows& w_;
  Line* const lines_;
};

// What one vector of outputs in each row reads. The last one of a row lies over the one before it, so that only rows
// shorter than a vector have lanes to spare.
struct Column {
  int64_t at;
  LaneMask keep, masks[kColumns];
  bool whole[kColumns];  // no lane of the tap lies outside the row
  bool inside_row = true;

  Column(const Windows& w, int64_t from) : at(from + W <= w.out[2] || w.out[2] < W ? from : w.out[2] - W) {
    keep = first_lanes(int(w.out[2] - at < W ? w.out[2] - at : W)) & S::kAll;
    for (int64_t s = 0; s < w.kernel[2]; s++) {
      masks[s] = inside(w, at, s);
      whole[s] = (masks[s] & keep) == keep;
      inside_row &= masks[s] == S::kAll;
    }
  }
  template <class F>
  static void each(const Windows& w, F f) {
    for (int64_t from = 0; from < w.out[2]; from += W) f(Column(w, from));
  }
};

// Elements 0, 2, 4, ... of a row, of which only 2 * W - 1 are there.
template <int... I>
TORCH_INLINE V load_pairs(const float* s, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(S::load(s), S::load(s + W - 1), (I < W / 2 ? 2 * I : 2 * I + 1)...);
}

// f(tap, its values) along one row. kWide: how many taps there are where outputs are two apart and taps adjacent, else
// 0; known, two of them share their loads, and none needs a mask where all lie `kInside` the row.
template <int kWide, bool kInside, class F>
TORCH_INLINE void each_tap(const Windows& w, const Column& column, const float* s, F f) {
  if constexpr (kWide != 0 && kInside) {
    for (int k = 0; k + 1 < kWide; k += 2) {
      const V a = S::load(s + k), b = S::load(s + k + W);
      f(k, S::even(a, b)), f(k + 1, S::odd(a, b));
    }
    if (kWide % 2) f(kWide - 1, load_pairs(s + kWide - 1, std::make_integer_sequence<int, W>{}));
  } else {
    const int stride = kWide ? 2 : int(w.stride[2]);
    const int64_t wide = kWide ? kWide : w.kernel[2];
    for (int64_t k = 0; k < wide; k++) {
      const float* const tap = s + k * w.dilation[2];
      f(int(k), kInside && stride == 1 ? S::load(tap) : load_strided(column.masks[k], tap, stride));
    }
  }
}

template <bool kWinners, int kWide, bool kInside>
TORCH_INLINE void max_column(const Windows& w, const Rows& rows, const Column& column, Winners lead, const float* x,
                             float* y, uint8_t* winners, int64_t first, int64_t last) {
  for (int64_t p = first; p < last; p++) {
    const float* plane = x + p * w.in_plane() + column.at * w.stride[2] - w.padding[2];
    rows.each([&](int64_t row, const Rows::Line& along_z, const Rows::Line& along_y, int64_t, int64_t) {
      V best = S::fill(-__builtin_inff());
      Winners winner = lead + (along_z.lead + along_y.lead);
      for (const Rows::Tap& z : along_z)
        for (const Rows::Tap& t : along_y) {
          const int tap = z.tap + t.tap;
          const auto take = [&](int k, V v) __attribute__((always_inline)) {
            if (!kInside && !column.whole[k]) v = S::select(column.masks[k], v, S::fill(-__builtin_inff()));
            const Winners wins = (v > best) | (v != v);
            best = wins ? v : best;
            if (kWinners) winner = wins ? Winners{} + (tap + k) : winner;
          };
          each_tap<kWide, kInside>(w, column, plane + z.offset + t.offset, take);
        }
      const int64_t at = p * w.out_plane() + row * w.out[2] + column.at;
      store_some(column.keep, y + at, best);
      if (kWinners) store_winners(column.keep, winners + at, winner);
    });
  }
}

template <bool kWinners, int kWide>
void max_planes(const Windows& w, const float* x, float* y, uint8_t* winners, int64_t first, int64_t last) {
  const Rows rows(w);
  Column::each(w, [&](const Column& column) {
    Winners lead{};  // the first tap inside the row
    if (column.inside_row) return max_column<kWinners, kWide, true>(w, rows, column, lead, x, y, winners, first, last);
    for (int64_t s = w.kernel[2] - 1; s >= 0; s--)
      for (int l = 0; l < W; l++)
        if (column.masks[s] >> l & 1) lead[l] = int(s);
    max_column<kWinners, kWide, false>(w, rows, column, lead, x, y, winners, first, last);
  });
}

template <int kWide>
auto max_of_planes(bool winners) {
  return winners ? max_planes<true, kWide> : max_planes<false, kWide>;
}

// Planes that go through L1 column by column.
int64_t planes_together(const Windows& w) {
  constexpr int64_t kTogether = 16 * 1024;  // floats
  return w.in_plane() < kTogether ? kTogether / (w.in_plane() + 1) + 1 : 1;
}
// Calls f(first, last) for groups of them, whose successors are on their way meanwhile: rows that are read column by
// column are no stream that a processor would fetch ahead by itself. conv.pool.max2.forward 2.44 -> 0.55 ms,
// max3s2 2.66
// -> 1.31, avg2 3.71 -> 0.38, by this and by taps without masks or addresses of their own (AMD EPYC, Zen 3).
template <class F>
TORCH_INLINE void each_group(const Windows& w, const float* x, int64_t first, int64_t last, F f) {
  const int64_t together = planes_together(w);
  const auto fetch = [&](int64_t from, int64_t to) {
    const float* const end = x + to * w.in_plane();
    for (const float* p = x + from * w.in_plane(); p < end; p += 16) __builtin_prefetch(p, 0, 2);
  };
  fetch(first, first + together < last ? first + together : last);
  for (int64_t begin = first; begin < last; begin += together) {
    const int64_t end = begin + together < last ? begin + together : last;
    fetch(end, end + together < last ? end + together : last);
    f(begin, end);
  }
}

int64_t taps_two_apart(const Windows& w) { return w.stride[2] == 2 && w.dilation[2] == 1 ? w.kernel[2] : 0; }

void max_forward_f32(const Windows& w, const float* x, float* y, void* winners) {
  if (!is_vector_case(w)) {
    if (pool::winners_fit_a_byte(w))
      max_forward(w, x, y, static_cast<uint8_t*>(winners));
    else
      max_forward(w, x, y, static_cast<int32_t*>(winners));
    return;
  }
  const int64_t wide = taps_two_apart(w);
  const auto planes = wide == 2   ? max_of_planes<2>(winners)
                      : wide == 3 ? max_of_planes<3>(winners)
                                  : max_of_planes<0>(winners);
  for_planes(w.planes, w.out_plane() * w.taps() / 4, [&](int64_t first, int64_t last) {
    each_group(w, x, first, last,
               [&](int64_t begin, int64_t end) { planes(w, x, y, static_cast<uint8_t*>(winners), begin, end); });
  });
}

// dx[position] = sum over the windows that see it of their shares, for strides of 1 and 2.
// The positions (r + stride * j) of a row, j = 0, 1, ..., have the same taps. What a row or a column of inputs sees is
// the same in every plane: it is found once, by divisions, and kept in tables of the thread that calls.
class Gather {
 public:
  explicit Gather(const Windows& w) : w_(w), stride_(int(w.stride[2])) {
    for (int r = 0; r < stride_; r++) {
      for (int64_t s = 0; s < w.kernel[2]; s++) {
        const int64_t shift = r + w.padding[2] - s * w.dilation[2];
        if (shift % stride_ == 0) shifts_[count_++] = int(shift / stride_);
      }
      end_[r] = count_;
    }
    int64_t* table = conv::workspace_of<int64_t>(conv::Slot::Runs, w.in[0] * slot(0) + w.in[1] * slot(1));
    find_windows(0, table);
    find_windows(1, table + w.in[0] * slot(0));
  }
  static bool applies(const Windows& w) {
    return w.stride[2] <= 2 && w.kernel[2] <= kColumns && w.kernel[0] * w.kernel[1] <= kRows;
  }

  void plane(float* dx, const float* shares) const {
    for (int64_t z = 0; z < w_.in[0]; z++)
      for (int64_t y = 0; y < w_.in[1]; y++) {
        int64_t rows[kRows];  // output index of the first window of each
        const int count = find_rows(z, y, rows);
        for (int64_t j = 0; j * stride_ < w_.in[2]; j += W) {
          const auto seen = [&](int first, int last) {
            V sum{};
            for (int t = first; t < last; t++) {
              const int64_t column = j + shifts_[t];  // window of lane 0
              if (column <= -W || column >= w_.out[2]) continue;
              const LaneMask mask =
                  column >= 0 && column + W <= w_.out[2]
                      ? S::kAll
                      : lane_range(column < 0 ? int(-column) : 0, int(w_.out[2] - column < W ? w_.out[2] - column : W));
              for (int q = 0; q < count; q++) sum += S::load(mask, shares + rows[q] + column);
            }
            return sum;
          };
          const V first = seen(0, end_[0]);
          const auto write = [&](int64_t at, V v) {
            if (at < w_.in[2]) store_some(first_lanes(int(w_.in[2] - at < W ? w_.in[2] - at : W)), dx + at, v);
          };
          if (stride_ == 1) {
            write(j, first);
          } else {
            const V second = seen(end_[0], end_[1]);
            write(2 * j, S::zip_low(first, second)), write(2 * j + W, S::zip_high(first, second));
          }
        }
        dx += w_.in[2];
      }
  }

 private:
  static constexpr int kRows = 64;

  // For each position along dim 0 or 1: how many windows see it, then these.
  int64_t slot(int dim) const { return 1 + w_.kernel[dim]; }
  void find_windows(int dim, int64_t* table) {
    seen_[dim] = table;
    for (int64_t i = 0; i < w_.in[dim]; i++, table += slot(dim)) {
      table[0] = 0;
      for (int64_t tap = 0; tap < w_.kernel[dim]; tap++) {
        const int64_t start = i + w_.padding[dim] - tap * w_.dilation[dim], window = start / w_.stride[dim];
        if (start < 0 || start % w_.stride[dim] || window >= w_.out[dim]) continue;
        table[1 + table[0]++] = window;
      }
    }
  }
  int find_rows(int64_t z, int64_t y, int64_t* rows) const {
    const int64_t *along_z = seen_[0] + z * slot(0), *along_y = seen_[1] + y * slot(1);
    int count = 0;
    for (int64_t a = 1; a <= along_z[0]; a++)
      for (int64_t b = 1; b <= along_y[0]; b++) rows[count++] = (along_z[a] * w_.out[1] + along_y[b]) * w_.out[2];
    return count;
  }

  const Windows& w_;
  const int stride_;
  int shifts_[2 * kColumns];
  int count_ = 0, end_[2];
  const int64_t* seen_[2];
};

template <int kWide, bool kInside>
TORCH_INLINE void average_column(const Windows& w, const Rows& rows_of, const Column& column, const float* row_counts,
                                 V along_row, const float* x, float* y, int64_t first, int64_t last) {
  for (int64_t p = first; p < last; p++) {
    const float* plane = x + p * w.in_plane() + column.at * w.stride[2] - w.padding[2];
    rows_of.each([&](int64_t row, const Rows::Line& along_z, const Rows::Line& along_y, int64_t, int64_t) {
      V sum{};
      for (const Rows::Tap& z : along_z)
        for (const Rows::Tap& t : along_y)
          each_tap<kWide, kInside>(w, column, plane + z.offset + t.offset,
                                   [&](int, V v) __attribute__((always_inline)) { sum += v; });
      const V count = along_row * row_counts[row];
      store_some(column.keep, y + p * w.out_plane() + row * w.out[2] + column.at, count == V{} ? V{} : sum / count);
    });
  }
}
template <int kWide>
void average_planes(const Windows& w, Divisor divisor, const float* x, float* y, int64_t first, int64_t last) {
  const Rows rows_of(w);
  float* row_counts = conv::workspace_of<float>(conv::Slot::Tile, w.out[0] * w.out[1]);
  rows_of.each([&](int64_t row, const Rows::Line&, const Rows::Line&, int64_t oz, int64_t oy) {
    row_counts[row] = float(divisor.given ? divisor.given : counted(w, divisor, 0, oz) * counted(w, divisor, 1, oy));
  });
  each_group(w, x, first, last, [&](int64_t begin, int64_t end) {
    Column::each(w, [&](const Column& column) {
      V along_row = S::fill(1.f);
      if (!divisor.given)
        for (int l = 0; l < W && column.at + l < w.out[2]; l++)
          along_row[l] = float(counted(w, divisor, 2, column.at + l));
      if (column.inside_row)
        average_column<kWide, true>(w, rows_of, column, row_counts, along_row, x, y, begin, end);
      else
        average_column<kWide, false>(w, rows_of, column, row_counts, along_row, x, y, begin, end);
    });
  });
}
void average_forward_f32(const Windows& w, Divisor divisor, const float* x, float* y) {
  if (w.kernel[2] > kColumns) return average_forward(w, divisor, x, y);
  const int64_t wide = taps_two_apart(w);
  const auto planes = wide == 2 ? average_planes<2> : wide == 3 ? average_planes<3> : average_planes<0>;
  for_planes(w.planes, w.out_plane() * w.taps() / 4,
             [&](int64_t first, int64_t last) { planes(w, divisor, x, y, first, last); });
}

void average_backward_f32(const Windows& w, Divisor divisor, const float* dy, float* dx) {
  if (!Gather::applies(w)) return average_backward(w, divisor, dy, dx);
  const Gather gather(w);
  for_planes(w.planes, w.in_plane() + w.out_plane() * w.taps() / 4, [&](int64_t first, int64_t last) {
    const Rows rows_of(w);
    float* shares = conv::workspace_of<float>(conv::Slot::Tile, w.out_plane() + w.out[2]);
    float* along_row = shares + w.out_plane();
    for (int64_t s = 0; s < w.out[2]; s++) along_row[s] = divisor.given ? 1.f : float(counted(w, divisor, 2, s));
    for (int64_t p = first; p < last; p++) {
      const float* g = dy + p * w.out_plane();
      rows_of.each([&](int64_t row, const Rows::Line&, const Rows::Line&, int64_t oz, int64_t oy) {
        const float rows =
            float(divisor.given ? divisor.given : counted(w, divisor, 0, oz) * counted(w, divisor, 1, oy));
        for (int64_t s = 0; s < w.out[2]; s++) {
          const float count = rows * along_row[s];
          shares[row * w.out[2] + s] = count != 0 ? g[row * w.out[2] + s] / count : 0.f;
        }
      });
      gather.plane(dx + p * w.in_plane(), shares);
    }
  });
}

// One bin per plane: the mean, and its spreading back.
void bins_average_forward_f32(const Bins& b, const float* x, float* y) {
  if (b.out_plane() != 1) return bins_average_forward(b, x, y);
  const int64_t plane = b.in_plane();
  for_planes(b.planes, plane / 4, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const float* s = x + p * plane;
      V sum[4] = {};
      int64_t i = 0;
      for (; i + 4 * W <= plane; i += 4 * W)
        for (int k = 0; k < 4; k++) sum[k] += S::load(s + i + k * W);
      for (; i < plane; i += W) sum[0] += S::load(first_lanes(int(plane - i < W ? plane - i : W)), s + i);
      y[p] = S::sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / float(plane);
    }
  });
}
void bins_average_backward_f32(const Bins& b, const float* dy, float* dx) {
  if (b.out_plane() != 1) return bins_average_backward(b, dy, dx);
  const int64_t plane = b.in_plane();
  for_planes(b.planes, plane / 4, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const V share = S::fill(dy[p] / float(plane));
      int64_t i = 0;
      for (; i + W <= plane; i += W) S::store(dx + p * plane + i, share);
      if (i < plane) S::store(first_lanes(int(plane - i)), dx + p * plane + i, share);
    }
  });
}

// The forms of pooling.h, for a byte or four per winner.
template <class T>
void plain_max_forward(const Windows& w, const T* x, T* y, void* winners) {
  if (pool::winners_fit_a_byte(w))
    max_forward(w, x, y, static_cast<uint8_t*>(winners));
  else
    max_forward(w, x, y, static_cast<int32_t*>(winners));
}
template <class T>
void plain_max_backward(const Windows& w, const T* dy, const void* winners, T* dx) {
  if (pool::winners_fit_a_byte(w))
    max_backward(w, dy, static_cast<const uint8_t*>(winners), dx);
  else
    max_backward(w, dy, static_cast<const int32_t*>(winners), dx);
}
template <class T>
void plain_max_gather(const Windows& w, const T* x, const void* winners, T* y) {
  if (pool::winners_fit_a_byte(w))
    max_gather(w, x, static_cast<const uint8_t*>(winners), y);
  else
    max_gather(w, x, static_cast<const int32_t*>(winners), y);
}

void plain_max_indices(const Windows& w, const void* winners, int64_t* indices) {
  if (pool::winners_fit_a_byte(w))
    max_indices(w, static_cast<const uint8_t*>(winners), indices);
  else
    max_indices(w, static_cast<const int32_t*>(winners), indices);
}

}  // namespace

void add_pooling(pool::Kernels<float>& f32, pool::Kernels<double>& f64, pool::Kernels<int64_t>& i64) {
  f32.max_forward = max_forward_f32;
  f32.max_backward = plain_max_backward<float>;
  f32.max_gather = plain_max_gather<float>;
  f32.average_forward = average_forward_f32;
  f32.average_backward = average_backward_f32;
  f32.bins_max_forward = bins_max_forward<float>;
  f32.bins_average_forward = bins_average_forward_f32;
  f32.bins_average_backward = bins_average_backward_f32;
  f64.max_forward = plain_max_forward<double>;
  f64.max_backward = plain_max_backward<double>;
  f64.max_gather = plain_max_gather<double>;
  f64.average_forward = average_forward<double>;
  f64.average_backward = average_backward<double>;
  f64.bins_max_forward = bins_max_forward<double>;
  f64.bins_average_forward = bins_average_forward<double>;
  f64.bins_average_backward = bins_average_backward<double>;
  i64.max_forward = plain_max_forward<int64_t>;
  i64.max_indices = plain_max_indices;
  i64.bins_max_forward = bins_max_forward<int64_t>;
}

}  // namespace torch::TORCH_ISA
