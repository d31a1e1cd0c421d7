// Winograd's F(2x2, 3x3): 16 products per four outputs instead of 36 (kernels/conv_winograd.h). The lane is the tile,
// and each of the 16 frequencies is a product with the micro-kernel of conv_tile.h. Its rounding error is that of
// direct convolution; F(4x4) would be ten times worse and is not used.
// Panels run on through rows and images, and patches are read from the image itself: 64x32x26x26 to 64 channels takes
// 8.4 ms instead of the 9.5 of panels that ended with a band of phase planes (one thread of an AMD EPYC, Zen 4).
//
// A transform mixes the pixels of a tile, so that one infinity would make its neighbours NaN: a result that is not
// finite is reported, and the caller computes the whole in the plain way.
#include "kernels/conv_winograd.h"

#include <atomic>

#include "kernels/conv_patch.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "levels/caches.h"
#include "ops/conv/engine.h"
#include "ops/conv/workspace.h"
#include "storage/forms.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::Winograd;
using conv::workspace_of;
using S = Simd<float>;
using V = S::V;

constexpr int kLanes = kPanel<float>;
constexpr int64_t kApart = kLanes;             // between frequencies: powers of two apart they would share cache sets
constexpr int64_t kBlockBytes = 1024 * 1024;   // transformed patches and their products held at a time, in L2
constexpr int64_t kTurned = S::kWidth;         // channels whose weights are turned into vectors of rows together
constexpr int64_t kLargeWeights = 512 * 1024;  // transformed weights beyond L2 must serve several panels
constexpr int64_t kPanelsOfLarge = 4;

class WinogradConvolution {
 public:
  explicit WinogradConvolution(const Winograd& job)
      : job_(job),
        rows_(job.rows),
        out_h_(job.h + 2 * job.padding - 2),
        out_w_(job.w + 2 * job.padding - 2),
        out_plane_(int64_t(out_h_) * out_w_),
        tiles_(job.images, out_h_, out_w_),
        panels_((tiles_.count + kLanes - 1) / kLanes),
        transform_patches_(tiles_, job.image, job.channels, job.h, job.w, job.padding) {
    const int64_t panel = kFrequencies * kLanes * (job.channels + job.rows),
                  fit = part_of_second_cache(kBlockBytes) / int64_t(sizeof(float)) / panel;
    const int64_t least = kFrequencies * job.channels * job.rows > kLargeWeights ? kPanelsOfLarge : 1;
    const int64_t share = (panels_ + num_threads() - 1) / num_threads();
    block_ = fit < least ? least : fit;
    block_ = block_ > share ? share : block_;
    blocks_ = (panels_ + block_ - 1) / block_;
  }

