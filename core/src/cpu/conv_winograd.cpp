// Winograd's F(2x2, 3x3): 16 products per four outputs instead of 36 (kernels/conv_winograd.h). The lane is the tile:
// with phase planes of stride 2 the 4x4 patch of neighbouring tiles is 16 plain loads, and each of the 16 frequencies
// is a product with the micro-kernel of conv_tile.h. Its rounding error is that of direct convolution; F(4x4) would be
// ten times worse and is not used.
//
// A transform mixes the pixels of a tile, so that one infinity would make its neighbours NaN: a result that is not
// finite is reported, and the caller computes the whole in the plain way.
#include "kernels/conv_winograd.h"

#include <atomic>

#include "kernels/conv_tasks.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::Winograd;
using conv::workspace_of;
using S = Simd<float>;
using V = S::V;

constexpr int kLanes = kPanel<float>;
constexpr int64_t kApart = kLanes;            // between frequencies: powers of two apart they would share cache sets
constexpr int64_t kBandFloats = 96 * 1024;    // phase planes of one band of tile rows
constexpr int64_t kBlockFloats = 256 * 1024;  // transformed patches held at a time

class WinogradConvolution {
 public:
  explicit WinogradConvolution(const Winograd& job)
      : job_(job),
        rows_(job.rows),
        out_h_(job.h + 2 * job.padding - 2),
        out_w_(job.w + 2 * job.padding - 2),
        tiles_x_((out_w_ + 1) / 2),
        tiles_y_((out_h_ + 1) / 2) {
    int64_t band = kBandFloats / (4 * job.channels * (tiles_x_ + 1)) - 1;
    band = band < 3 ? 3 : band > tiles_y_ ? tiles_y_ : band;
    bands_ = int((tiles_y_ + band - 1) / band);
    band_ = (tiles_y_ + bands_ - 1) / bands_;
    split_ = {job.h, job.w, 2, 2, job.padding, job.padding, band_ + 1, tiles_x_ + 1};
    block_ = kBlockFloats / (kFrequencies * job.channels * kLanes);
    block_ = block_ < 1 ? 1 : block_;
  }

