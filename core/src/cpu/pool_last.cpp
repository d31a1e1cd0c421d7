// Maxima of float images whose channels lie last: the lanes are channels, and a window is some pixels of them.
#include "kernels/pool_winners.h"
#include "kernels/pooling.h"

namespace torch::TORCH_ISA {
namespace {

using S = Simd<float>;
using V = S::V;
constexpr int W = S::kWidth;
constexpr int64_t kChannels = 4 * W;  // whose gradients are a task's own

// f(pixel within the image, tap) for the taps of a window that lie inside.
template <class F>
TORCH_INLINE void for_taps(const Windows& w, const Reach (&r)[3], F f) {
  for (int64_t z = r[0].begin; z < r[0].end; z++)
    for (int64_t y = r[1].begin; y < r[1].end; y++)
      for (int64_t x = r[2].begin; x < r[2].end; x++)
        f(((r[0].start + z * w.dilation[0]) * w.in[1] + r[1].start + y * w.dilation[1]) * w.in[2] + r[2].start +
              x * w.dilation[2],
          int((z * w.kernel[1] + y) * w.kernel[2] + x));
}
TORCH_INLINE void find_reach(const Windows& w, int64_t position, Reach (&r)[3]) {
  r[2] = reach(w, 2, position % w.out[2]);
  r[1] = reach(w, 1, position / w.out[2] % w.out[1]);
  r[0] = reach(w, 0, position / w.out[2] / w.out[1]);
}

TORCH_INLINE V load_some(LaneMask mask, const float* p) { return mask == S::kAll ? S::load(p) : S::load(mask, p); }
TORCH_INLINE void store_some(LaneMask mask, float* p, V v) { mask == S::kAll ? S::store(p, v) : S::store(mask, p, v); }

void max_forward_last(const Windows& w, int64_t channels, const float* x, float* y, uint8_t* winners) {
  const int64_t positions = w.planes / channels * w.out_plane();
  parallel_for(positions, 65536 / (channels * w.taps() + 1) + 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; p++) {
      const float* image = x + p / w.out_plane() * w.in_plane() * channels;
      Reach r[3];
      find_reach(w, p % w.out_plane(), r);
      const int start = int((r[0].begin * w.kernel[1] + r[1].begin) * w.kernel[2] + r[2].begin);
      for (int64_t c = 0; c < channels; c += W) {
        const LaneMask mask = first_lanes(int(channels - c < W ? channels - c : W)) & S::kAll;
        V best = S::fill(-std::numeric_limits<float>::infinity());
        Winners winner = Winners{} + start;
        for_taps(w, r, [&](int64_t pixel, int tap) {
          const V v = load_some(mask, image + pixel * channels + c);
          const Winners takes = (v > best) | (v != v);
          best = takes ? v : best;
          winner = takes ? Winners{} + tap : winner;
        });
        store_some(mask, y + p * channels + c, best);
        if (winners) store_winners(mask, winners + p * channels + c, winner);
      }
    }
  });
}

void max_backward_last(const Windows& w, int64_t channels, const float* dy, const uint8_t* winners, float* dx) {
  const int64_t parts = (channels + kChannels - 1) / kChannels, units = w.planes / channels * parts;
  parallel_for(units, 65536 / (kChannels * (w.in_plane() + w.out_plane() * w.taps())) + 1, [&](int64_t a, int64_t b) {
    for (int64_t unit = a; unit < b; unit++) {
      const int64_t image = unit / parts, begin = unit % parts * kChannels;
      const int64_t end = channels - begin < kChannels ? channels : begin + kChannels;
      float* to = dx + image * w.in_plane() * channels;
      for (int64_t i = 0; i < w.in_plane(); i++)
        std::memset(to + i * channels + begin, 0, size_t(end - begin) * sizeof(float));
      for (int64_t p = 0; p < w.out_plane(); p++) {
        Reach r[3];
        find_reach(w, p, r);
        const int64_t from = (image * w.out_plane() + p) * channels;
        for (int64_t c = begin; c < end; c += W) {
          const int count = int(end - c < W ? end - c : W);
          const LaneMask mask = first_lanes(count) & S::kAll;
          const V g = load_some(mask, dy + from + c);
          const Winners winner = load_winners(count, winners + from + c);
          for_taps(w, r, [&](int64_t pixel, int tap) {
            float* d = to + pixel * channels + c;
            store_some(mask, d, load_some(mask, d) + (winner == tap ? g : V{}));
          });
        }
      }
    }
  });
}

}  // namespace

void add_pooling_last(pool::Kernels<float>& f32) {
  f32.max_forward_last = max_forward_last;
  f32.max_backward_last = max_backward_last;
}

}  // namespace torch::TORCH_ISA
