// Depthwise convolution: each channel has a kernel of its own, so that a vector of channels is a vector of independent
// sums. A block of as many channels as a vector has lanes is brought to [row][column][lane] with its padding around it;
// there every tap of every stride is an aligned load at a constant offset. Images by rows are turned on their way in
// and out, images with their channels last are copied; between, both are the same.
//
// Columns of a row are split by the stride: neighbouring outputs read neighbouring vectors.
//
// Where rows are wide enough for vectors, small kernels go along them instead (conv_depthwise_rows.h).
#include "kernels/conv_depthwise_rows.h"
#include "kernels/conv_patch.h"
#include "kernels/conv_sums.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::PatchGemm;
using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;

constexpr int kPositions = kVectorRegisters == 32 ? 14 : 12;  // of a tile: their sums fill the registers
constexpr int64_t kBandBytes = 256 * 1024;                    // of an image in lanes: a part of L2
constexpr int64_t kTurnedBytes = 16 * 1024;                   // of outputs before they are turned: a part of L1
constexpr int64_t kSlices = 4;                                // of images, where a gradient has few blocks

struct LaneTap {
  int from, weight;  // in elements, from a position of the image, from the first weight
};

// out[position][lane] = bias[lane] + sum over taps.
template <class T, int... I>
TORCH_INLINE void lane_tile(std::integer_sequence<int, I...>, int taps, const LaneTap* tap, const T* weights,
                            const T* image, const T* bias, T* out, ptrdiff_t out_step, LaneMask lanes) {
  using S = Simd<T>;
  typename S::V sum[sizeof...(I)];
  ((sum[I] = S::load(bias)), ...);
  for (int t = 0; t < taps; t++) {
    const typename S::V w = S::load(weights + tap[t].weight);
    const T* from = image + tap[t].from;
    ((sum[I] += w * S::load(from + I * S::kWidth)), ...);
  }
  if (lanes == S::kAll)
    ((S::store(out + I * out_step, sum[I])), ...);
  else
    ((S::store(lanes, out + I * out_step, sum[I])), ...);
}
template <class T>
using LaneTile = void (*)(int, const LaneTap*, const T*, const T*, const T*, T*, ptrdiff_t, LaneMask);
template <class T, int kCount>
void lane_tile(int taps, const LaneTap* tap, const T* weights, const T* image, const T* bias, T* out,
               ptrdiff_t out_step, LaneMask lanes) {
  lane_tile<T>(std::make_integer_sequence<int, kCount>{}, taps, tap, weights, image, bias, out, out_step, lanes);
}
template <class T, int... I>
TORCH_INLINE LaneTile<T> lane_tile_for(std::integer_sequence<int, I...>, int count) {
  static constexpr LaneTile<T> table[] = {lane_tile<T, I + 1>...};
  return table[count - 1];
}

// sums[tap][lane] += sum over positions of dy * image: two chains for each tap, so that taps need not wait.
template <class T, int... I>
TORCH_INLINE void lane_gradient(std::integer_sequence<int, I...>, int taps, const LaneTap* tap, const T* dy,
                                const T* image, T* sums) {
  using S = Simd<T>;
  typename S::V g[sizeof...(I)];
  ((g[I] = S::load(dy + I * S::kWidth)), ...);
  for (int t = 0; t < taps; t++) {
    const T* from = image + tap[t].from;
    typename S::V sum[2] = {S::load(sums + tap[t].weight), {}};
    ((sum[I % 2] += g[I] * S::load(from + I * S::kWidth)), ...);
    S::store(sums + tap[t].weight, sum[0] + sum[1]);
  }
}
template <class T>
using LaneGradient = void (*)(int, const LaneTap*, const T*, const T*, T*);
template <class T, int kCount>
void lane_gradient(int taps, const LaneTap* tap, const T* dy, const T* image, T* sums) {
  lane_gradient<T>(std::make_integer_sequence<int, kCount>{}, taps, tap, dy, image, sums);
}
template <class T, int... I>
TORCH_INLINE LaneGradient<T> lane_gradient_for(std::integer_sequence<int, I...>, int count) {
  static constexpr LaneGradient<T> table[] = {lane_gradient<T, I + 1>...};
  return table[count - 1];
}

