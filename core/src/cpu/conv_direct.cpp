// Direct convolution on phase planes: no patches are packed at all, so it wins where a patch would be used by few rows
// (the first layer's gradient, grouped and depthwise convolutions) and where patches are large (7x7 and up).
//
// Where a vector holds output channels, positions of the planes are broadcast against packed weights [step][outputs]:
// narrow rows of outputs then waste no lanes, and few outputs pay for no patches.
//
// Positions in lanes are numbered along the flattened phase plane, whose rows are a little longer than those of the
// output; the few positions past a row's end are computed and dropped.
#include "kernels/conv_planes.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "levels/caches.h"
#include "ops/conv/workspace.h"
#include "storage/forms.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Direct;
using conv::Slot;
using conv::workspace_of;
using S = Simd<float>;
using V = S::V;

// Vectors of positions per row of a tile: as many as the registers hold, so that one or three output channels still
// fill the multiply-add units.
constexpr int vectors_for(int rows) {
  constexpr int wide[] = {8, 8, 8, 6, 5, 4, 4, 3, 3, 2, 2, 2, 2, 2}, half[] = {8, 5, 4, 3, 2, 2},
                plain[] = {6, 4, 3, 2};
  return kVectorRegisters == 32 ? wide[rows - 1] : kMaxRows == 6 ? half[rows - 1] : plain[rows - 1];
}
constexpr int kSlack = 16 * S::kWidth;       // floats that a tile may read past the last plane
constexpr int64_t kBandFloats = 64 * 1024;   // phase planes of one band of rows: a part of L2
constexpr int64_t kFarWeights = 256 * 1024;  // of a panel of outputs: a part of L2
constexpr int64_t kNearWeights = 16 * 1024;  // a part of L1
constexpr int kManyTaps = 96;                // a channel by itself is enough for a tile of sums

template <int kRows, int kVectors, int... I>
TORCH_INLINE void direct_tile(std::integer_sequence<int, I...>, int steps, const int* offset, const float* weights,
                              const float* plane, float* out, int64_t out_row, const float* bias, LaneMask last) {
  V sum[kRows * kVectors];
  if (bias)
    ((sum[I] = S::fill(bias[I / kVectors])), ...);
  else
    ((sum[I] = V{}), ...);
  // Outputs come before they are made, those of the tile after the next: 3 to 32 channels, 224 x 224, with a stride of
  // 2, take 384 us instead of 496 with 16 MB in use besides, and 281 instead of 266 where all is near, if they come
  // with their own tile (one thread, AMD EPYC, Zen 4); two tiles before, 118 us instead of 121 (Zen 5).
  if (kPrefetches)
    ((__builtin_prefetch(out + I / kVectors * out_row + (2 * kVectors + I % kVectors) * S::kWidth, 1)), ...);
  for (int k = 0; k < steps; k++, weights += kRows) {
    const float* b = plane + offset[k];
    if (kPrefetches) __builtin_prefetch(weights + 16 * kRows);
    if constexpr (kRows >= kVectors) {
      V v[kVectors];
      for (int q = 0; q < kVectors; q++) v[q] = S::load(b + q * S::kWidth);
      ((sum[I] += S::fill(weights[I / kVectors]) * v[I % kVectors]), ...);
    } else {
      V w[kRows];
      for (int q = 0; q < kRows; q++) w[q] = S::fill(weights[q]);
      ((sum[I % kRows * kVectors + I / kRows] += w[I % kRows] * S::load(b + I / kRows * S::kWidth)), ...);
    }
  }
  if (kVectorRegisters == 16 || last == S::kAll)
    ((S::store(out + I / kVectors * out_row + I % kVectors * S::kWidth, sum[I])), ...);
  else
    ((S::store(I % kVectors == kVectors - 1 ? last : S::kAll, out + I / kVectors * out_row + I % kVectors * S::kWidth,
               sum[I])),
     ...);
}