  bool run() {
    const int64_t size = job_.rows * job_.channels;
    const auto transform = [&](float* to) {
      const int64_t tasks = tasks_for(40.0 * size, rows_.count);
      parallel_run(tasks, [&](int64_t task) {
        for (int64_t i = part(rows_.count, task, tasks); i < part(rows_.count, task + 1, tasks); i++)
          transform_weights(to, i);
      });
    };
    const FormKey key{job_.weights,
                      FormKind::Winograd,
                      {job_.rows, job_.channels, job_.weight_row, job_.weight_channel, job_.weight_tap, job_.turned}};
    const float* weights = form_of<float>(key, kFrequencies * weight_stride(), transform);
    if (!weights) {
      float* to = workspace_of<float>(Slot::Weights, kFrequencies * weight_stride());
      transform(to);
      weights = to;
    }
    std::atomic<bool> finite{true};
    const int64_t tasks = tasks_for(4.0 * double(tiles_.count * size), blocks_);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(blocks_, task, tasks); k < part(blocks_, task + 1, tasks); k++)
        if (!block(part(panels_, k, blocks_), part(panels_, k + 1, blocks_), weights))
          finite.store(false, std::memory_order_relaxed);
    });
    if (!finite.load()) return false;
    const int64_t outputs = job_.images * job_.rows * out_plane_;
    finish_all(take_epilogue(job_.out, outputs), outputs);
    return true;
  }

 private:
  // G g G^T of row panel i: [frequency][row panel][channel][rows].
  void transform_weights(float* d, int64_t i) const {
    const int rows = rows_.size(i);
    float* turned = workspace_of<float>(Slot::Strip, kTurned * 9 * S::kWidth);
    for (int64_t c = 0; c < job_.channels; c += kTurned) {
      const int64_t count = job_.channels - c < kTurned ? job_.channels - c : kTurned;
      turn(turned, job_.weights + rows_.begin(i) * job_.weight_row + c * job_.weight_channel, rows, count);
      float* to = d + rows_.begin(i) * job_.channels + c * rows;
      for (int64_t k = 0; k < count; k++, to += rows) {
        V g[9], m[kFrequencies];
        for (int t = 0; t < 9; t++) g[t] = S::load(turned + (9 * k + (job_.turned ? 8 - t : t)) * S::kWidth);
        weight_transform(g, m);
        for (int f = 0; f < kFrequencies; f++) S::store(first_lanes(rows), to + f * weight_stride(), m[f]);
      }
    }
  }
  // turned[channel][tap][kWidth rows]
  void turn(float* turned, const float* w, int rows, int64_t channels) const {
    constexpr int W = S::kWidth;
    if (job_.weight_row == 1) {
      for (int64_t c = 0; c < channels; c++)
        for (int t = 0; t < 9; t++)
          S::store(turned + (9 * c + t) * W,
                   S::load(first_lanes(rows), w + c * job_.weight_channel + t * job_.weight_tap));
    } else if (job_.weight_channel == 1) {
      for (int t = 0; t < 9; t++)
        transpose_strip(turned + t * W, 9 * W, w + t * job_.weight_tap, job_.weight_row, rows, channels, S::kAll);
    } else {  // the nine of a pair lie one after the other, perhaps those of the next channel behind them
      const int64_t run = job_.weight_channel == 9 ? channels : 1;
      for (int64_t c = 0; c < channels; c += run)
        transpose_strip(turned + 9 * c * W, W, w + c * job_.weight_channel, job_.weight_row, rows, 9 * run, S::kAll);
    }
  }
  int64_t weight_stride() const { return job_.rows * job_.channels + kApart; }

  // The panels [begin, end) of tiles; false where something was not finite.
  bool block(int64_t begin, int64_t end, const float* weights) const {
    const int64_t count = end - begin;
    float* patches = workspace_of<float>(Slot::Patches, kFrequencies * patch_stride(block_));
    float* products = workspace_of<float>(Slot::Tile, block_ * kFrequencies * product_stride());
    Places* places = workspace_of<Places>(Slot::Strip, 2 * block_);
    transform_patches_(patches, patch_stride(count), begin, count);
    multiply(weights, patches, products, count);
    for (int64_t v = 0; v < 2 * count; v++) places[v] = places_of((2 * begin + v) * S::kWidth);
    return write(products, places, 2 * count);
  }

  int64_t patch_stride(int64_t count) const { return count * job_.channels * kLanes + kApart; }
  int64_t product_stride() const { return job_.rows * kLanes + kApart; }

  // products[panel][frequency][row][lane] = weights[frequency] * patches[frequency][panel]
  void multiply(const float* weights, const float* patches, float* products, int64_t count) const {
    for (int f = 0; f < kFrequencies; f++)
      for (int64_t i = 0; i < rows_.count; i++)
        for (int64_t j = 0; j < count; j++) {
          const TileJob<float> tile{int(job_.channels),
                                    1,
                                    0,
                                    weights + f * weight_stride() + rows_.begin(i) * job_.channels,
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

  // Where the outputs of a vector of tiles belong: two rows of twice as many, each row in two vectors.
  struct Place {
    ptrdiff_t offset;
    LaneMask mask;
  };
  struct Places {
    int count[2][2];
    Place at[2][2][S::kWidth];
  };
  Places places_of(int64_t tile) const {
    Places places;
    places.count[0][0] = places.count[0][1] = places.count[1][0] = places.count[1][1] = 0;
    for_runs(tiles_, tile, tile + S::kWidth, [&](const TileRun& run) {
      const int y = 2 * run.y, lane = int(run.tile - tile), end = 2 * (run.x + run.length);
      const int outputs = (end < out_w_ ? end : out_w_) - 2 * run.x;
      const uint64_t lanes = ((uint64_t(1) << outputs) - 1) << 2 * lane;
      const ptrdiff_t offset = run.image * job_.rows * out_plane_ + ptrdiff_t(y) * out_w_ + 2 * (run.x - lane);
      for (int i = 0; i < 2 && y + i < out_h_; i++)
        for (int half = 0; half < 2; half++)
          if (const LaneMask mask = LaneMask(lanes >> half * S::kWidth) & S::kAll)
            places.at[i][half][places.count[i][half]++] = {offset + i * out_w_ + half * S::kWidth, mask};
    });
    return places;
  }

  // Channel by channel: what one has in all the panels is near each other.
  bool write(const float* products, const Places* places, int64_t vectors) const {
    const int64_t stride = product_stride();
    float* out = job_.out;
    V bad{};
    for (int64_t o = 0; o < job_.rows; o++, products += kLanes, out += out_plane_) {
      const V bias = S::fill(job_.bias ? job_.bias[o] : 0.f);
      for (int64_t v = 0; v < vectors; v++) {
        const float* s = products + v / 2 * kFrequencies * stride + v % 2 * S::kWidth;
        V m[kFrequencies], y[2][2];
        for (int f = 0; f < kFrequencies; f++) m[f] = S::load(s + f * stride);
        output_transform(m, y);
        y[0][0] += bias, y[0][1] += bias, y[1][0] += bias, y[1][1] += bias;
        bad += (y[0][0] + y[0][1] + (y[1][0] + y[1][1])) * 0.f;
        put(places[v], 0, 0, out, S::zip_low(y[0][0], y[0][1]));
        put(places[v], 0, 1, out, S::zip_high(y[0][0], y[0][1]));
        put(places[v], 1, 0, out, S::zip_low(y[1][0], y[1][1]));
        put(places[v], 1, 1, out, S::zip_high(y[1][0], y[1][1]));
      }
    }
    return S::sum(bad) == 0;
  }
  TORCH_INLINE void put(const Places& places, int row, int half, float* out, V v) const {
    const Place* at = places.at[row][half];
    for (int k = 0; k < places.count[row][half]; k++) {
      S::store(at[k].mask, out + at[k].offset, v);
      if (out_plane_ >= kApartFrom) __builtin_prefetch(out + out_plane_ + at[k].offset, 1);
    }
  }

  const Winograd& job_;
  const RowPanels rows_;
  const int out_h_, out_w_;
  const int64_t out_plane_;
  const Tiles tiles_;
  const int64_t panels_;
  const PatchTransform transform_patches_;
  int64_t block_, blocks_;
};

bool winograd(const Winograd& job) { return WinogradConvolution(job).run(); }

}  // namespace

void add_conv_winograd(conv::Engine& engine) { engine.winograd = winograd; }

}  // namespace torch::TORCH_ISA
