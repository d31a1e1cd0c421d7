// Gradient of the weights of a 3x3 convolution by Winograd's transforms (kernels/conv_winograd.h): 16 products for the
// four positions of a tile instead of 36. A frequency is a product of input channels, read along the tiles of a patch
// panel and broadcast, with vectors of output channels; the tiles of all images add up before the transform back.
//
// As in conv_winograd.cpp a result that is not finite is reported, and the caller computes the whole in the plain way.
#include <atomic>

#include "kernels/conv_sums.h"
#include "kernels/conv_winograd.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;
using S = Simd<float>;
using V = S::V;

constexpr int kLanes = kPanel<float>;
constexpr int64_t kBandFloats = 96 * 1024;    // phase planes of one band of tile rows
constexpr int64_t kBlockFloats = 128 * 1024;  // transformed patches and gradients held at a time
constexpr int64_t kApart = kLanes;            // between frequencies: at a power of two they would share a cache set
constexpr int64_t kSlices = 4;                // the images are summed in slices, whose number only the shape decides

class WinogradGradient {
 public:
  explicit WinogradGradient(const WeightGradient<float>& job)
      : job_(job),
        shape_(*job.shape),
        rows_(shape_.c),
        out_h_(int(shape_.out[1])),
        out_w_(int(shape_.out[2])),
        tiles_x_((out_w_ + 1) / 2),
        tiles_y_((out_h_ + 1) / 2),
        panels_((shape_.o + kLanes - 1) / kLanes),
        row_(panels_ * kLanes),
        size_(kFrequencies * shape_.c * row_),
        slices_(shape_.n < kSlices ? shape_.n : kSlices) {
    int64_t band = kBandFloats / (4 * shape_.c * (tiles_x_ + 1)) - 1;
    band = band < 3 ? 3 : band > tiles_y_ ? tiles_y_ : band;
    const int64_t bands = (tiles_y_ + band - 1) / band;
    band_ = int((tiles_y_ + bands - 1) / bands);
    const int padding = int(shape_.padding[1]);
    split_ = {int(shape_.in[1]), int(shape_.in[2]), 2, 2, padding, padding, band_ + 1, tiles_x_ + 1};
    block_ = kBlockFloats / (kFrequencies * kLanes * (shape_.c + row_));
    block_ = block_ < 1 ? 1 : block_;
  }

