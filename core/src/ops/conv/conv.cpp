// Chooses the way a convolution is computed, only from its shape, and lays out its taps and phases for the kernels.
#include <algorithm>
#include <vector>

#include "blas/blas.h"
#include "ops/conv/engine.h"
#include "ops/conv/shape.h"
#include "torch/core/pool.h"

namespace torch {
namespace {

using conv::Direct;
using conv::engine;
using conv::Grid;
using conv::Image;
using conv::PatchGemm;
using conv::Phase;
using conv::Tap;
using conv::WeightGradient;
using conv::Winograd;

int64_t group_in(const ConvShape& s) { return s.c / s.groups; }
int64_t group_out(const ConvShape& s) { return s.o / s.groups; }

template <class T>
Image<T> image_of(const T* data, int64_t channels, const int64_t (&size)[3]) {
  const int64_t plane = size[0] * size[1] * size[2];
  return {data, channels * plane, plane, int(size[0]), int(size[1]), int(size[2])};
}

std::vector<Tap> forward_taps(const ConvShape& s) {
  std::vector<Tap> taps;
  taps.reserve(size_t(s.taps()));
  for (int64_t z = 0; z < s.kernel[0]; z++)
    for (int64_t y = 0; y < s.kernel[1]; y++)
      for (int64_t x = 0; x < s.kernel[2]; x++)
        taps.push_back({int(z * s.dilation[0] - s.padding[0]), int(y * s.dilation[1] - s.padding[1]),
                        int(x * s.dilation[2] - s.padding[2]), int(int64_t(taps.size()) * s.weight_tap())});
  return taps;
}

// The phases of the gradient: inputs (z, y, x) with equal remainders modulo the stride see the same taps of the
// outputs.
struct Phases {
  std::vector<Tap> taps;
  std::vector<Phase> phases;
  int tap_count = 0;
  bool covers_all = true;  // false: some inputs are seen by no tap

  explicit Phases(const ConvShape& s) {
    struct Seen {
      int64_t rest[3];
      Tap tap;
    };
    std::vector<Seen> seen;
    for (int64_t i = 0; i < s.taps(); i++) {
      const int64_t place[3] = {i / s.kernel[2] / s.kernel[1], i / s.kernel[2] % s.kernel[1], i % s.kernel[2]};
      Seen t;
      int shift[3];
      bool inside = true;
      for (int k = 0; k < 3; k++) {  // the tap of output j reads input j * stride + at
        const int64_t at = place[k] * s.dilation[k] - s.padding[k], stride = s.stride[k];
        t.rest[k] = (at % stride + stride) % stride;
        shift[k] = int((t.rest[k] - at) / stride);
        inside &= t.rest[k] < s.in[k];
      }
      t.tap = {shift[0], shift[1], shift[2], int(i * s.weight_tap())};
      if (inside) seen.push_back(t);
    }
    std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
      return std::lexicographical_compare(a.rest, a.rest + 3, b.rest, b.rest + 3);
    });
    for (size_t i = 0; i < seen.size(); i++) {
      taps.push_back(seen[i].tap);
      if (i == 0 || !std::equal(seen[i].rest, seen[i].rest + 3, seen[i - 1].rest)) {
        Phase p{};
        int size[3];
        for (int k = 0; k < 3; k++) {
          size[k] = int((s.in[k] - seen[i].rest[k] + s.stride[k] - 1) / s.stride[k]);
          p.step[k] = int(s.stride[k]), p.origin[k] = int(seen[i].rest[k]);
        }
        p.grid = {s.n, size[0], size[1], size[2]};
        p.taps_before = int(i);
        phases.push_back(p);
      }
      phases.back().tap_count++;
    }
    for (Phase& p : phases) p.taps = taps.data() + p.taps_before;
    tap_count = int(taps.size());
    int64_t all = 1;  // phases there would be if each had a tap
    for (int k = 0; k < 3; k++) all *= std::min(s.stride[k], s.in[k]);
    covers_all = int64_t(phases.size()) == all;
  }
};

