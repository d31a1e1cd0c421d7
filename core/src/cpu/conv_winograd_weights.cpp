// Gradient of the weights of a 3x3 convolution by Winograd's transforms (kernels/conv_winograd.h): 16 products for the
// four positions of a tile instead of 36. A frequency is a product of input channels, read along the tiles of a patch
// panel and broadcast, with vectors of output channels; the tiles of all images add up before the transform back.
//
// As in conv_winograd.cpp a result that is not finite is reported, and the caller computes the whole in the plain way.
#include <atomic>

#include "kernels/conv_patch.h"
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
        tiles_(shape_.n, out_h_, out_w_),
        panels_((shape_.o + kLanes - 1) / kLanes),
        row_(panels_ * kLanes),
        size_(kFrequencies * shape_.c * row_),
        tile_panels_((tiles_.count + kLanes - 1) / kLanes),
        slices_(tile_panels_ < kSlices ? tile_panels_ : kSlices),
        transform_patches_(tiles_, job.x, shape_.c, int(shape_.in[1]), int(shape_.in[2]), int(shape_.padding[1])) {
    block_ = kBlockFloats / (kFrequencies * kLanes * (shape_.c + row_));
    block_ = block_ < 1 ? 1 : block_;
  }

  bool run() const {
    float* sums = workspace_of<float>(Slot::Sums, slices_ * size_);
    const double work = 4.0 * double(tiles_.count) * double(shape_.c * shape_.o);
    const int64_t tasks = tasks_for(work, slices_);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(slices_, task, tasks); k < part(slices_, task + 1, tasks); k++)
        slice(part(tile_panels_, k, slices_), part(tile_panels_, k + 1, slices_), sums + k * size_);
    });
    add_slices(sums, slices_, size_);
    return finish(sums);
  }

 private:
  // Sums over the panels [begin, end) of tiles: result[frequency][input channel][output channel].
  void slice(int64_t begin, int64_t end, float* result) const {
    float* patches = workspace_of<float>(Slot::Patches, kFrequencies * patch_stride(block_));
    float* gradients = workspace_of<float>(Slot::Tile, kFrequencies * gradient_stride(block_));
    for (int64_t p = begin; p < end; p += block_) {
      const int64_t count = end - p < block_ ? end - p : block_;
      transform_patches_(patches, patch_stride(count), p, count);
      transform_gradients(gradients, p, count);
      multiply(patches, gradients, count, result, p > begin);
    }
  }

  // gradients[frequency][panel of outputs][tile][kLanes]; what lies beyond the last tile counts nothing.
  void transform_gradients(float* gradients, int64_t p, int64_t count) const {
    const int64_t begin = p * kLanes, end = begin + count * kLanes, plane = shape_.out_plane();
    const int64_t tiles = count * kLanes, stride = gradient_stride(count);
    float* turned = workspace_of<float>(Slot::Strip, 2 * out_w_ * kLanes);
    for (int64_t o = 0; o < panels_; o++) {
      float* to = gradients + o * tiles * kLanes;
      for_runs(tiles_, begin, end, [&](const TileRun& run) {
        // Two rows of dy, or what the run needs of them: turned[row][column][kLanes].
        const int y = 2 * run.y, x = 2 * run.x, rows = y + 1 < out_h_ ? 2 : 1;
        const int columns = out_w_ - x < 2 * run.length ? out_w_ - x : 2 * run.length;
        const float* from = job_.dy + (run.image * shape_.o + o * kLanes) * plane + int64_t(y) * out_w_ + x;
        const bool whole = columns == out_w_;  // then the rows follow each other
        for (int row = 0; row < rows; row += whole ? 2 : 1)
          turn(turned + int64_t(row) * out_w_ * kLanes, from + int64_t(row) * out_w_, shape_.o - o * kLanes,
               whole ? rows * columns : columns);
        if (whole) ahead(from + 2 * columns, shape_.o - o * kLanes, 2 * columns);
        for (int t = 0; t < run.length; t++) {
          const float* s = turned + 2 * t * kLanes;
          float* d = to + (run.tile - begin + t) * kLanes;
          const bool right = 2 * t + 1 < columns, below = rows == 2;
          for (int half = 0; half < kLanes; half += S::kWidth) {
            V dy[2][2]{}, m[kFrequencies];
            dy[0][0] = S::load(s + half);
            if (right) dy[0][1] = S::load(s + half + kLanes);
            if (below) dy[1][0] = S::load(s + half + int64_t(out_w_) * kLanes);
            if (right && below) dy[1][1] = S::load(s + half + int64_t(out_w_ + 1) * kLanes);
            output_gradient_transform(dy, m);
            for (int f = 0; f < kFrequencies; f++) S::store(d + half + f * stride, m[f]);
          }
        }
      });
      if (const int64_t missing = end - tiles_.count; missing > 0)
        for (int f = 0; f < kFrequencies; f++)
          std::memset(to + f * stride + (tiles - missing) * kLanes, 0, size_t(missing * kLanes) * sizeof(float));
    }
  }
  // What the next run will read: the processor does not follow as many planes as a panel has.
  void ahead(const float* next, int64_t outputs, int64_t columns) const {
    for (int64_t o = 0; o < kLanes && o < outputs; o++, next += shape_.out_plane()) prefetch_to_read(next, columns);
  }
  // A row of up to kLanes output channels, which are a plane apart: turned[column][kLanes].
  void turn(float* turned, const float* from, int64_t outputs, int64_t columns) const {
    for (int half = 0; half < kLanes; half += S::kWidth) {
      const int64_t left = outputs - half, count = left < 0 ? 0 : left < S::kWidth ? left : S::kWidth;
      if (count)
        transpose_strip(turned + half, kLanes, from + half * shape_.out_plane(), shape_.out_plane(), int(count),
                        columns, S::kAll);
      else
        for (int64_t x = 0; x < columns; x++) S::store(turned + half + x * kLanes, V{});
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
  const int out_h_, out_w_;
  const Tiles tiles_;
  const int64_t panels_, row_, size_, tile_panels_, slices_;
  const PatchTransform transform_patches_;
  int64_t block_;
};

bool winograd_weights(const WeightGradient<float>& job) { return WinogradGradient(job).run(); }

}  // namespace

void add_conv_winograd_weights(conv::Engine& engine) { engine.winograd_weights = winograd_weights; }

}  // namespace torch::TORCH_ISA