  bool run() const {
    float* sums = workspace_of<float>(Slot::Sums, slices_ * size_);
    const double work = 4.0 * double(shape_.n) * tiles_x_ * tiles_y_ * double(shape_.c * shape_.o);
    const int64_t tasks = tasks_for(work, slices_);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(slices_, task, tasks); k < part(slices_, task + 1, tasks); k++)
        slice(part(shape_.n, k, slices_), part(shape_.n, k + 1, slices_), sums + k * size_);
    });
    add_slices(sums, slices_, size_);
    return finish(sums);
  }

 private:
  // Sums over the images [begin, end): result[frequency][input channel][output channel].
  void slice(int64_t begin, int64_t end, float* result) const {
    const int64_t in_plane = shape_.in_plane(), channels = shape_.c;
    float* planes = workspace_of<float>(Slot::Planes, channels * split_.channel() + 2 * kLanes);
    float* turned = workspace_of<float>(Slot::Strip, panels_ * 2 * band_ * out_w_ * kLanes);
    float* patches = workspace_of<float>(Slot::Patches, kFrequencies * patch_stride(block_));
    float* gradients = workspace_of<float>(Slot::Tile, kFrequencies * gradient_stride(block_));
    bool accumulate = false;
    for (int64_t n = begin; n < end; n++)
      for (int first = 0; first < tiles_y_; first += band_) {
        const int height = tiles_y_ - first < band_ ? tiles_y_ - first : band_;
        const int rows = out_h_ - 2 * first < 2 * height ? out_h_ - 2 * first : 2 * height;
        split_planes(planes, job_.x + n * channels * in_plane, channels, split_, first);
        std::memset(planes + channels * split_.channel(), 0, 2 * kLanes * sizeof(float));
        turn(turned, n, 2 * first, int64_t(rows) * out_w_);
        const int64_t positions = int64_t(height - 1) * split_.pitch + tiles_x_;
        const int64_t count = (positions + kLanes - 1) / kLanes;
        for (int64_t p = 0; p < count; p += block_, accumulate = true) {
          const int64_t block = count - p < block_ ? count - p : block_;
          transform_patches(planes, patches, p, block);
          transform_gradients(turned, gradients, rows, p, block);
          multiply(patches, gradients, block, result, accumulate);
        }
      }
  }

  // dy of an image from row y on: turned[panel][position][kLanes].
  void turn(float* turned, int64_t n, int64_t y, int64_t positions) const {
    const int64_t plane = shape_.out_plane();
    for (int64_t o = 0; o < row_; o += S::kWidth) {
      float* d = turned + o / kLanes * positions * kLanes + o % kLanes;
      const int64_t left = shape_.o - o, count = left < 0 ? 0 : left < S::kWidth ? left : S::kWidth;
      if (count)
        transpose_strip(d, kLanes, job_.dy + (n * shape_.o + o) * plane + y * out_w_, plane, int(count), positions,
                        S::kAll);
      else
        for (int64_t p = 0; p < positions; p++) S::store(d + p * kLanes, V{});
    }
  }

  // patches[frequency][panel][channel][kLanes]
  void transform_patches(const float* planes, float* patches, int64_t p, int64_t count) const {
    const int64_t stride = patch_stride(count);
    for (int64_t j = 0; j < count; j++)
      for (int64_t c = 0; c < shape_.c; c++)
        for (int half = 0; half < kLanes; half += S::kWidth) {
          V d[kFrequencies];
          load_patches<S>(planes + c * split_.channel() + (p + j) * kLanes + half, split_, d);
          input_transform(d);
          float* to = patches + (j * shape_.c + c) * kLanes + half;
          for (int f = 0; f < kFrequencies; f++) S::store(to + f * stride, d[f]);
        }
  }

  // gradients[frequency][panel of outputs][tile][kLanes]; tiles beyond the end of a row or the band count nothing.
  void transform_gradients(const float* turned, float* gradients, int rows, int64_t p, int64_t count) const {
    const int64_t tiles = count * kLanes, stride = gradient_stride(count), positions = int64_t(rows) * out_w_;
    for (int64_t o = 0; o < panels_; o++)
      for (int64_t t = 0; t < tiles; t++) {
        const int y = 2 * int((p * kLanes + t) / split_.pitch), x = 2 * int((p * kLanes + t) % split_.pitch);
        const float* s = turned + (o * positions + int64_t(y) * out_w_ + x) * kLanes;
        float* to = gradients + (o * tiles + t) * kLanes;
        const bool right = x + 1 < out_w_, below = y + 1 < rows;
        for (int half = 0; half < kLanes; half += S::kWidth) {
          V dy[2][2]{}, m[kFrequencies];
          if (y < rows && x < out_w_) {
            dy[0][0] = S::load(s + half);
            if (right) dy[0][1] = S::load(s + half + kLanes);
            if (below) dy[1][0] = S::load(s + half + int64_t(out_w_) * kLanes);
            if (right && below) dy[1][1] = S::load(s + half + int64_t(out_w_ + 1) * kLanes);
          }
          output_gradient_transform(dy, m);
          for (int f = 0; f < kFrequencies; f++) S::store(to + half + f * stride, m[f]);
        }
      }
  }

  void multiply(const float* patches, const float* gradients, int64_t count, float* result, bool accumulate) const {
    for (int f = 0; f < kFrequencies; f++)
      for (int64_t o = 0; o < panels_; o++)
        for (int64_t i = 0; i < rows_.count; i++) {
          const TileJob<float> tile{kLanes,
                                    int(count),
                                    (shape_.c - 1) * kLanes,
                                    patches + f * patch_stride(count) + rows_.begin(i) * kLanes,
                                    gradients + f * gradient_stride(count) + o * count * kLanes * kLanes,
                                    kLanes,
                                    result + (f * shape_.c + rows_.begin(i)) * row_ + o * kLanes,
                                    row_,
                                    ~0u,
                                    accumulate,
                                    nullptr};
          patch_tile_for<float>(rows_.size(i))(tile);
        }
  }

  bool finish(const float* sums) const {
    float* taps = workspace_of<float>(Slot::Panels, shape_.c * 9 * row_);
    std::atomic<bool> finite{true};
    parallel_for(shape_.c, 65536 / (kFrequencies * row_) + 1, [&](int64_t begin, int64_t end) {
      V bad{};
      for (int64_t c = begin; c < end; c++)
        for (int64_t o = 0; o < row_; o += S::kWidth) {
          V m[kFrequencies], dg[9];
          for (int f = 0; f < kFrequencies; f++) m[f] = S::load(sums + (f * shape_.c + c) * row_ + o);
          weight_gradient_transform(m, dg);
          for (int t = 0; t < 9; t++) {
            bad += dg[t] * 0.f;
            S::store(taps + (c * 9 + t) * row_ + o, dg[t]);
          }
        }
      if (S::sum(bad) != 0) finite.store(false, std::memory_order_relaxed);
    });
    if (finite.load()) turn_back(job_.dw, taps, shape_.o, shape_.c * 9, row_);
    return finite.load();
  }

  int64_t patch_stride(int64_t count) const { return count * shape_.c * kLanes + kApart; }
  int64_t gradient_stride(int64_t count) const { return count * row_ * kLanes + kApart; }

  const WeightGradient<float>& job_;
  const ConvShape& shape_;
  const RowPanels rows_;
  const int out_h_, out_w_, tiles_x_, tiles_y_;
  const int64_t panels_, row_, size_, slices_;
  PlaneSplit split_;
  int band_;
  int64_t block_;
};

bool winograd_weights(const WeightGradient<float>& job) { return WinogradGradient(job).run(); }

}  // namespace

void add_conv_winograd_weights(conv::Engine& engine) { engine.winograd_weights = winograd_weights; }

}  // namespace torch::TORCH_ISA