// f(first, count): the tiles of a row of outputs.
template <class F>
TORCH_INLINE void for_tiles(int width, F f) {
  const int tiles = (width + kPositions - 1) / kPositions;
  for (int i = 0, x = 0; i < tiles; i++) {
    const int count = (width + i) / tiles;  // even parts
    f(x, count);
    x += count;
  }
}

// Where the channels of some images lie, by rows or last.
template <class T>
struct Channels {
  T* data;
  int64_t images, channels, h, w;
  bool last;
};

// Rows of an image for a block of channels, padded and in lanes.
template <class T>
class Lanes {
  using S = Simd<T>;
  static constexpr int W = S::kWidth, kAhead = 8;

 public:
  // Positions (y, x) read rows y * sy + dy and columns x * sx + dx for all taps of all phases.
  Lanes(const Channels<const T>& image, int sy, int sx, const Phase* phases, int count)
      : image_(image), sy_(sy), sx_(sx) {
    int right = 0;
    for (int f = 0; f < count; f++) {
      const Phase& p = phases[f];
      for (int t = 0; t < p.tap_count; t++) {
        const Tap& tap = p.taps[t];
        top_ = -tap.dy > top_ ? -tap.dy : top_;
        left_ = -tap.dx > left_ ? -tap.dx : left_;
        below_ = tap.dy > below_ ? tap.dy : below_;
        right = (p.grid.w - 1) * sx + tap.dx > right ? (p.grid.w - 1) * sx + tap.dx : right;
      }
    }
    pitch_ = (left_ + right) / sx + 1;
    columns_ = image.w < right + 1 ? image.w : right + 1;
  }
  int64_t row() const { return int64_t(sx_) * pitch_ * W; }  // elements of a row
  int rows_for(int positions) const { return (positions - 1) * sy_ + top_ + below_ + 1; }
  int64_t size(int positions) const { return rows_for(positions) * row(); }
  // As many rows of positions as fit, of `all`.
  int band(int all) const {
    const int64_t fit = kBandBytes / int64_t(sizeof(T)) / (row() * sy_) - (top_ + below_) / sy_;
    const int64_t least = fit < 4 ? 4 : fit, bands = (all + least - 1) / least;
    return int((all + bands - 1) / bands);
  }
  LaneTap at(const Tap& tap) const {
    const int x = tap.dx + left_;
    return {int((tap.dy + top_) * row() + (int64_t(x % sx_) * pitch_ + x / sx_) * W), tap.index * W};
  }
  const T* position(const T* lanes, int y, int x) const { return lanes + y * sy_ * row() + int64_t(x) * W; }

  // A band begins at row `first` of the positions; what lies outside the image is zero, once for all blocks.
  void begin(T* lanes, int first, int positions, int* places) {
    std::memset(lanes, 0, size_t(size(positions)) * sizeof(T));
    const int from = first * sy_ - top_, to = from + rows_for(positions);
    from_ = from, first_ = from > 0 ? from : 0, end_ = to < image_.h ? to : int(image_.h);
    for (int y = first_; y < end_; y++)
      for (int x = 0; x < image_.w; x++) {
        const int column = x + left_;
        *places++ = x < columns_ ? int((y - from) * row() + (int64_t(column % sx_) * pitch_ + column / sx_) * W) : -1;
      }
  }
  int64_t places() const { return image_.h * image_.w; }

  void fill(T* lanes, const int* places, int64_t image, int64_t channel) const {
    const int64_t plane = image_.h * image_.w, left = image_.channels - channel;
    const int count = int(left < W ? left : W);
    const int64_t first = first_ * image_.w, positions = (end_ - first_) * image_.w;
    if (image_.last) {
      const T* s = image_.data + (image * plane + first) * image_.channels + channel;
      const LaneMask mask = first_lanes(count) & S::kAll;
      const int64_t step = image_.channels;
      for (int y = first_; y < end_; y++, s += image_.w * step) {
        T* row = lanes + int64_t(y - from_) * this->row();
        for (int r = 0; r < sx_; r++) {  // columns r - left + j * sx
          const int j = left_ > r ? (left_ - r + sx_ - 1) / sx_ : 0, x = r - left_ + j * sx_;
          T* d = row + (int64_t(r) * pitch_ + j) * W;
          const T* from = s + x * step;
          for (int k = x; k < columns_; k += sx_, d += W, from += sx_ * step) {
            __builtin_prefetch(from + kAhead * sx_ * step);
            S::store(d, mask == S::kAll ? S::load(from) : S::load(mask, from));
          }
        }
      }
      return;
    }
    const T* s = image_.data + (image * image_.channels + channel) * plane + first;
    for (int64_t p = 0; p < positions; p += W, s += W) {
      for (int i = 0; i < count; i++) __builtin_prefetch(s + i * plane + 2 * W);
      const int wide = int(positions - p < W ? positions - p : W);
      const LaneMask mask = first_lanes(wide) & S::kAll;
      typename S::V row[W];
      for (int i = 0; i < W; i++) row[i] = i < count ? S::load(mask, s + i * plane) : typename S::V{};
      S::transpose(row);
      for (int i = 0; i < wide; i++)
        if (places[p + i] >= 0) S::store(lanes + places[p + i], row[i]);
    }
  }