template <class T>
void run_gemm(const PatchGemm<T>& job, bool channels_last = false) {
  if constexpr (sizeof(T) == 4)
    (channels_last ? engine().last_f32 : engine().gemm_f32)(job);
  else
    (channels_last ? engine().last_f64 : engine().gemm_f64)(job);
}

// One output pixel that sees the whole input, and weights that lie as the input does: three products with an image a
// row.
bool is_one_pixel(const ConvShape& s) {
  bool whole = s.groups == 1 && s.out_plane() == 1 && (s.taps() == 1 || s.channels_last == s.channels_last_weights);
  for (int k = 0; k < 3; k++)
    whole &= s.kernel[k] == s.in[k] && s.padding[k] == 0 && (s.dilation[k] == 1 || s.kernel[k] == 1);
  return whole;
}
template <class T>
MatrixView<T> rows_of(T* data, int64_t length) {
  return {data, length, 1};
}
template <class T>
void product_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t inputs = s.c * s.taps();
  gemm<T>(s.n, s.o, inputs, T(1), rows_of(x, inputs), rows_of(w, inputs).transposed(), T(bias ? 1 : 0), {bias, 0, 1},
          rows_of(y, s.o));
}
template <class T>
void product_backward(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t inputs = s.c * s.taps();
  std::vector<T> each(bias ? size_t(inputs) : 0);  // input's bias
  for (int64_t i = 0; i < int64_t(each.size()); i++) each[size_t(i)] = bias[s.channels_last ? i % s.c : i / s.taps()];
  gemm<T>(s.n, inputs, s.o, T(1), rows_of(dy, s.o), rows_of(w, inputs), T(bias ? 1 : 0), {each.data(), 0, 1},
          rows_of(dx, inputs));
}
template <class T>
void product_weights(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t inputs = s.c * s.taps();
  gemm<T>(s.o, inputs, s.n, T(1), rows_of(dy, s.o).transposed(), rows_of(x, inputs), T(0), {}, rows_of(dw, inputs));
}

template <class T>
void fill_planes(T* out, int64_t images, int64_t channels, int64_t plane, const T* bias, bool channels_last) {
  if (channels_last)
    return parallel_for(images * plane, std::max<int64_t>(1, 65536 / channels), [&](int64_t a, int64_t b) {
      for (int64_t k = a; k < b; k++)
        for (int64_t c = 0; c < channels; c++) out[k * channels + c] = bias ? bias[c] : T(0);
    });
  parallel_for(images * channels, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, plane)), [&](int64_t a, int64_t b) {
    for (int64_t k = a; k < b; k++) std::fill_n(out + k * plane, plane, bias ? bias[k % channels] : T(0));
  });
}

// --- the choice ---

bool is_flat(const ConvShape& s) {
  return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.stride[0] == 1 && s.padding[0] == 0;
}
constexpr int64_t kDots = 16;  // weights of an output that are few enough for sums of their own, each a dot product
bool is_dilated(const ConvShape& s) { return s.dilation[1] != 1 || s.dilation[2] != 1; }

