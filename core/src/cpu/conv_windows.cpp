// Gradient of the weights for kernels larger than one pixel on wide maps: the padded image itself is the broadcast
// operand (the taps of a few kernel rows move along it as a window), 32 transposed output channels are the vector.
// Nothing is packed per tap. One group, no dilation; slices of a third dimension are summed one after the other.
#include "kernels/conv_planes.h"
#include "kernels/conv_sums.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;
using S = Simd<float>;

constexpr int kLanes = kPanel<float>;
// Sums in registers: where the last outputs fill one vector only, a tile has twice as many rows of taps. 32 to 48
// channels, 13 x 13, four of 55 x 55: 20.5 -> 17.0 ms (one thread, AMD EPYC, Zen 5).
constexpr int kNarrowRows = kVectorRegisters == 32 ? 28 : kMaxRows;
constexpr int64_t kBandPositions = 320;  // of dy, transposed at a time
constexpr int64_t kSlices = 4;
constexpr int64_t kSlicedSize = 65536;  // results up to this size are summed in slices of the images

// Kernel rows that fit into one tile, and the tiles for that many and for a single one.
struct Window {
  int rows = 0;
  void (*full)(const TileJob<float>&, ptrdiff_t pitch, ptrdiff_t stride) = nullptr;
  void (*one)(const TileJob<float>&, ptrdiff_t pitch, ptrdiff_t stride) = nullptr;
};
template <int kRows, int kWide, bool kNarrow>
void run_window(const TileJob<float>& job, ptrdiff_t pitch, ptrdiff_t stride) {
  tile<float, kNarrow>(std::make_integer_sequence<int, kRows * kWide>{}, job, WindowRows<kWide>{pitch, stride});
}
template <int kWide, bool kNarrow>
Window window() {
  constexpr int kMost = kNarrow ? kNarrowRows : kMaxRows;
  if constexpr (kWide > kMost) {
    return {};
  } else {
    constexpr int kRows = kMost / kWide < kWide ? kMost / kWide : kWide;
    return {kRows, run_window<kRows, kWide, kNarrow>, run_window<1, kWide, kNarrow>};
  }
}
template <bool kNarrow>
Window window_for(int64_t width) {
  switch (width) {
    case 2:
      return window<2, kNarrow>();
    case 3:
      return window<3, kNarrow>();
    case 4:
      return window<4, kNarrow>();
    case 5:
      return window<5, kNarrow>();
    case 7:
      return window<7, kNarrow>();
    case 11:
      return window<11, kNarrow>();
    case 13:
      return window<13, kNarrow>();
  }
  return {};
}

class WindowGradient {
 public:
  explicit WindowGradient(const WeightGradient<float>& job)
      : job_(job),
        shape_(*job.shape),
        wide_(window_for<false>(shape_.kernel[2])),
        narrow_(window_for<true>(shape_.kernel[2])) {
    const int out_h = int(shape_.out[1]), out_w = int(shape_.out[2]), sy = int(shape_.stride[1]),
              sx = int(shape_.stride[2]);
    split_ = {int(shape_.in[1]),
              int(shape_.in[2]),
              1,
              1,
              int(shape_.padding[1]),
              int(shape_.padding[2]),
              (out_h - 1) * sy + int(shape_.kernel[1]),
              (out_w - 1) * sx + int(shape_.kernel[2])};
    slice_in_ = shape_.in[1] * shape_.in[2], slice_out_ = shape_.out[1] * shape_.out[2];
    const int64_t bands = (slice_out_ + kBandPositions - 1) / kBandPositions;
    band_ = int((out_h + bands - 1) / bands);
    panels_ = (shape_.o + kLanes - 1) / kLanes;
    row_ = panels_ * kLanes;
    size_ = shape_.c * job.tap_count * row_;
    slices_ = size_ <= kSlicedSize && shape_.n > 1 ? (shape_.n < kSlices ? shape_.n : kSlices) : 1;
    work_ = double(shape_.out_plane()) * shape_.o * shape_.c * job.tap_count;
  }

  bool applies() const { return wide_.rows > 0; }

  void run() const {
    float* sums = workspace_of<float>(Slot::Sums, slices_ * size_);
    if (slices_ > 1) {
      const int64_t tasks = tasks_for(work_ * shape_.n, slices_);
      parallel_run(tasks, [&](int64_t task) {
        for (int64_t k = part(slices_, task, tasks); k < part(slices_, task + 1, tasks); k++)
          slice(part(shape_.n, k, slices_), part(shape_.n, k + 1, slices_), sums + k * size_, false);
      });
    } else {
      slice(0, shape_.n, sums, true);
    }
    add_slices(sums, slices_, size_);
    turn_back(job_.dw, sums, shape_.o, shape_.c * job_.tap_count, row_);
  }