// `last`: lanes of the last vector that are written; all where a masked store takes long.
using Kernel = void (*)(int, const int*, const float*, const float*, float*, int64_t, const float*, LaneMask last);
template <int kRows, int kVectors>
void direct_tile(int steps, const int* offset, const float* weights, const float* plane, float* out, int64_t out_row,
                 const float* bias, LaneMask last) {
  direct_tile<kRows, kVectors>(std::make_integer_sequence<int, kRows * kVectors>{}, steps, offset, weights, plane, out,
                               out_row, bias, last);
}
template <int kRows, int... V>
Kernel kernel_of_rows(std::integer_sequence<int, V...>, int vectors) {
  static constexpr Kernel table[] = {direct_tile<kRows, V + 1>...};
  return table[vectors - 1];
}
template <int... R>
Kernel kernel_for(std::integer_sequence<int, R...>, int rows, int vectors) {
  static constexpr Kernel (*table[])(int) = {[](int vectors) {
    if constexpr (kVectorRegisters == 32)
      return kernel_of_rows<R + 1>(std::make_integer_sequence<int, vectors_for(R + 1)>{}, vectors);
    else
      return Kernel(direct_tile<R + 1, vectors_for(R + 1)>);
  }...};
  return table[rows - 1](vectors);
}
Kernel kernel_for(int rows, int vectors) {
  return kernel_for(std::make_integer_sequence<int, kMaxRows>{}, rows, vectors);
}

// sum[position][output] of kRows neighbouring positions and a panel of outputs; kNarrow: of one vector of them. `more`:
// the sums of earlier steps go on.
template <bool kNarrow, int... I>
TORCH_INLINE void outputs_tile(std::integer_sequence<int, I...>, int steps, const int* offset, const float* weights,
                               const float* plane, float* out, V bias_low, V bias_high, bool more) {
  V low[sizeof...(I)], high[sizeof...(I)];
  if (more)
    ((low[I] = S::load(out + I * kPanel<float>),
      high[I] = kNarrow ? bias_high : S::load(out + I * kPanel<float> + S::kWidth)),
     ...);
  else
    ((low[I] = bias_low, high[I] = bias_high), ...);
  for (int k = 0; k < steps; k++, weights += kPanel<float>) {
    const float* a = plane + offset[k];
    const V b0 = S::load(weights), b1 = kNarrow ? b0 : S::load(weights + S::kWidth);
    __builtin_prefetch(weights + 8 * kPanel<float>);
    if (!kNarrow) __builtin_prefetch(weights + 8 * kPanel<float> + S::kWidth);
    (([&]() __attribute__((always_inline)) {
       const V x = S::fill(a[I]);
       low[I] += x * b0;
       if (!kNarrow) high[I] += x * b1;
     }()),
     ...);
  }
  ((S::store(out + I * kPanel<float>, low[I])), ...);
  if (!kNarrow) ((S::store(out + I * kPanel<float> + S::kWidth, high[I])), ...);
}
using OutputsKernel = void (*)(int, const int*, const float*, const float*, float*, V, V, bool);
template <bool kNarrow, int kRows>
void outputs_tile(int steps, const int* offset, const float* weights, const float* plane, float* out, V bias_low,
                  V bias_high, bool more) {
  outputs_tile<kNarrow>(std::make_integer_sequence<int, kRows>{}, steps, offset, weights, plane, out, bias_low,
                        bias_high, more);
}
template <bool kNarrow, int... R>
OutputsKernel outputs_kernel_for(std::integer_sequence<int, R...>, int rows) {
  static constexpr OutputsKernel table[] = {outputs_tile<kNarrow, R + 1>...};
  return table[rows - 1];
}