// Winograd pays from 16 channels on both sides, where what its tiles save pays for the transformed weights: for each
// pair of channels a tile of 2 x 2 outputs takes 16 products and its pixels 9 each otherwise, both in panels, and the
// weights cost as much as some more products: 5 to 7 ns of one thread, their gradient 5, or 16 where its sums no longer
// fit into the caches (measured from 2 x 2 to 14 x 14 pixels, 32 to 512 channels, 1 and 4 images on Zen 4, where a
// nanosecond is 60 products).
constexpr int64_t kTransformedWeights = 400, kLargeGradient = 256 * 256 + 1;
int64_t transformed_gradients(const ConvShape& s) { return s.c * s.o < kLargeGradient ? 400 : 1000; }
bool use_winograd(const ConvShape& s, int64_t channels, int64_t rows, int64_t out_h, int64_t out_w, int64_t padding,
                  int64_t of_weights) {
  constexpr int64_t kOfTile = 16, kOfPixel = 9;
  const int64_t panel = 2 * engine().lanes;
  const auto in_panels = [&](int64_t h, int64_t w) { return (s.n * h * w + panel - 1) / panel * panel; };
  return is_flat(s) && s.groups == 1 && !is_dilated(s) && s.kernel[1] == 3 && s.kernel[2] == 3 && s.stride[1] == 1 &&
         s.stride[2] == 1 && s.padding[1] == s.padding[2] && padding >= 0 && padding <= 2 && channels >= 16 &&
         rows >= 16 &&
         kOfPixel * in_panels(out_h, out_w) - kOfTile * in_panels((out_h + 1) / 2, (out_w + 1) / 2) > of_weights;
}

constexpr int64_t kLargestBand = 300000;  // elements of a few rows of all channels: not beyond the caches

// A kernel for each channel. From as many channels as make a vector, lanes are channels, unless a few rows of them
// outgrow the caches.
bool is_depthwise(const ConvShape& s) {
  constexpr int64_t kLanes = 16;
  if (!is_flat(s) || s.groups != s.c || s.groups != s.o || s.c < kLanes) return false;
  const int64_t reach_y = (s.kernel[1] - 1) * s.dilation[1], reach_x = (s.kernel[2] - 1) * s.dilation[2];
  const int64_t rows = std::min<int64_t>(4, std::max(s.in[1], s.out[1])) * s.stride[1] + reach_y;
  return kLanes * rows * (std::max(s.in[2], s.out[2] * s.stride[2]) + reach_x) <= kLargestBand;
}
template <class T>
void run_depthwise(const PatchGemm<T>& job, bool channels_last) {
  if constexpr (sizeof(T) == 4)
    engine().depthwise_f32(job, channels_last);
  else
    engine().depthwise_f64(job, channels_last);
}

// What a patch costs, in sums of the outputs that share it.
double packing_of(const Direct& job) { return 6.0 / double(job.rows); }

// Elements of the planes of a few rows of outputs.
int64_t smallest_band(const Direct& job, int64_t width) {
  return job.depth_count * job.channels * job.stride[1] * job.stride[2] * (width + job.right) * (job.below + 4);
}

// Lanes that a plane of outputs takes for nothing, in parts of it: small ones do not fill the tiles of few rows, which
// are as many vectors wide as registers hold. 32 to 8 channels, 3 x 3, on four of 4 x 4 take 4 us in a product instead
// of 10 (one thread, AMD EPYC, Zen 5).
double lanes_of_plane(const Direct& job, int64_t width) {
  constexpr int64_t kWidest = 8;
  const int64_t height = job.phases[0].grid.h, positions = (height - 1) * (width + job.right) + width;
  const int64_t tile = std::clamp<int64_t>(2 * engine().tile_rows / job.rows, 1, kWidest) * engine().lanes;
  return double((positions + tile - 1) / tile * tile) / double(height * width) - 1;
}

// The direct kernel pays for patches that few rows use, that are large, or where little of a phase plane is padding.
bool use_direct(const ConvShape& s, const Direct& job, int64_t width) {
  const int64_t taps = s.kernel[1] * s.kernel[2];
  if (taps == 1 || smallest_band(job, width) > kLargestBand) return false;
  if (taps >= 49) return true;
  if (job.rows > 8 && (s.stride[1] > 1 || s.stride[2] > 1) && job.channels > 32) return false;
  if (job.rows <= 8) return lanes_of_plane(job, width) < packing_of(job);
  return double(job.right) / double(width) < packing_of(job) + 0.02;
}

