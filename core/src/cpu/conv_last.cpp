// Convolution of images whose channels lie last. There a patch is runs of channels, which a position copies as they
// are, and 32 outputs of a position are a vector: patches [position][step] are broadcast against weights [step][32
// outputs], steps numbered [tap][channel]. Results land in their order. Small maps lose nothing, as no vector of
// positions has to be filled.
//
// Every output is one chain over the steps in pieces that only the shape cuts: the bits do not depend on the threads.
#include "kernels/conv_patch.h"
#include "kernels/conv_sums.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "ops/conv/workspace.h"
#include "storage/forms.h"

namespace torch::TORCH_ISA {
namespace {

using conv::PatchGemm;
using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;

constexpr int64_t kSteps = 320;       // of a piece: 14 patches (18 KB) and 32 outputs' weights (40 KB) stay near
constexpr int kPitch = kSteps + 16;   // of packed patches: an odd number of cache lines
constexpr int64_t kBlock = 256;       // positions packed at a time
constexpr int64_t kShortBlock = 128;  // so that what a tile of the weights' gradient reads stays in L1
constexpr int64_t kManyBlocks = 8;    // share out positions from here on, outputs before
constexpr int64_t kSlices = 4;        // of positions, where a gradient has few pieces

template <class T, int kRows>
void row_tile(const TileJob<T>& job) {
  tile<T>(std::make_integer_sequence<int, kRows>{}, job, PatchRows<kPitch>{});
}
template <class T, int... R>
TORCH_INLINE Tile<T> row_tile_for(std::integer_sequence<int, R...>, int rows) {
  static constexpr Tile<T> table[] = {row_tile<T, R + 1>...};
  return table[rows - 1];
}

struct Pieces {
  int64_t steps, size, count;
  TORCH_INLINE explicit Pieces(int64_t steps) : steps(steps) {
    constexpr int64_t kTurned = 16;
    count = (steps + kSteps - 1) / kSteps;
    size = ((steps + count - 1) / count + kTurned - 1) / kTurned * kTurned;
    count = (steps + size - 1) / size;
  }
  TORCH_INLINE int64_t begin(int64_t q) const { return q * size; }
  TORCH_INLINE int64_t end(int64_t q) const { return (q + 1) * size < steps ? (q + 1) * size : steps; }
};

template <class T>
TORCH_INLINE void copy_run(T* d, const T* s, int64_t length) {
  using S = Simd<T>;
  int64_t i = 0;
  for (; i + S::kWidth <= length; i += S::kWidth) S::store(d + i, S::load(s + i));
  if (const LaneMask rest = first_lanes(int(length - i)))
    S::store(rest & S::kAll, d + i, S::load(rest & S::kAll, s + i));
}

// What a position and a phase mean: where it reads and writes.
struct Place {
  int64_t image;
  int z, y, x;
};
template <class F>
TORCH_INLINE void for_places(const Grid& g, int64_t first, int64_t count, F f) {
  int64_t row = first / g.w;
  Place at{row / g.h / g.d, int(row / g.h % g.d), int(row % g.h), int(first % g.w)};
  for (int64_t i = 0; i < count; i++) {
    f(i, at);
    if (++at.x < g.w) continue;
    at.x = 0;
    if (++at.y < g.h) continue;
    at.y = 0;
    if (++at.z < g.d) continue;
    at.z = 0, ++at.image;
  }
}

// d[position][kPitch]: the steps [begin, end) of the patches of `count` positions from `first` on.
template <class T>
void pack_positions(T* d, const Image<T>& image, int64_t channels, const int (&stride)[3], const Phase& p,
                    int64_t first, int64_t count, int64_t begin, int64_t end) {
  for_places(p.grid, first, count, [&](int64_t i, const Place& at) {
    T* to = d + i * kPitch;
    const T* plane = image.data + at.image * image.image_stride;
    for (int64_t step = begin, t = begin / channels, from = begin % channels; step < end; t++, from = 0) {
      const int64_t length = channels - from < end - step ? channels - from : end - step;
      const Tap& tap = p.taps[t];
      const int z = at.z * stride[0] + tap.dz, y = at.y * stride[1] + tap.dy, x = at.x * stride[2] + tap.dx;
      if (unsigned(z) < unsigned(image.d) && unsigned(y) < unsigned(image.h) && unsigned(x) < unsigned(image.w))
        copy_run(to, plane + ((int64_t(z) * image.h + y) * image.w + x) * channels + from, length);
      else
        std::memset(to, 0, size_t(length) * sizeof(T));
      step += length, to += length;
    }
  });
}

template <class T>
class Product {
  using S = Simd<T>;