class DirectConvolution {
 public:
  explicit DirectConvolution(const Direct& job)
      : job_(job),
        rows_(job.rows),
        packed_rows_(job.outputs_in_lanes ? (job.rows + kPanel<float> - 1) / kPanel<float> * kPanel<float> : job.rows) {
    int widest = 0;
    for (int f = 0; f < job.phase_count; f++) {
      tallest_ = job.phases[f].grid.h > tallest_ ? job.phases[f].grid.h : tallest_;
      widest = job.phases[f].grid.w > widest ? job.phases[f].grid.w : widest;
    }
    const int pitch = widest + job.right;
    const int64_t per_row = job.depth_count * job.channels * job.stride[1] * job.stride[2] * pitch;
    int64_t band = kBandFloats / per_row - job.below;
    band = band < 4 ? 4 : band > tallest_ ? tallest_ : band;
    bands_ = int((tallest_ + band - 1) / band);
    band_ = (tallest_ + bands_ - 1) / bands_;
    split_ = {job.h, job.w, job.stride[1], job.stride[2], job.top, job.left, band_ + job.below, pitch};
    steps_ = job.channels * job.tap_count;
    out_channel_ = int64_t(job.out_d) * job.out_h * job.out_w;
    outputs_ = job.images * job.groups * job.rows * out_channel_;
    epilogue_ = take_epilogue(job.out, outputs_);
    by_bands_ = job.phase_count == 1 && job.phases[0].step[1] == 1 && job.phases[0].step[2] == 1 &&
                tallest_ == job.out_h && widest == job.out_w;
  }