// What outputs in lanes lose: lanes beyond the last output, and the loads of weights by a tile of few positions.
double wasted_by_outputs(const Direct& job, int64_t width) {
  const int64_t wide = engine().lanes, positions = engine().tile_rows;
  const int64_t lanes = (job.rows + wide - 1) / wide * wide, tiles = (width + positions - 1) / positions;
  return double(lanes) / double(job.rows) - 1 + double(tiles) / double(width);
}
// They pay where outputs are too few to share patches, and their weights stay in the caches.
bool use_outputs_in_lanes(const ConvShape& s, const Direct& job, int64_t width) {
  constexpr int64_t kNarrowest = 6, kMostWeights = 256 * 1024;
  return s.kernel[1] * s.kernel[2] > 1 && width >= kNarrowest && smallest_band(job, width) <= kLargestBand &&
         job.rows * job.channels * job.tap_count <= kMostWeights &&
         wasted_by_outputs(job, width) < packing_of(job) + 0.02;
}

// Whether the direct kernel is the way, with which of both in its lanes: where they pay alike, the one that wastes
// less.
bool choose_direct(const ConvShape& s, Direct& job, int64_t width) {
  const bool positions = use_direct(s, job, width);
  job.outputs_in_lanes = use_outputs_in_lanes(s, job, width) &&
                         (!positions || double(job.right) / double(width) >= wasted_by_outputs(job, width));
  return positions || job.outputs_in_lanes;
}

std::vector<int> depths_of(const std::vector<Tap>& taps) {
  std::vector<int> depths;
  for (const Tap& t : taps)
    if (depths.empty() || depths.back() != t.dz) depths.push_back(t.dz);
  std::sort(depths.begin(), depths.end());
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
  return depths;
}

Direct direct_forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y,
                      const Phase& phase, const std::vector<int>& depths) {
  const int64_t per_row = group_in(s) * s.taps();
  const int sy = int(s.stride[1]), sx = int(s.stride[2]);
  return {s.n,
          s.groups,
          group_out(s),
          group_in(s),
          w,
          per_row,
          s.weight_channel(),
          group_out(s) * per_row,
          x,
          int(s.in[0]),
          int(s.in[1]),
          int(s.in[2]),
          {int(s.stride[0]), sy, sx},
          int(s.padding[1]),
          int(s.padding[2]),
          int((s.kernel[1] - 1) * s.dilation[1] / sy),
          int((s.kernel[2] - 1) * s.dilation[2] / sx),
          &phase,
          1,
          phase.tap_count,
          depths.data(),
          int(depths.size()),
          y,
          int(s.out[0]),
          int(s.out[1]),
          int(s.out[2]),
          bias};
}
Direct direct_backward(const ConvShape& s, const float* dy, const float* w, const float* bias, float* dx,
                       const Phases& plan, const std::vector<int>& depths) {
  int top = 0, left = 0, below = 0, right = 0;
  for (const Tap& t : plan.taps) {
    top = std::max(top, -t.dy), below = std::max(below, t.dy);
    left = std::max(left, -t.dx), right = std::max(right, t.dx);
  }
  const int64_t per_output = group_in(s) * s.taps();
  return {s.n,
          s.groups,
          group_in(s),
          group_out(s),
          w,
          s.weight_channel(),
          per_output,
          group_out(s) * per_output,
          dy,
          int(s.out[0]),
          int(s.out[1]),
          int(s.out[2]),
          {1, 1, 1},
          top,
          left,
          below + top,
          right + left,
          plan.phases.data(),
          int(plan.phases.size()),
          plan.tap_count,
          depths.data(),
          int(depths.size()),
          dx,
          int(s.in[0]),
          int(s.in[1]),
          int(s.in[2]),
          bias};
}

}  // namespace

bool prefers_channels_last(const ConvShape& s) {
  constexpr int64_t kRun = 16;  // channels that a patch copies together
  if (is_depthwise(s)) return true;
  return s.groups == 1 && s.c >= kRun && s.o >= kRun &&
         !use_winograd(s, s.c, s.o, s.out[1], s.out[2], s.padding[1], kTransformedWeights);
}