 private:
  // Sums over the images [begin, end). `team`: the work inside is shared out among the threads.
  void slice(int64_t begin, int64_t end, float* result, bool team) const {
    const int64_t out_h = shape_.out[1], out_w = shape_.out[2], channels = shape_.c;
    float* planes = workspace_of<float>(team ? Slot::Panels : Slot::Planes, channels * split_.channel() + kLanes);
    float* turned =
        workspace_of<float>(team ? Slot::Weights : Slot::Patches, panels_ * band_ * out_w * kLanes + 16 * kLanes);
    const int64_t strips = (shape_.o + S::kWidth - 1) / S::kWidth;
    const auto share = [&](double work, int64_t pieces, auto f) {
      if (!team) return f(int64_t(0), pieces);
      const int64_t tasks = tasks_for(work, pieces);
      parallel_run(tasks, [&](int64_t task) { f(part(pieces, task, tasks), part(pieces, task + 1, tasks)); });
    };
    const bool adds = shape_.kernel[0] > 1 || shape_.padding[0] > 0;  // a tap may see no slice at all
    if (adds) std::memset(result, 0, size_t(size_) * sizeof(float));
    for (int64_t n = begin; n < end; n++)
      for (int64_t z = 0; z < shape_.out[0]; z++)
        for (int64_t y = 0; y < out_h; y += band_) {
          const int64_t rows = out_h - y < band_ ? out_h - y : band_, positions = rows * out_w;
          share(4.0 * shape_.o * positions, strips, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; k++) turn(turned, n, z, y, positions, k);
          });
          const auto channel_range = [&](int64_t first, int64_t last) {
            for (int64_t kz = 0; kz < shape_.kernel[0]; kz++) {
              const int64_t from = z * shape_.stride[0] + kz - shape_.padding[0];
              if (from < 0 || from >= shape_.in[0]) continue;
              // A slice is split once for all bands, or, where the next tap has another, only the rows that a band
              // sees.
              PlaneSplit some = split_;
              if (adds) some.rows = int((rows - 1) * shape_.stride[1] + shape_.kernel[1]);
              if (y == 0 || adds)
                split_planes(planes + first * some.channel(),
                             job_.x + (n * channels + first) * shape_.in_plane() + from * slice_in_, last - first,
                             shape_.in_plane(), some, adds ? int(y * shape_.stride[1]) : 0);
              const int64_t tap = kz * shape_.kernel[1] * shape_.kernel[2];
              for (int64_t o = 0; o < panels_; o++)
                for (int64_t c = first; c < last; c++)
                  windows(planes + c * some.channel(), adds ? 0 : y, turned + o * positions * kLanes,
                          result + (c * job_.tap_count + tap) * row_ + o * kLanes, rows,
                          adds || n > begin || z > 0 || y > 0, shape_.o - o * kLanes <= S::kWidth);
            }
          };
          share(work_ * double(rows) / double(out_h * shape_.out[0]), channels, channel_range);
        }
  }

  // Output channels [k * kWidth, ...) of rows from y on: turned[panel][position][kLanes].
  void turn(float* turned, int64_t n, int64_t z, int64_t y, int64_t positions, int64_t k) const {
    const int64_t o = k * S::kWidth, plane = shape_.out_plane();
    const int count = int(shape_.o - o < S::kWidth ? shape_.o - o : S::kWidth);
    float* d = turned + o / kLanes * positions * kLanes + o % kLanes;
    transpose_strip(d, kLanes, job_.dy + (n * shape_.o + o) * plane + z * slice_out_ + y * shape_.out[2], plane, count,
                    positions, S::kAll);
    if (o + S::kWidth >= shape_.o && o % kLanes == 0)
      for (int64_t p = 0; p < positions; p++) S::store(d + S::kWidth + p * kLanes, S::V{});
  }

  void windows(const float* plane, int64_t y, const float* turned, float* result, int64_t rows, bool accumulate,
               bool is_narrow) const {
    const Window& window = is_narrow ? narrow_ : wide_;
    const int64_t wide = shape_.kernel[2], sy = shape_.stride[1], sx = shape_.stride[2];
    for (int64_t ky = 0; ky < shape_.kernel[1];) {
      const bool full = shape_.kernel[1] - ky >= window.rows;
      const TileJob<float> tile{int(shape_.out[2]),
                                int(rows),
                                sy * split_.pitch - shape_.out[2] * sx,
                                plane + (y * sy + ky) * split_.pitch,
                                turned,
                                kLanes,
                                result + ky * wide * row_,
                                row_,
                                ~0u,
                                accumulate,
                                nullptr};
      (full ? window.full : window.one)(tile, split_.pitch, sx);
      ky += full ? window.rows : 1;
    }
  }

  const WeightGradient<float>& job_;
  const ConvShape& shape_;
  const Window wide_, narrow_;
  PlaneSplit split_;
  int band_;
  int64_t slice_in_, slice_out_, panels_, row_, size_, slices_;
  double work_;
};

bool windows(const WeightGradient<float>& job) {
  const WindowGradient gradient(job);
  if (gradient.applies()) gradient.run();
  return gradient.applies();
}

}  // namespace

void add_conv_windows(conv::Engine& engine) { engine.windows = windows; }

}  // namespace torch::TORCH_ISA