  bool run() {
    const int64_t size = job_.rows * job_.channels;
    float* weights = workspace_of<float>(Slot::Weights, kFrequencies * size);
    const int64_t pack_tasks = tasks_for(40.0 * size, rows_.count);
    parallel_run(pack_tasks, [&](int64_t task) {
      for (int64_t i = part(rows_.count, task, pack_tasks); i < part(rows_.count, task + 1, pack_tasks); i++)
        transform_weights(weights, i);
    });
    std::atomic<bool> finite{true};
    const int64_t pieces = job_.images * bands_;
    const int64_t tasks = tasks_for(4.0 * job_.images * tiles_x_ * tiles_y_ * size, pieces);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(pieces, task, tasks); k < part(pieces, task + 1, tasks); k++)
        if (!band(k / bands_, int(k % bands_), weights)) finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
  }

 private:
  // G g G^T of row panel i: [frequency][row panel][channel][rows].
  void transform_weights(float* d, int64_t i) const {
    const int64_t size = job_.rows * job_.channels;
    const int rows = rows_.size(i);
    float g[9][kMaxRows];
    for (int64_t c = 0; c < job_.channels; c++) {
      const float* w = job_.weights + rows_.begin(i) * job_.weight_row + c * job_.weight_channel;
      for (int r = 0; r < rows; r++)
        for (int t = 0; t < 9; t++) g[t][r] = w[r * job_.weight_row + (job_.turned ? 8 - t : t)];
      float* to = d + rows_.begin(i) * job_.channels + c * rows;
      for (int r = 0; r < rows; r++) {
        float half[4][3];
        for (int x = 0; x < 3; x++) {
          const float a = g[x][r], b = g[3 + x][r], e = g[6 + x][r];
          half[0][x] = a, half[1][x] = (a + b + e) * 0.5f, half[2][x] = (a - b + e) * 0.5f, half[3][x] = e;
        }
        for (int y = 0; y < 4; y++) {
          const float a = half[y][0], b = half[y][1], e = half[y][2];
          to[(4 * y + 0) * size + r] = a;
          to[(4 * y + 1) * size + r] = (a + b + e) * 0.5f;
          to[(4 * y + 2) * size + r] = (a - b + e) * 0.5f;
          to[(4 * y + 3) * size + r] = e;
        }
      }
    }
  }

  bool band(int64_t image, int index, const float* weights) const {
    const int first = index * band_, height = tiles_y_ - first < band_ ? tiles_y_ - first : band_;
    if (height <= 0) return true;
    const int64_t in_plane = int64_t(job_.h) * job_.w;
    float* planes = workspace_of<float>(Slot::Planes, job_.channels * split_.channel() + 2 * kLanes);
    split_planes(planes, job_.image + image * job_.channels * in_plane, job_.channels, split_, first);
    std::memset(planes + job_.channels * split_.channel(), 0, 2 * kLanes * sizeof(float));
    const int64_t positions = int64_t(height - 1) * split_.pitch + tiles_x_, panels = (positions + kLanes - 1) / kLanes;
    const int64_t blocks = (panels + block_ - 1) / block_, block = (panels + blocks - 1) / blocks;
    float* patches = workspace_of<float>(Slot::Patches, kFrequencies * patch_stride(block));
    float* products = workspace_of<float>(Slot::Tile, block * kFrequencies * product_stride());
    V bad{};
    for (int64_t p = 0; p < panels; p += block) {
      const int64_t count = panels - p < block ? panels - p : block;
      for (int64_t j = 0; j < count; j++)
        for (int64_t c = 0; c < job_.channels; c++)
          for (int half = 0; half < kLanes; half += S::kWidth) {
            const float* s = planes + c * split_.channel() + (p + j) * kLanes + half;
            V d[kFrequencies];
            load_patches<S>(s, split_, d);
            input_transform(d);
            float* to = patches + (j * job_.channels + c) * kLanes + half;
            for (int f = 0; f < kFrequencies; f++) S::store(to + f * patch_stride(count), d[f]);
          }
      multiply(weights, patches, products, count);
      for (int64_t j = 0; j < count; j++)
        for (int half = 0; half < kLanes; half += S::kWidth)
          write(products + j * kFrequencies * product_stride() + half, image, first, height, (p + j) * kLanes + half,
                bad);
    }
    return S::sum(bad) == 0;
  }

  int64_t patch_stride(int64_t count) const { return count * job_.channels * kLanes + kApart; }
  int64_t product_stride() const { return job_.rows * kLanes + kApart; }

  // products[panel][frequency][row][lane] = weights[frequency] * patches[frequency][panel]
  void multiply(const float* weights, const float* patches, float* products, int64_t count) const {
    const int64_t size = job_.rows * job_.channels;
    for (int f = 0; f < kFrequencies; f++)
      for (int64_t i = 0; i < rows_.count; i++)
        for (int64_t j = 0; j < count; j++) {
          const TileJob<float> tile{int(job_.channels),
                                    1,
                                    0,
                                    weights + f * size + rows_.begin(i) * job_.channels,
                                    patches + f * patch_stride(count) + j * job_.channels * kLanes,
                                    kLanes,
                                    products + (j * kFrequencies + f) * product_stride() + rows_.begin(i) * kLanes,
                                    kLanes,
                                    ~0u,
                                    false,
                                    nullptr};
          packed_tile_for<float>(rows_.size(i))(tile);
        }
  }

  // One vector of tiles from position `at` of the band on: two rows of twice as many outputs, in runs that end with a
  // row of tiles.
  void write(const float* products, int64_t image, int first, int height, int64_t at, V& bad) const {
    struct Run {
      ptrdiff_t offset;
      uint64_t mask;
      bool both;
    } runs[S::kWidth];
    int count = 0;
    for (int l = 0; l < S::kWidth;) {
      const int y = int((at + l) / split_.pitch), x = int((at + l) % split_.pitch);
      if (y >= height) break;
      const int length = split_.pitch - x < S::kWidth - l ? split_.pitch - x : S::kWidth - l;
      const int outputs = (2 * (x + length) < out_w_ ? 2 * (x + length) : out_w_) - 2 * x;
      if (outputs > 0)
        runs[count++] = {ptrdiff_t(2 * (first + y)) * out_w_ + 2 * x - 2 * l, lanes(2 * l, outputs),
                         2 * (first + y) + 1 < out_h_};
      l += length;
    }
    if (!count) return;
    float* out = job_.out + image * job_.rows * out_h_ * out_w_;
    for (int64_t o = 0; o < job_.rows; o++, products += kLanes, out += int64_t(out_h_) * out_w_) {
      V m[kFrequencies], y[2][2];
      for (int f = 0; f < kFrequencies; f++) m[f] = S::load(products + f * product_stride());
      output_transform(m, y);
      const V bias = S::fill(job_.bias ? job_.bias[o] : 0.f);
      for (int i = 0; i < 2; i++) {
        const V even = y[i][0] + bias, odd = y[i][1] + bias, low = S::zip_low(even, odd), high = S::zip_high(even, odd);
        bad += even * 0.f + odd * 0.f;
        for (int k = 0; k < count; k++) {
          if (i && !runs[k].both) continue;
          float* d = out + runs[k].offset + i * out_w_;
          const LaneMask low_mask = LaneMask(runs[k].mask) & S::kAll,
                         high_mask = LaneMask(runs[k].mask >> S::kWidth) & S::kAll;
          if (low_mask) S::store(low_mask, d, low);
          if (high_mask) S::store(high_mask, d + S::kWidth, high);
        }
      }
    }
  }
  static TORCH_INLINE uint64_t lanes(int begin, int count) { return ((uint64_t(1) << count) - 1) << begin; }

  const Winograd& job_;
  const RowPanels rows_;
  const int out_h_, out_w_, tiles_x_, tiles_y_;
  PlaneSplit split_;
  int bands_, band_;
  int64_t block_;
};

bool winograd(const Winograd& job) { return WinogradConvolution(job).run(); }

}  // namespace

void add_conv_winograd(conv::Engine& engine) { engine.winograd = winograd; }

}  // namespace torch::TORCH_ISA