 private:
  const Channels<const T> image_;
  const int sy_, sx_;
  int top_ = 0, left_ = 0, below_ = 0, pitch_, columns_, from_ = 0, first_ = 0, end_ = 0;
};

template <class T>
class Depthwise {
  using S = Simd<T>;
  static constexpr int W = S::kWidth;

 public:
  Depthwise(const PatchGemm<T>& job, bool last)
      : job_(job),
        last_(last),
        image_{job.image.data, job.phases[0].grid.images, job.groups, job.image.h, job.image.w, last},
        blocks_((job.groups + W - 1) / W) {
    for (int f = 0; f < job.phase_count; f++) {
      rows_ = job.phases[f].grid.h > rows_ ? job.phases[f].grid.h : rows_;
      for (int t = 0; t < job.phases[f].tap_count; t++) {
        const int index = job.phases[f].taps[t].index;
        weights_ = index >= weights_ ? index + 1 : weights_;
      }
    }
    whole_ = job.phase_count == job.phases[0].step[1] * job.phases[0].step[2];
    outputs_ = image_.images * job.groups * job.out_h * job.out_w;
    epilogue_ = take_epilogue(job.out, outputs_);
    by_blocks_ = !last && is_finished_by_blocks<T>(outputs_);
  }

  void run() const {
    const Lanes<T> lanes(image_, job_.stride[1], job_.stride[2], job_.phases, job_.phase_count);
    const int band = lanes.band(rows_);
    const int64_t bands = (rows_ + band - 1) / band, pieces = bands * blocks_ * image_.images;
    const double work = double(image_.images) * job_.groups * job_.out_h * job_.out_w * (job_.tap_count + 4);
    const int64_t tasks = tasks_for(work / job_.phase_count, pieces);
    parallel_run(tasks, [&](int64_t task) {
      const int64_t begin = part(pieces, task, tasks), end = part(pieces, task + 1, tasks);
      if (begin < end) Task(*this, lanes, band).run(begin, end);
    });
    if (!by_blocks_) finish_all(epilogue_, outputs_);
  }

 private:
  // Pieces are numbered [band][block][image].
  class Task {
   public:
    Task(const Depthwise& all, const Lanes<T>& lanes, int band)
        : all_(all), job_(all.job_), lanes_(lanes), band_(band) {
      image_ = workspace_of<T>(Slot::Planes, lanes.size(band));
      places_ = workspace_of<int>(Slot::Runs, lanes.places());
      taps_ = workspace_of<LaneTap>(Slot::Strip, job_.tap_count);
      weights_ = workspace_of<T>(Slot::Tile, (all.weights_ + 1) * W);
      const int64_t out_row = int64_t(job_.out_w) * W;
      chunk_ = int(kTurnedBytes / int64_t(sizeof(T)) / (out_row * step_y()));
      chunk_ = all.last_ || chunk_ > band ? band : chunk_ < 1 ? 1 : chunk_;
      turned_ = all.last_ ? nullptr : workspace_of<T>(Slot::Patches, chunk_ * step_y() * out_row);
      LaneTap* to = taps_;
      for (int f = 0; f < job_.phase_count; f++)
        for (int t = 0; t < job_.phases[f].tap_count; t++) *to++ = lanes.at(job_.phases[f].taps[t]);
    }
    void run(int64_t begin, int64_t end) {
      const int64_t images = all_.image_.images;
      int64_t band = -1, block = -1;
      for (int64_t k = begin; k < end; k++) {
        const int64_t b = k / images / all_.blocks_, i = k / images % all_.blocks_;
        if (b != band) {
          first_ = int(b) * band_;
          rows_ = all_.rows_ - first_ < band_ ? all_.rows_ - first_ : band_;
          lanes_.begin(image_, first_, rows_, places_);
        }
        if (b != band || i != block) pack_weights(i * W);
        band = b, block = i;
        lanes_.fill(image_, places_, k % images, i * W);
        outputs(k % images, i * W);
      }
    }

