// Gradient of the weights where a group has few channels (depthwise convolution, grey images): one dot product over the
// positions per tap, on phase planes, with the sums of several taps held in registers.
#include "kernels/conv_planes.h"
#include "kernels/conv_sums.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;
using S = Simd<float>;
using V = S::V;

constexpr int64_t kSlices = 4;
constexpr int kTaps = kVectorRegisters == 32 ? 16 : 9;  // sums in registers at a time

// sum[i] += dy . plane shifted by offset[i], over rows of `width`.
template <int... I>
TORCH_INLINE void dot(std::integer_sequence<int, I...>, const float* dy, const float* plane, const int* offset,
                      int rows, int width, int pitch, V* total) {
  V sum[sizeof...(I)];
  ((sum[I] = total[I]), ...);
  for (int y = 0; y < rows; y++, dy += width, plane += pitch) {
    int x = 0;
    for (; x + S::kWidth <= width; x += S::kWidth) {
      const V g = S::load(dy + x);
      ((sum[I] += g * S::load(plane + x + offset[I])), ...);
    }
    if (x < width) {
      const LaneMask mask = first_lanes(width - x);
      const V g = S::load(mask, dy + x);
      ((sum[I] += g * S::load(mask, plane + x + offset[I])), ...);
    }
  }
  ((total[I] = sum[I]), ...);
}
using Dot = void (*)(const float*, const float*, const int*, int, int, int, V*);
template <int kCount>
void dot(const float* dy, const float* plane, const int* offset, int rows, int width, int pitch, V* total) {
  dot(std::make_integer_sequence<int, kCount>{}, dy, plane, offset, rows, width, pitch, total);
}
template <int... I>
Dot dot_for(std::integer_sequence<int, I...>, int count) {
  static constexpr Dot table[] = {dot<I + 1>...};
  return table[count - 1];
}

void dots(const WeightGradient<float>& job) {
  const ConvShape& s = *job.shape;
  const int64_t in = s.c / s.groups, out = s.o / s.groups, taps = job.tap_count;
  const int sy = int(s.stride[1]), sx = int(s.stride[2]), out_h = int(s.out[1]), out_w = int(s.out[2]);
  const int reach_y = int((s.kernel[1] - 1) * s.dilation[1]), reach_x = int((s.kernel[2] - 1) * s.dilation[2]);
  const PlaneSplit split{int(s.in[1]),         int(s.in[2]),        sy, sx, int(s.padding[1]), int(s.padding[2]),
                         out_h + reach_y / sy, out_w + reach_x / sx};
  int* offsets = workspace_of<int>(Slot::Runs, taps);
  for (int64_t t = 0; t < taps; t++) {
    const int y = job.taps[t].dy + split.top, x = job.taps[t].dx + split.left;
    offsets[t] = int((y % sy * sx + x % sx) * split.plane() + y / sy * split.pitch + x / sx);
  }
  // Few groups are summed in slices of the images, whose number only the shape decides.
  const int64_t size = out * in * taps, slices = s.groups >= kSlices ? 1 : s.n < kSlices ? s.n : kSlices;
  float* slice_sums = slices > 1 ? workspace_of<float>(Slot::Sums, slices * s.groups * size) : job.dw;
  const int64_t pieces = s.groups * slices, tasks = tasks_for(double(s.n) * s.o * in * taps * s.out_plane(), pieces);
  parallel_run(tasks, [&](int64_t task) {
    float* planes = workspace_of<float>(Slot::Planes, in * split.channel() + 16 * S::kWidth);
    V* sums = static_cast<V*>(conv::workspace(Slot::Tile, size_t(size) * sizeof(V)));
    for (int64_t k = part(pieces, task, tasks); k < part(pieces, task + 1, tasks); k++) {
      const int64_t slice = k / s.groups, g = k % s.groups;
      for (int64_t i = 0; i < size; i++) sums[i] = V{};
      for (int64_t n = part(s.n, slice, slices); n < part(s.n, slice + 1, slices); n++) {
        split_planes(planes, job.x + (n * s.c + g * in) * s.in_plane(), in, s.in_plane(), split, 0);
        for (int64_t o = 0; o < out; o++)
          for (int64_t c = 0; c < in; c++)
            for (int64_t t = 0; t < taps; t += kTaps) {
              const int count = int(taps - t < kTaps ? taps - t : kTaps);
              dot_for(std::make_integer_sequence<int, kTaps>{}, count)(
                  job.dy + (n * s.o + g * out + o) * s.out_plane(), planes + c * split.channel(), offsets + t, out_h,
                  out_w, split.pitch, sums + (o * in + c) * taps + t);
            }
      }
      for (int64_t i = 0; i < size; i++) slice_sums[k * size + i] = S::sum(sums[i]);
    }
  });
  if (slices == 1) return;
  add_slices(slice_sums, slices, s.groups * size);
  std::memcpy(job.dw, slice_sums, size_t(s.groups * size) * sizeof(float));
}

}  // namespace

void add_conv_dots(conv::Engine& engine) { engine.dots = dots; }

}  // namespace torch::TORCH_ISA