 public:
  explicit Product(const PatchGemm<T>& job)
      : job_(job),
        panels_((job.rows + kPanel<T> - 1) / kPanel<T>),
        outputs_(job.phases[0].grid.images * job.out_image),
        epilogue_(take_epilogue(job.out, outputs_)) {}

  void run() const {
    for (int f = 0; f < job_.phase_count; f++) phase(job_.phases[f]);
    if (!by_positions()) finish_all(epilogue_, outputs_);
  }

 private:
  static bool is_in_place(const Phase& p) { return p.step[0] == 1 && p.step[1] == 1 && p.step[2] == 1; }
  // Whether positions are those of the output, one after the other.
  bool by_positions() const {
    const Phase& p = job_.phases[0];
    return job_.phase_count == 1 && is_in_place(p) && columns_of(p.grid) * job_.rows == outputs_;
  }
  void finish(int64_t first, int64_t count) const {
    if (epilogue_ && by_positions()) epilogue_(first * job_.rows, 1, 0, count * job_.rows);
  }
  void phase(const Phase& p) const {
    const Pieces pieces(p.tap_count * job_.channels);
    const int64_t positions = columns_of(p.grid), blocks = (positions + kBlock - 1) / kBlock;
    const double work = double(positions) * job_.rows * pieces.steps;
    const auto pack_all = [&](T* all) {
      const int64_t packs = pieces.count * panels_, tasks = tasks_for(4.0 * job_.rows * pieces.steps, packs);
      parallel_run(tasks, [&](int64_t task) {
        for (int64_t k = part(packs, task, tasks); k < part(packs, task + 1, tasks); k++)
          pack_weights(all + packed_at(pieces, k / panels_, k % panels_), p, pieces, k / panels_, k % panels_);
      });
    };
    // Packed before, where they are constants, or several blocks need them.
    const T* weights = packed_once(p, pieces, pack_all);
    if (!weights && blocks > 1) {
      T* all = workspace_of<T>(Slot::Weights, panels_ * kPanel<T> * pieces.steps);
      pack_all(all);
      weights = all;
    }
    const bool in_place = is_in_place(p);
    if (blocks >= kManyBlocks) {
      const int64_t tasks = tasks_for(work, blocks);
      parallel_run(tasks, [&](int64_t task) {
        T* patches = workspace_of<T>(Slot::Patches, kBlock * kPitch);
        T* sums = in_place ? nullptr : workspace_of<T>(Slot::Tile, kBlock * job_.rows);
        for (int64_t k = part(blocks, task, tasks); k < part(blocks, task + 1, tasks); k++) {
          const int64_t first = part(positions, k, blocks), count = part(positions, k + 1, blocks) - first;
          T* out = in_place ? job_.out + first * job_.rows : sums;
          for (int64_t q = 0; q < pieces.count; q++) {
            pack(patches, p, pieces, q, first, count);
            for (int64_t j = 0; j < panels_; j++)
              multiply(patches, count, pieces, q, weights + packed_at(pieces, q, j), j, out);
          }
          if (!in_place) spread(p, sums, first, count, 0, job_.rows);
          finish(first, count);
        }
      });
      return;
    }
    for (int64_t k = 0; k < blocks; k++) {
      const int64_t first = part(positions, k, blocks), count = part(positions, k + 1, blocks) - first;
      T* patches = workspace_of<T>(Slot::Panels, pieces.count * kBlock * kPitch);
      T* sums = in_place ? nullptr : workspace_of<T>(Slot::Sums, kBlock * job_.rows);
      T* out = in_place ? job_.out + first * job_.rows : sums;
      const int64_t packs = tasks_for(2.0 * count * pieces.steps, pieces.count),
                    tasks = tasks_for(work / double(blocks), panels_);
      parallel_run(packs, [&](int64_t task) {
        for (int64_t q = part(pieces.count, task, packs); q < part(pieces.count, task + 1, packs); q++)
          pack(patches + q * kBlock * kPitch, p, pieces, q, first, count);
      });
      parallel_run(tasks, [&](int64_t task) {
        T* own = weights ? nullptr : workspace_of<T>(Slot::Strip, kPitch * kPanel<T>);
        for (int64_t j = part(panels_, task, tasks); j < part(panels_, task + 1, tasks); j++) {
          for (int64_t q = 0; q < pieces.count; q++) {
            if (own) pack_weights(own, p, pieces, q, j);
            multiply(patches + q * kBlock * kPitch, count, pieces, q, own ? own : weights + packed_at(pieces, q, j), j,
                     out);
          }
          const int64_t end = (j + 1) * kPanel<T>;
          if (!in_place) spread(p, sums, first, count, j * kPanel<T>, end < job_.rows ? end : job_.rows);
        }
      });
      finish(first, count);
    }
  }