   private:
    int step_y() const { return job_.phases[0].step[1]; }

    // [tap][lane], and behind them the bias.
    void pack_weights(int64_t channel) {
      const int64_t taps = all_.weights_, left = job_.groups - channel;
      const int count = int(left < W ? left : W);
      transpose_strip(weights_, W, job_.weights + channel * job_.weight_group, job_.weight_group, count, taps, S::kAll);
      const typename S::V bias =
          job_.bias ? S::load(first_lanes(count) & S::kAll, job_.bias + channel) : typename S::V{};
      S::store(weights_ + taps * W, bias);
      lanes_in_use_ = first_lanes(count) & S::kAll, count_ = count;
    }

    void outputs(int64_t image, int64_t channel) const {
      const int64_t plane = int64_t(job_.out_h) * job_.out_w;
      if (all_.last_) {
        T* out = job_.out + (image * plane + int64_t(first_) * step_y() * job_.out_w) * job_.groups + channel;
        return rows(0, rows_, out, job_.groups, lanes_in_use_);
      }
      T* out = job_.out + (image * job_.groups + channel) * plane;
      for (int y = 0; y < rows_; y += chunk_) {
        const int count = rows_ - y < chunk_ ? rows_ - y : chunk_;
        const int from = (first_ + y) * step_y(), all = count * step_y();
        const int64_t positions = int64_t(from + all < job_.out_h ? all : job_.out_h - from) * job_.out_w;
        if (!all_.whole_)
          for (int64_t p = 0; p < positions; p++) S::store(turned_ + p * W, S::load(weights_ + all_.weights_ * W));
        rows(y, count, turned_, W, S::kAll);
        for (int64_t p = 0; p < positions; p += W) {
          const int wide = int(positions - p < W ? positions - p : W);
          transpose_strip(out + int64_t(from) * job_.out_w + p, plane, turned_ + p * W, W, wide, count_,
                          first_lanes(wide) & S::kAll);
        }
        if (all_.by_blocks_) all_.epilogue_((out - job_.out) + int64_t(from) * job_.out_w, count_, plane, positions);
      }
    }

    // `count` rows of each phase from row y of the band on, to positions `out_step` apart.
    void rows(int y, int count, T* out, ptrdiff_t out_step, LaneMask mask) const {
      const LaneTap* taps = taps_;
      for (int f = 0; f < job_.phase_count; taps += job_.phases[f++].tap_count) {
        const Phase& p = job_.phases[f];
        const int inside = p.grid.h - first_ - y < count ? p.grid.h - first_ - y : count;
        for (int r = 0; r < inside; r++)
          for_tiles(p.grid.w, [&](int x, int wide) {
            const int64_t at = (int64_t(r) * p.step[1] + p.origin[1]) * job_.out_w + x * p.step[2] + p.origin[2];
            lane_tile_for<T>(std::make_integer_sequence<int, kPositions>{}, wide)(
                p.tap_count, taps, weights_, lanes_.position(image_, y + r, x), weights_ + all_.weights_ * W,
                out + at * out_step, p.step[2] * out_step, mask);
          });
      }
    }

    const Depthwise& all_;
    const PatchGemm<T>& job_;
    Lanes<T> lanes_;
    const int band_;
    T *image_, *weights_, *turned_;
    int* places_;
    LaneTap* taps_;
    int chunk_, first_ = 0, rows_ = 0, count_ = 0;
    LaneMask lanes_in_use_ = 0;
  };

  const PatchGemm<T>& job_;
  const bool last_;
  const Channels<const T> image_;
  const int64_t blocks_;
  int rows_ = 0, weights_ = 0;
  bool whole_;
  int64_t outputs_;
  Epilogue epilogue_;
  bool by_blocks_;
};