template <class T>
void conv_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (s.n * s.o * s.out_plane() == 0) return;
  if (s.c == 0 || s.in_plane() == 0) return fill_planes(y, s.n, s.o, s.out_plane(), bias, s.channels_last);
  if (is_one_pixel(s)) return product_forward(s, x, w, bias, y);
  const std::vector<Tap> taps = forward_taps(s);
  Phase phase{{s.n, int(s.out[0]), int(s.out[1]), int(s.out[2])}, taps.data(), int(taps.size()), 0, {1, 1, 1}, {}, 0};
  const bool depthwise = is_depthwise(s);
  if constexpr (sizeof(T) == 4) {
    if (!s.channels_last && use_winograd(s, s.c, s.o, s.out[1], s.out[2], s.padding[1], kTransformedWeights) &&
        engine().winograd({s.n, s.o, s.c, w, s.c * 9, s.weight_channel(), s.weight_tap(), false, x, int(s.in[1]),
                           int(s.in[2]), int(s.padding[1]), y, bias}))
      return;
    if (!s.channels_last && !depthwise) {
      const std::vector<int> depths = depths_of(taps);
      Direct direct = direct_forward(s, x, w, bias, y, phase, depths);
      if (choose_direct(s, direct, s.out[2])) return engine().direct(direct);
    }
  }
  const int64_t per_row = group_in(s) * s.taps();
  PatchGemm<T> job{s.groups,
                   group_out(s),
                   group_in(s),
                   w,
                   per_row,
                   s.weight_channel(),
                   group_out(s) * per_row,
                   image_of(x, s.c, s.in),
                   {int(s.stride[0]), int(s.stride[1]), int(s.stride[2])},
                   &phase,
                   1,
                   phase.tap_count,
                   y,
                   s.o * s.out_plane(),
                   s.out_plane(),
                   int(s.out[1]),
                   int(s.out[2]),
                   bias};
  if (depthwise) return run_depthwise(job, s.channels_last);
  run_gemm(job, s.channels_last);
}

template <class T>
void conv_backward_data(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  if (s.n * s.c * s.in_plane() == 0) return;
  if (s.o == 0 || s.out_plane() == 0) return fill_planes(dx, s.n, s.c, s.in_plane(), bias, s.channels_last);
  if (is_one_pixel(s)) return product_backward(s, dy, w, bias, dx);
  if constexpr (sizeof(T) == 4)
    if (!s.channels_last && use_winograd(s, s.o, s.c, s.in[1], s.in[2], 2 - s.padding[1], kTransformedWeights) &&
        engine().winograd({s.n, s.c, s.o, w, s.weight_channel(), s.c * 9, s.weight_tap(), true, dy, int(s.out[1]),
                           int(s.out[2]), 2 - int(s.padding[1]), dx, bias}))
      return;
  Phases plan(s);
  if (!plan.covers_all) fill_planes(dx, s.n, s.c, s.in_plane(), bias, s.channels_last);
  if (plan.phases.empty()) return;  // only the padding is seen
  if constexpr (sizeof(T) == 4) {
    if (!s.channels_last && !is_depthwise(s)) {
      const std::vector<int> depths = depths_of(plan.taps);
      Direct direct = direct_backward(s, dy, w, bias, dx, plan, depths);
      if (choose_direct(s, direct, (s.in[2] + s.stride[2] - 1) / s.stride[2])) return engine().direct(direct);
    }
  }
  const int64_t per_output = group_in(s) * s.taps();
  PatchGemm<T> job{s.groups,
                   group_in(s),
                   group_out(s),
                   w,
                   s.weight_channel(),
                   per_output,
                   group_out(s) * per_output,
                   image_of(dy, s.o, s.out),
                   {1, 1, 1},
                   plan.phases.data(),
                   int(plan.phases.size()),
                   plan.tap_count,
                   dx,
                   s.c * s.in_plane(),
                   s.in_plane(),
                   int(s.in[1]),
                   int(s.in[2]),
                   bias};
  if (is_depthwise(s)) return run_depthwise(job, s.channels_last);
  run_gemm(job, s.channels_last);
}