  void run() {
    // Weights of all groups: for each phase, for each row panel, [step][rows]; and where each step reads the planes.
    const auto pack_all = [&](float* to) {
      const int64_t tasks = tasks_for(4.0 * job_.groups * job_.rows * steps_, job_.groups);
      parallel_run(tasks, [&](int64_t task) {
        for (int64_t g = part(job_.groups, task, tasks); g < part(job_.groups, task + 1, tasks); g++)
          job_.outputs_in_lanes ? pack_outputs(to + g * packed_rows_ * steps_, g)
                                : pack(to + g * packed_rows_ * steps_, g);
      });
    };
    const float* weights = packed_once(pack_all);
    if (!weights) {
      float* to = workspace_of<float>(Slot::Weights, job_.groups * packed_rows_ * steps_);
      pack_all(to);
      weights = to;
    }
    int* offsets = workspace_of<int>(Slot::Runs, steps_);
    find_offsets(offsets);
    const int64_t pieces = job_.images * job_.groups * job_.out_d * bands_;
    const double positions = double(job_.images) * job_.phases[0].grid.d * tallest_ * split_.pitch;
    const int64_t tasks = tasks_for(positions * job_.groups * job_.rows * steps_, pieces);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(pieces, task, tasks); k < part(pieces, task + 1, tasks); k++)
        band(k / job_.out_d / bands_ / job_.groups, k / job_.out_d / bands_ % job_.groups, int(k % job_.out_d),
             int(k / job_.out_d % bands_), weights, offsets);  // slices of a band: they share what they read
    });
    if (!by_bands_) finish_all(epilogue_, outputs_);
  }

 private:
  template <class F>
  const float* packed_once(const F& pack_all) const {
    const FormKey key{job_.weights,
                      FormKind::Direct,
                      {job_.groups, job_.rows, job_.channels, job_.tap_count, job_.weight_row, job_.weight_channel,
                       job_.weight_group, taps_number(job_.phases, job_.phase_count), job_.outputs_in_lanes}};
    return form_of<float>(key, job_.groups * packed_rows_ * steps_, pack_all);
  }
  void pack(float* d, int64_t group) const {
    const float* w = job_.weights + group * job_.weight_group;
    for (int f = 0; f < job_.phase_count; f++)
      for (int64_t i = 0; i < rows_.count; i++)
        for (int64_t c = 0; c < job_.channels; c++)
          for (int t = 0; t < job_.phases[f].tap_count; t++)
            for (int r = 0; r < rows_.size(i); r++)
              *d++ = w[(rows_.begin(i) + r) * job_.weight_row + c * job_.weight_channel + job_.phases[f].taps[t].index];
  }
  // For each phase, for each panel of outputs, [step][kPanel]; zero beyond the last output.
  void pack_outputs(float* d, int64_t group) const {
    constexpr int64_t kWide = kPanel<float>;
    const float* w = job_.weights + group * job_.weight_group;
    for (int f = 0; f < job_.phase_count; f++) {
      const Phase& p = job_.phases[f];
      const int64_t steps = job_.channels * p.tap_count;
      const bool whole = job_.phase_count == 1 && p.taps[p.tap_count - 1].index == p.tap_count - 1 &&
                         job_.weight_channel == p.tap_count;
      for (int64_t row = 0; row < job_.rows; row += kWide, d += steps * kWide)
        for (int64_t v = 0; v < kWide; v += whole ? S::kWidth : 1) {
          const int64_t left = job_.rows - row - v;
          const float* s = w + (left > 0 ? row + v : 0) * job_.weight_row;
          if (whole) {
            const int count = int(left < 0 ? 0 : left < S::kWidth ? left : S::kWidth);
            transpose_strip(d + v, kWide, s, job_.weight_row, count, steps, S::kAll);
            continue;
          }
          for (int64_t c = 0, k = 0; c < job_.channels; c++)
            for (int t = 0; t < p.tap_count; t++, k++)
              d[k * kWide + v] = left > 0 ? s[c * job_.weight_channel + p.taps[t].index] : 0.f;
        }
    }
  }
  void find_offsets(int* offset) const {
    int depth = 0;  // taps of one depth follow each other
    for (int f = 0; f < job_.phase_count; f++)
      for (int64_t c = 0; c < job_.channels; c++)
        for (int t = 0; t < job_.phases[f].tap_count; t++) {
          const Tap& tap = job_.phases[f].taps[t];
          const int y = tap.dy + job_.top, x = tap.dx + job_.left;
          while (job_.depths[depth] != tap.dz) depth = depth + 1 < job_.depth_count ? depth + 1 : 0;
          *offset++ = int(depth * job_.channels * split_.channel() +
                          (c * split_.sy * split_.sx + y % split_.sy * split_.sx + x % split_.sx) * split_.plane() +
                          y / split_.sy * split_.pitch + x / split_.sx);
        }
  }

  // [depth][channel] of a band, for position z of the phases; zero beyond the first and the last slice.
  void fill_planes(float* planes, const float* source, int z, int first_row) const {
    const int64_t slice = int64_t(job_.h) * job_.w, size = job_.channels * split_.channel();
    for (int k = 0; k < job_.depth_count; k++, planes += size) {
      const int from = z * job_.stride[0] + job_.depths[k];
      if (unsigned(from) >= unsigned(job_.d))
        std::memset(planes, 0, size_t(size) * sizeof(float));
      else
        split_planes(planes, source + from * slice, job_.channels, job_.d * slice, split_, first_row);
    }
  }

  void band(int64_t image, int64_t group, int slice, int index, const float* weights, const int* offsets) const {
    const int64_t channels = job_.groups * job_.channels;
    const float* source = job_.image + (image * channels + group * job_.channels) * job_.d * job_.h * job_.w;
    float* planes = workspace_of<float>(Slot::Planes, job_.depth_count * job_.channels * split_.channel() + kSlack);
    fill_planes(planes, source, slice / job_.phases[0].step[0], index * band_);
    const int64_t row = group * job_.rows;
    float* out =
        job_.out + (image * job_.groups * job_.rows + row) * out_channel_ + int64_t(slice) * job_.out_h * job_.out_w;
    weights += group * packed_rows_ * steps_;
    for (int f = 0; f < job_.phase_count; f++) {
      const Phase& p = job_.phases[f];
      const int first = index * band_, rows = p.grid.h - first < band_ ? p.grid.h - first : band_;
      const int steps = int(job_.channels) * p.tap_count;
      const float* bias = job_.bias ? job_.bias + row : nullptr;
      if (rows > 0 && slice % p.step[0] == p.origin[0]) {
        if (job_.outputs_in_lanes)
          phase_of_outputs(p, first, rows, steps, weights, offsets, planes, out, bias);
        else
          phase(p, first, rows, steps, weights, offsets, planes, out, bias);
      }
      weights += packed_rows_ * steps;
      offsets += steps;
    }
    const int first = index * band_, rows = job_.out_h - first < band_ ? job_.out_h - first : band_;
    if (by_bands_ && rows > 0)
      epilogue_((out - job_.out) + int64_t(first) * job_.out_w, job_.rows, out_channel_, int64_t(rows) * job_.out_w);
  }

  // `rows` rows of the phase's positions from `first` on, all output channels.
  void phase(const Phase& p, int first, int rows, int steps, const float* weights, const int* offsets,
             const float* planes, float* out, const float* bias) const {
    alignas(64) float tile[kMaxRows * 8 * S::kWidth];
    const int64_t out_plane = out_channel_;
    const int pitch = split_.pitch, count = (rows - 1) * pitch + p.grid.w, step = p.step[2];
    if (kVectorRegisters == 32 ? row_by_row(p, steps) : by_rows(p, steps, vectors_for(rows_.size(0)) * S::kWidth))
      return each_row(p, first, rows, steps, weights, offsets, planes, out, bias);
    // Panels of rows outside: the weights of one stay near, and its outputs are written along a few planes. With
    // row_by_row, 3 to 16 channels of 224 x 224, 3 x 3 and a stride of 2, take 71 us instead of 78 (one thread, AMD
    // EPYC, Zen 5).
    for (int64_t i = 0; i < rows_.count; i++) {
      const int r = rows_.size(i), width = vectors_for(r) * S::kWidth;
      const Kernel kernel = kernel_for(r, vectors_for(r));
      const float *w = weights + rows_.begin(i) * steps, *b = bias ? bias + rows_.begin(i) : nullptr;
      float* planes_out = out + rows_.begin(i) * out_plane;
      for (int q = 0; q < count; q += width) {
        const int y0 = q / pitch, x0 = q % pitch, stop = q + width < count ? q + width : count;
        if (step == 1 && x0 + width <= p.grid.w && p.step[1] == 1) {
          kernel(steps, offsets, w, planes + q, planes_out + int64_t(first + y0) * job_.out_w + x0, out_plane, b,
                 S::kAll);
          continue;
        }
        kernel(steps, offsets, w, planes + q, tile, width, b, S::kAll);
        for (int t = q; t < stop;) {  // the pieces of rows within the tile
          const int y = t / pitch, x = t % pitch, left = p.grid.w - x, length = left < stop - t ? left : stop - t;
          float* d = planes_out + (int64_t(first + y) * p.step[1] + p.origin[1]) * job_.out_w + int64_t(x) * step +
                     p.origin[2];
          for (int k = 0; k < r && length > 0; k++)
            copy_row(d + k * out_plane, tile + k * width + (t - q), length, step);
          t += pitch - x;
        }
      }
    }
  }
  // Tiles of one row each store where outputs lie; those along the plane cross rows and are copied, as long as some
  // steps, and compute what lies between rows.
  bool row_by_row(const Phase& p, int steps) const {
    constexpr int kCopied = 10, kSums = 8;  // sums that two units of multiply-adds, four cycles each, do not wait for
    const int vectors = (p.grid.w + S::kWidth - 1) / S::kWidth, least = rows_.size(rows_.count - 1),
              tiles = (vectors + vectors_for(least) - 1) / vectors_for(least);
    return p.step[1] == 1 && p.step[2] == 1 && vectors / tiles * least >= kSums &&
           double(vectors * S::kWidth - split_.pitch) * steps <
               double(kCopied) * S::kWidth * vectors_for(rows_.size(0));
  }
  // Where stores with a mask take long, the last tile of a row computes some places once more.
  // conv.mnist.1-32-k3.forward: 2.5 -> 1.4 ms (Zen 3).
  bool by_rows(const Phase& p, int steps, int wide) const {
    constexpr int kCopied = 25;
    const int w = p.grid.w, tiles = (w + wide - 1) / wide, more = tiles * wide - split_.pitch;
    const bool same = vectors_for(rows_.size(rows_.count - 1)) * S::kWidth == wide;
    return same && p.step[1] == 1 && p.step[2] == 1 && w >= wide &&
           (more <= 0 || double(more) * steps < double(kCopied) * (wide < w ? wide : w));
  }
  void each_row(const Phase& p, int first, int rows, int steps, const float* weights, const int* offsets,
                const float* planes, float* out, const float* bias) const {
    const int64_t out_plane = out_channel_;
    const int w = p.grid.w, all = (w + S::kWidth - 1) / S::kWidth;
    for (int64_t i = 0; i < rows_.count; i++) {
      const int most = vectors_for(rows_.size(i)), tiles = (all + most - 1) / most;
      for (int y = 0; y < rows; y++)
        for (int t = 0, at = 0; t < tiles; t++) {
          const int vectors = kVectorRegisters == 32 ? (all + t) / tiles : most;  // even parts
          const int x = kVectorRegisters == 32 || at + vectors * S::kWidth <= w ? at : w - vectors * S::kWidth;
          kernel_for(rows_.size(i), vectors)(
              steps, offsets, weights + rows_.begin(i) * steps, planes + y * split_.pitch + x,
              out + rows_.begin(i) * out_plane + int64_t(first + y) * job_.out_w + x, out_plane,
              bias ? bias + rows_.begin(i) : nullptr, first_lanes(w - x - (vectors - 1) * S::kWidth) & S::kAll);
          at = x + vectors * S::kWidth;
        }
    }
  }
  void phase_of_outputs(const Phase& p, int first, int rows, int steps, const float* weights, const int* offsets,
                        const float* planes, float* out, const float* bias) const {
    constexpr int W = S::kWidth, kWide = kPanel<float>;
    alignas(64) float tile[kMaxRows * kWide];
    const int64_t out_plane = out_channel_;
    const RowPanels across(p.grid.w);
    const auto sizes = std::make_integer_sequence<int, kMaxRows>{};
    const int piece = steps_of_outputs(p, steps);
    const bool skips = p.tap_count >= kManyTaps;
    // Where steps come in pieces, the sums of all positions wait for the next.
    float* const sums = piece < steps ? workspace_of<float>(Slot::Tile, int64_t(rows) * p.grid.w * kWide) : nullptr;
    for (int64_t row = 0; row < job_.rows; row += kWide) {
      const int left = int(job_.rows - row < kWide ? job_.rows - row : kWide);
      const LaneMask low = first_lanes(left) & S::kAll, high = first_lanes(left) >> W & S::kAll;
      const V bias_low = bias ? S::load(low, bias + row) : V{}, bias_high = bias ? S::load(high, bias + row + W) : V{};
      for (int k = 0; k < steps; k += piece) {
        const int some = steps - k < piece ? steps - k : piece;
        for (int y = 0; y < rows; y++) {
          int from = k, to = k + some;
          if (skips) taps_inside(p, first + y, from, to);
          for (int64_t i = 0; i < across.count; i++) {
            const int x = int(across.begin(i)), count = across.size(i);
            const OutputsKernel kernel =
                high ? outputs_kernel_for<false>(sizes, count) : outputs_kernel_for<true>(sizes, count);
            float* const sum = sums ? sums + (int64_t(y) * p.grid.w + x) * kWide : tile;
            kernel(to - from, offsets + from, weights + row * steps + int64_t(from) * kWide,
                   planes + y * split_.pitch + x, sum, bias_low, bias_high, k > 0);
            if (k + some < steps) continue;
            float* d = out + row * out_plane + (int64_t(first + y) * p.step[1] + p.origin[1]) * job_.out_w +
                       int64_t(x) * p.step[2] + p.origin[2];
            if (p.step[2] == 1) {
              for (int v = 0; v < left; v += W)
                transpose_strip(d + v * out_plane, out_plane, sum + v, kWide, count, left - v < W ? left - v : W,
                                first_lanes(count));
              continue;
            }
            for (int o = 0; o < left; o++)
              for (int l = 0; l < count; l++) d[o * out_plane + int64_t(l) * p.step[2]] = sum[l * kWide + o];
          }
        }
      }
    }
  }
  // Of the taps of a channel, those from the first to the last that reads a row of the image for row y of the phase.
  void taps_inside(const Phase& p, int y, int& from, int& to) const {
    const auto outside = [&](int step) {
      return unsigned(y * job_.stride[1] + p.taps[step % p.tap_count].dy) >= unsigned(job_.h);
    };
    while (from < to && outside(from)) from++;
    while (from < to && outside(to - 1)) to--;
  }
  // Steps of whole channels whose weights stay in the first cache beside the planes, where those of a panel of outputs
  // would be fetched from afar for each tile; with many taps one channel, of which what lies beyond the image is left
  // out, whatever the cache: the gradient of the images of 32 to 48 channels, 13 x 13, four of 55 x 55, 25.2 -> 21.1 ms
  // (one thread, AMD EPYC, Zen 5).
  int steps_of_outputs(const Phase& p, int steps) const {
    constexpr int64_t kStep = kPanel<float> * int64_t(sizeof(float));
    if (p.tap_count >= kManyTaps) return p.tap_count;
    if (steps * kStep <= part_of_second_cache(kFarWeights)) return steps;
    const int64_t fit = part_of_first_cache(kNearWeights) / (kStep * p.tap_count);
    return int((fit < 1 ? 1 : fit) * p.tap_count);
  }
  template <int kPart>
  static TORCH_INLINE void copy_some(float* d, const float* s, int length) {  // fewer than 2 * kPart
    if (length & kPart) std::memcpy(d, s, kPart * sizeof(float)), d += kPart, s += kPart;
    if constexpr (kPart > 1) copy_some<kPart / 2>(d, s, length);
  }
  // The last vector of a row overlaps the one before. With `length` lanes of a mask instead, a row of 26 would take two
  // such stores (conv_simd.h).
  static TORCH_INLINE void copy_row(float* d, const float* s, int length, int step) {
    if (step > 1) {
      for (int l = 0; l < length; l++) d[int64_t(l) * step] = s[l];
    } else if (length >= S::kWidth) {
      for (int l = 0; l + S::kWidth <= length; l += S::kWidth) S::store(d + l, S::load(s + l));
      S::store(d + length - S::kWidth, S::load(s + length - S::kWidth));
    } else if (kVectorRegisters == 32) {
      const LaneMask mask = first_lanes(length) & S::kAll;
      S::store(mask, d, S::load(mask, s));
    } else {
      copy_some<S::kWidth / 2>(d, s, length);
    }
  }

  const Direct& job_;
  const RowPanels rows_;
  const int64_t packed_rows_;
  PlaneSplit split_;
  int tallest_ = 0, bands_, band_;
  int64_t steps_, out_channel_, outputs_;
  Epilogue epilogue_;
  bool by_bands_;  // a band has whole rows of the output
};

void direct(const Direct& job) { DirectConvolution(job).run(); }

}  // namespace

void add_conv_direct(conv::Engine& engine) { engine.direct = direct; }

}  // namespace torch::TORCH_ISA