  template <class F>
  const T* packed_once(const Phase& p, const Pieces& pieces, const F& pack_all) const {
    const FormKey key{job_.weights,
                      FormKind::ConvLast,
                      {job_.rows, job_.channels, p.tap_count, job_.weight_row, job_.weight_channel, taps_number(&p, 1),
                       int64_t(sizeof(T))}};
    return form_of<T>(key, panels_ * kPanel<T> * pieces.steps, pack_all);
  }
  int64_t packed_at(const Pieces& pieces, int64_t q, int64_t j) const {
    return (pieces.begin(q) * panels_ + j * (pieces.end(q) - pieces.begin(q))) * kPanel<T>;
  }

  void pack(T* d, const Phase& p, const Pieces& pieces, int64_t q, int64_t first, int64_t count) const {
    pack_positions(d, job_.image, job_.channels, job_.stride, p, first, count, pieces.begin(q), pieces.end(q));
  }

  // d[step][kPanel] of piece q for panel j of outputs; zero beyond the last one.
  void pack_weights(T* d, const Phase& p, const Pieces& pieces, int64_t q, int64_t j) const {
    constexpr int W = S::kWidth;
    const int64_t begin = pieces.begin(q), end = pieces.end(q), row = j * kPanel<T>, left = job_.rows - row;
    if (job_.weight_channel == 1) {  // the steps of an output follow each other
      for (int64_t v = 0; v < kPanel<T>; v += W) {
        const int64_t rows = left - v < 0 ? 0 : left - v < W ? left - v : W;
        transpose_strip(d + v, kPanel<T>, job_.weights + (rows ? row + v : 0) * job_.weight_row + begin,
                        job_.weight_row, int(rows), end - begin, S::kAll);
      }
      return;
    }
    const LaneMask mask = first_lanes(int(left < kPanel<T> ? left : kPanel<T>)), low = mask & S::kAll,
                   high = mask >> W & S::kAll;
    for (int64_t step = begin, t = begin / job_.channels, c = begin % job_.channels; step < end; t++, c = 0)
      for (const T* w = job_.weights + p.taps[t].index + row; c < job_.channels && step < end; c++, step++) {
        S::store(d, S::load(low, w + c * job_.weight_channel));
        S::store(d + W, S::load(high, w + c * job_.weight_channel + W));
        d += kPanel<T>;
      }
  }

  // out[position][rows] for panel j of them.
  void multiply(const T* patches, int64_t count, const Pieces& pieces, int64_t q, const T* weights, int64_t j,
                T* out) const {
    const RowPanels tiles(count);
    const int64_t row = j * kPanel<T>, left = job_.rows - row, wide = left < kPanel<T> ? left : kPanel<T>;
    const bool bias = job_.bias && q == 0;
    for (int64_t i = 0; i < tiles.count; i++) {
      T* to = out + tiles.begin(i) * job_.rows + row;
      if (bias)
        for (int r = 0; r < tiles.size(i); r++) copy_run(to + r * job_.rows, job_.bias + row, wide);
      const TileJob<T> tile{int(pieces.end(q) - pieces.begin(q)),
                            1,
                            0,
                            patches + tiles.begin(i) * kPitch,
                            weights,
                            kPanel<T>,
                            to,
                            job_.rows,
                            first_lanes(int(wide)),
                            q > 0 || bias,
                            nullptr};
      row_tile_for<T>(std::make_integer_sequence<int, kMaxRows>{}, tiles.size(i))(tile);
    }
  }

  // The outputs [begin, end) of some positions to where their phase belongs.
  void spread(const Phase& p, const T* sums, int64_t first, int64_t count, int64_t begin, int64_t end) const {
    for_places(p.grid, first, count, [&](int64_t i, const Place& at) {
      const int64_t z = int64_t(at.z) * p.step[0] + p.origin[0], y = int64_t(at.y) * p.step[1] + p.origin[1],
                    x = int64_t(at.x) * p.step[2] + p.origin[2];
      copy_run(job_.out + at.image * job_.out_image + ((z * job_.out_h + y) * job_.out_w + x) * job_.rows + begin,
               sums + i * job_.rows + begin, end - begin);
    });
  }