template <class T>
void conv_backward_weights(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t size = s.o * group_in(s) * s.taps();
  if (size == 0) return;
  if (s.n * s.out_plane() * s.in_plane() == 0) return std::fill_n(dw, size, T(0)), void();
  if (is_one_pixel(s)) return product_weights(s, x, dy, dw);
  const std::vector<Tap> taps = forward_taps(s);
  const WeightGradient<T> job{&s, taps.data(), int(taps.size()), x, dy, dw};
  // Wide rows of few taps are dot products, which turn nothing: 32 channels of four images of 112 x 112 take 0.91 ms,
  // not 1.24 in lanes of channels (one thread, AMD EPYC, Zen 4); of 56 x 56 they take 0.49, and 0.42.
  constexpr int64_t kWideRow = 64;
  const bool dots = sizeof(T) == 4 && !s.channels_last && s.out[2] > kWideRow && s.taps() <= kDots;
  if (is_depthwise(s) && !dots) {
    if constexpr (sizeof(T) == 4)
      return engine().depthwise_weights_f32(job);
    else
      return engine().depthwise_weights_f64(job);
  }
  if (s.channels_last) {
    if constexpr (sizeof(T) == 4)
      return engine().last_weights_f32(job);
    else
      return engine().last_weights_f64(job);
  }
  if constexpr (sizeof(T) == 4) {
    if (is_flat(s) && (s.groups > 1 ? group_out(s) <= 8 : s.c * s.taps() <= kDots)) return engine().dots(job);
    if (use_winograd(s, s.c, s.o, s.out[1], s.out[2], s.padding[1], transformed_gradients(s)) &&
        engine().winograd_weights(job))
      return;
    // Where dw is larger than what there is to transpose, conv_weights.cpp turns the patches instead of dy.
    const double positions = double(s.n * s.out_plane()), rows = double(s.c * s.taps()), outputs = double(s.o);
    const bool wide = positions * rows >= positions * outputs + 3 * rows * outputs;
    if (s.dilation[0] == 1 && s.groups == 1 && !is_dilated(s) && s.taps() > 1 && wide && engine().windows(job)) return;
    engine().weights_f32(job);
  } else {
    engine().weights_f64(job);
  }
}

template <class T>
void conv_backward_bias(int64_t images, int64_t channels, int64_t plane, const T* dy, T* db) {
  if constexpr (sizeof(T) == 4)
    engine().bias_f32(images, channels, plane, dy, db);
  else
    engine().bias_f64(images, channels, plane, dy, db);
}

template <class T>
void conv_backward_bias_last(int64_t positions, int64_t channels, const T* dy, T* db) {
  if constexpr (sizeof(T) == 4)
    engine().last_bias_f32(positions, channels, dy, db);
  else
    engine().last_bias_f64(positions, channels, dy, db);
}

#define TORCH_CONV(T)                                                                             \
  template TORCH_API void conv_forward(const ConvShape&, const T*, const T*, const T*, T*);       \
  template TORCH_API void conv_backward_data(const ConvShape&, const T*, const T*, const T*, T*); \
  template TORCH_API void conv_backward_weights(const ConvShape&, const T*, const T*, T*);        \
  template TORCH_API void conv_backward_bias(int64_t, int64_t, int64_t, const T*, T*);            \
  template TORCH_API void conv_backward_bias_last(int64_t, int64_t, const T*, T*);
TORCH_CONV(float)
TORCH_CONV(double)
#undef TORCH_CONV

}  // namespace torch