template <class T>
void product(const PatchGemm<T>& job, bool channels_last) {
  if (channels_last || !depthwise_along_rows(job)) Depthwise<T>(job, channels_last).run();
}

// dw[channel][tap] = sum over images and positions of dy * image.
template <class T>
void gradient(const WeightGradient<T>& job) {
  using S = Simd<T>;
  constexpr int W = S::kWidth;
  const ConvShape& s = *job.shape;
  const Phase phase{{s.n, 1, int(s.out[1]), int(s.out[2])}, job.taps, job.tap_count, 0, {1, 1, 1}, {}, 0};
  const Tap here{0, 0, 0, 0};
  const Phase pixel{phase.grid, &here, 1, 0, {1, 1, 1}, {}, 0};
  const Lanes<T> of_x({job.x, s.n, s.c, s.in[1], s.in[2], s.channels_last}, int(s.stride[1]), int(s.stride[2]), &phase,
                      1),
      of_dy({job.dy, s.n, s.c, s.out[1], s.out[2], s.channels_last}, 1, 1, &pixel, 1);
  const int band = of_x.band(phase.grid.h), bands = (phase.grid.h + band - 1) / band;
  const int64_t blocks = (s.c + W - 1) / W, taps = job.tap_count, size = s.c * taps;
  const int64_t slices = blocks >= kSlices ? 1 : s.n < kSlices ? s.n : kSlices, pieces = blocks * slices;
  T* slice_sums = slices > 1 ? workspace_of<T>(Slot::Sums, slices * size) : job.dw;
  const int64_t tasks = tasks_for(double(s.n) * s.out_plane() * size, pieces);
  parallel_run(tasks, [&](int64_t task) {
    Lanes<T> lanes = of_x, gradients = of_dy;
    T* image = workspace_of<T>(Slot::Planes, lanes.size(band));
    T* dy = workspace_of<T>(Slot::Patches, gradients.size(band));
    int* places = workspace_of<int>(Slot::Runs, lanes.places() + gradients.places());
    LaneTap* at = workspace_of<LaneTap>(Slot::Strip, taps);
    T* sums = workspace_of<T>(Slot::Tile, 2 * taps * W);  // of a band, of all
    for (int64_t t = 0; t < taps; t++) at[t] = lanes.at(job.taps[t]);
    for (int64_t k = part(pieces, task, tasks); k < part(pieces, task + 1, tasks); k++) {
      const int64_t slice = k / blocks, channel = k % blocks * W;
      T* total = sums + taps * W;
      std::memset(total, 0, size_t(taps * W) * sizeof(T));
      for (int b = 0; b < bands; b++) {
        const int first = b * band, rows = phase.grid.h - first < band ? phase.grid.h - first : band;
        lanes.begin(image, first, rows, places);
        gradients.begin(dy, first, rows, places + lanes.places());
        for (int64_t n = part(s.n, slice, slices); n < part(s.n, slice + 1, slices); n++) {
          lanes.fill(image, places, n, channel);
          gradients.fill(dy, places + lanes.places(), n, channel);
          std::memset(sums, 0, size_t(taps * W) * sizeof(T));
          for (int y = 0; y < rows; y++)
            for_tiles(phase.grid.w, [&](int x, int wide) {
              lane_gradient_for<T>(std::make_integer_sequence<int, kPositions>{}, wide)(
                  int(taps), at, gradients.position(dy, y, x), lanes.position(image, y, x), sums);
            });
          for (int64_t i = 0; i < taps * W; i += W) S::store(total + i, S::load(total + i) + S::load(sums + i));
        }
      }
      T* to = slice_sums + slice * size + channel * taps;
      for (int64_t i = 0; i < W && channel + i < s.c; i++)
        for (int64_t t = 0; t < taps; t++) *to++ = total[t * W + i];
    }
  });
  if (slices == 1) return;
  add_slices(slice_sums, slices, size);
  std::memcpy(job.dw, slice_sums, size_t(size) * sizeof(T));
}

}  // namespace

void add_conv_depthwise(conv::Engine& engine) {
  engine.depthwise_f32 = product<float>;
  engine.depthwise_f64 = product<double>;
  engine.depthwise_weights_f32 = gradient<float>;
  engine.depthwise_weights_f64 = gradient<double>;
}

}  // namespace torch::TORCH_ISA