  const PatchGemm<T>& job_;
  const int64_t panels_, outputs_;
  const Epilogue epilogue_;
};

// dw[output][step] = sum over positions of dy[position][output] * patch[position][step].
template <class T>
void gradient(const WeightGradient<T>& job) {
  const ConvShape& s = *job.shape;
  const Image<T> image{job.x, s.c * s.in_plane(), 1, int(s.in[0]), int(s.in[1]), int(s.in[2])};
  const int stride[3] = {int(s.stride[0]), int(s.stride[1]), int(s.stride[2])};
  const Phase p{{s.n, int(s.out[0]), int(s.out[1]), int(s.out[2])}, job.taps, job.tap_count, 0, {1, 1, 1}, {}, 0};
  const Pieces pieces(s.c * job.tap_count);
  const RowPanels rows(s.o);
  const int64_t positions = columns_of(p.grid), blocks = (positions + kShortBlock - 1) / kShortBlock;
  const int64_t slices = pieces.count >= kSlices ? 1 : blocks < kSlices ? blocks : kSlices, size = s.o * pieces.steps;
  T* sums = slices > 1 ? workspace_of<T>(Slot::Sums, slices * size) : job.dw;
  const int64_t units = pieces.count * slices, tasks = tasks_for(double(positions) * double(size), units);
  parallel_run(tasks, [&](int64_t task) {
    T* patches = workspace_of<T>(Slot::Patches, kShortBlock * kPitch);
    T* turned = workspace_of<T>(Slot::Tile, kShortBlock * s.o);  // dy as [row panel][position][rows]
    for (int64_t k = part(units, task, tasks); k < part(units, task + 1, tasks); k++) {
      const int64_t q = k / slices, slice = k % slices, begin = pieces.begin(q), end = pieces.end(q);
      const int64_t from = part(blocks, slice, slices), to = part(blocks, slice + 1, slices);
      for (int64_t b = from; b < to; b++) {
        const int64_t first = part(positions, b, blocks), count = part(positions, b + 1, blocks) - first;
        pack_positions(patches, image, s.c, stride, p, first, count, begin, end);
        for (int64_t i = 0; i < rows.count; i++)
          for (int64_t n = 0; n < count; n++)
            copy_run(turned + rows.begin(i) * count + n * rows.size(i), job.dy + (first + n) * s.o + rows.begin(i),
                     rows.size(i));
        for (int64_t v = begin; v < end; v += kPanel<T>)
          for (int64_t i = 0; i < rows.count; i++) {
            const TileJob<T> tile{int(count),
                                  1,
                                  0,
                                  turned + rows.begin(i) * count,
                                  patches + (v - begin),
                                  kPitch,
                                  sums + slice * size + rows.begin(i) * pieces.steps + v,
                                  pieces.steps,
                                  first_lanes(int(end - v < kPanel<T> ? end - v : kPanel<T>)),
                                  b > from,
                                  nullptr};
            packed_tile_for<T>(rows.size(i))(tile);
          }
      }
    }
  });
  if (slices == 1) return;
  add_slices(sums, slices, size);
  std::memcpy(job.dw, sums, size_t(size) * sizeof(T));
}

// Sums of blocks of positions, added in order.
template <class T>
void bias(int64_t positions, int64_t channels, const T* dy, T* db) {
  constexpr int64_t kRows = 1024;
  const int64_t blocks = (positions + kRows - 1) / kRows;
  T* sums = blocks > 1 ? workspace_of<T>(Slot::Sums, blocks * channels) : db;
  parallel_for(blocks, 65536 / (kRows * channels) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      T* sum = sums + b * channels;
      std::memset(sum, 0, size_t(channels) * sizeof(T));
      for (int64_t p = part(positions, b, blocks); p < part(positions, b + 1, blocks); p++)
        for (int64_t c = 0; c < channels; c++) sum[c] += dy[p * channels + c];
    }
  });
  if (blocks < 2) return;
  add_slices(sums, blocks, channels);
  std::memcpy(db, sums, size_t(channels) * sizeof(T));
}

template <class T>
void product(const PatchGemm<T>& job) {
  Product<T>(job).run();
}

}  // namespace

void add_conv_last(conv::Engine& engine) {
  engine.last_f32 = product<float>;
  engine.last_f64 = product<double>;
  engine.last_weights_f32 = gradient<float>;
  engine.last_weights_f64 = gradient<double>;
  engine.last_bias_f32 = bias<float>;
  engine.last_bias_f64 = bias<double>;
}

}  // namespace torch::TORCH_ISA
