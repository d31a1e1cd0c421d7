// Convolution as a product that never forms its right operand: packed weights [row][step] times patches
// [step][position], one panel of positions at a time. Forward and backward-data are the same routine; see
// conv/engine.h.
//
// Every output is one chain over the steps, cut into pieces of about kSteps only by the shape: the result has the same
// bits for any number of threads and any assignment of tiles to them.
#include "kernels/conv_patch.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "levels/caches.h"
#include "ops/conv/workspace.h"
#include "storage/forms.h"

namespace torch::TORCH_ISA {
namespace {

using conv::PatchGemm;
using conv::Slot;
using conv::workspace_of;

constexpr int64_t kSteps = 320;  // of A and B, so that a panel of B (40 KB) and of A (18 KB) stay in L1 or close
constexpr int64_t kPackedOnce = 262144;       // weights up to 1 MB are packed once per call
constexpr int64_t kBlockBytes = 1024 * 1024;  // packed patches shared by all rows
constexpr int64_t kFewColumns = 1024;         // too few for packed weights to pay, where they can be read as they lie
constexpr int kSpare = 2;                     // lanes beyond whole vectors that are summed along the steps
constexpr int kTurned = 7;                    // of packed weights, lanes that are summed along the rows
constexpr int64_t kFinishBytes = 64 * 1024;   // of outputs that wait for their epilogue
constexpr int64_t kRowsInPlace = 8;  // panels of rows: more pay for packing the patches of a pointwise convolution
constexpr int64_t kRowGroup = 4;     // row panels of large weights that are packed together, just before use

// A panel of patches, rows `step` apart.
template <class T>
struct Patches {
  const T* at;
  ptrdiff_t step;
};

// What is written next is fetched one panel ahead: of cold outputs, 16 to 96 channels of 112 x 112 take 674 us instead
// of 834, 16 to 72 of 56 x 56 144 instead of 160; where they are near it changes nothing (one thread, AMD EPYC, Zen 4).
template <class T>
inline constexpr ptrdiff_t kAhead = kPanel<T>;

template <class T>
class Product {
 public:
  explicit Product(const PatchGemm<T>& job)
      : job_(job), rows_(job.rows), pieces_(job.channels, most_taps(job), kSteps), most_taps_(most_taps(job)) {
    for (int f = 0; f < job.phase_count; f++) {
      job.phases[f].first_panel = panels_;
      panels_ += panels_of<T>(job.phases[f].grid);
      columns_ += columns_of(job.phases[f].grid);
    }
    steps_ = pieces_.size_ * most_taps_;
    in_place_ = columns_ < kFewColumns && rows_lie_well();
    image_lies_well_ = whether_image_lies_well();
    kept_ = packed_once();
    const Grid& g = job.phases[0].grid;
    plane_ = int64_t(g.d) * g.h * g.w;
    // The output is dense: where it has one phase, its positions are those of the planes.
    epilogue_ = take_epilogue(job.out, g.images * job.out_image);
    by_positions_ =
        job.phase_count == 1 && plane_ == job.out_channel && is_finished_by_blocks<T>(g.images * job.out_image);
  }

  void run() {
    const int64_t weights = job_.rows * job_.channels * job_.tap_count;
    if ((weights <= kPackedOnce && columns_ >= job_.rows) || columns_ >= 16 * job_.rows || job_.groups > 1)
      share_columns();
    else
      share_rows();
    if (!by_positions_) finish_all(epilogue_, job_.phases[0].grid.images * job_.out_image);
  }

 private:
  static int most_taps(const PatchGemm<T>& job) {
    int most = 1;
    for (int f = 0; f < job.phase_count; f++) most = job.phases[f].tap_count > most ? job.phases[f].tap_count : most;
    return most;
  }
  // Whether the weights of a row follow each other, and rows are far enough from lying a multiple of a page apart,
  // where few sets of L1 would hold all rows of a tile.
  bool rows_lie_well() const {
    constexpr int64_t kPage = 4096, kWays = 4;
    const Phase& p = job_.phases[0];
    if (job_.phase_count != 1 || p.taps[p.tap_count - 1].index != p.tap_count - 1 || job_.weight_channel != p.tap_count)
      return false;
    const int64_t apart = job_.weight_row * int64_t(sizeof(T)), together = apart & -apart;  // a power of two
    return rows_.size(0) * together <= kWays * kPage;
  }
  int64_t weights_of_group() const { return job_.rows * job_.channels * job_.tap_count; }
  // The weights of all groups, for each piece of channels as pack_weights makes them.
  void pack_all(T* weights) const {
    const int64_t packs = job_.groups * pieces_.count, tasks = tasks_for(4.0 * job_.groups * weights_of_group(), packs);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(packs, task, tasks); k < part(packs, task + 1, tasks); k++) {
        const int64_t group = k / pieces_.count, q = k % pieces_.count;
        pack_weights(weights + group * weights_of_group() + job_.rows * pieces_.begin(q) * job_.tap_count, group, q, 0,
                     rows_.count);
      }
    });
  }
  // The same, where they are constants.
  const T* packed_once() const {
    const FormKey key{
        job_.weights,
        FormKind::ConvRows,
        {job_.groups, job_.rows, job_.channels, job_.tap_count, job_.weight_row, job_.weight_channel, job_.weight_group,
         taps_number(job_.phases, job_.phase_count), pieces_.size_, int64_t(sizeof(T))}};
    return form_of<T>(key, job_.groups * weights_of_group(), [&](T* to) { pack_all(to); });
  }
  double work(double columns) const { return columns / job_.phase_count * job_.rows * job_.channels * job_.tap_count; }

  // Weights of channel piece q and row panels [begin, end): for each phase, for each row panel, [step][rows].
  void pack_weights(T* d, int64_t group, int64_t q, int64_t begin, int64_t end) const {
    const T* w = job_.weights + group * job_.weight_group + pieces_.begin(q) * job_.weight_channel;
    const int64_t channels = pieces_.size(q);
    for (int f = 0; f < job_.phase_count; f++) {
      const Phase& p = job_.phases[f];
      // How far the weights of an output lie one after the other: through channels and taps, channels, or taps.
      const bool all_taps = job_.phase_count == 1 && p.taps[p.tap_count - 1].index == p.tap_count - 1;
      const bool whole = all_taps && job_.weight_channel == p.tap_count, by_tap = !whole && job_.weight_channel == 1;
      const int64_t run = whole ? channels * p.tap_count : by_tap ? channels : all_taps ? p.tap_count : 0;
      for (int64_t i = begin; i < end; i++) {
        const int r = rows_.size(i);
        const T* s = w + rows_.begin(i) * job_.weight_row;
        const auto turn = [&](T* d, ptrdiff_t d_row, const T* s) {
          for (int v = 0; v < r; v += Simd<T>::kWidth) {
            const int part = r - v < Simd<T>::kWidth ? r - v : Simd<T>::kWidth;
            transpose_strip(d + v, d_row, s + v * job_.weight_row, job_.weight_row, part, run, first_lanes(part));
          }
        };
        if (whole)
          turn(d, r, s);
        else if (by_tap)
          for (int t = 0; t < p.tap_count; t++) turn(d + t * r, p.tap_count * r, s + p.taps[t].index);
        else if (run > 1)
          for (int64_t c = 0; c < channels; c++) {
            __builtin_prefetch(s + (c + 4) * job_.weight_channel);
            turn(d + c * p.tap_count * r, r, s + c * job_.weight_channel);
          }
        else
          pack_each(d, p, s, r, channels);
        d += channels * p.tap_count * r;
      }
    }
  }
  void pack_each(T* d, const Phase& p, const T* s, int rows, int64_t channels) const {
    for (int64_t c = 0; c < channels; c++, s += job_.weight_channel) {
      __builtin_prefetch(s + 4 * job_.weight_channel);
      for (int t = 0; t < p.tap_count; t++, d += rows) {
        const T* tap = s + p.taps[t].index;
        for (int k = 0; k < rows; k++) d[k] = tap[k * job_.weight_row];
      }
    }
  }

  // Patches of piece q for `count` panels of phase p from panel j on, steps_ * kPanel apart.
  void pack_image(T* d, const Phase& p, int64_t group, int64_t q, int64_t j, int64_t count) const {
    Image<T> image = job_.image;
    image.data += group * job_.channels * image.channel_stride;
    if (is_pointwise(image, job_.stride, p))
      return pack_pointwise(d, panel_size(), image, pieces_.begin(q), pieces_.size(q), p.grid, j, count);
    for (int64_t k = 0; k < count; k++)
      pack_patches(d + k * panel_size(), image, pieces_.begin(q), pieces_.size(q), p.grid, (j + k) * kPanel<T>,
                   job_.stride, p.taps, p.tap_count);
  }
  // Whether the patches of a pointwise convolution are read as they lie in the image: where few rows share a panel, and
  // channels do not meet in few sets of L1. 144 channels of 56 x 56 to 24 take 94 us instead of 118, 256 to 64 406
  // instead of 454, 240 of 14 x 14 to 40 17.3 instead of 19.8 (one thread, AMD EPYC, Zen 5).
  bool whether_image_lies_well() const {
    constexpr int64_t kPage = 4096, kRowsThatMeet = 2;
    const bool meet = job_.image.channel_stride * int64_t(sizeof(T)) % kPage == 0;
    return rows_.count <= (meet ? kRowsThatMeet : kRowsInPlace) && job_.phase_count == 1 &&
           is_pointwise(job_.image, job_.stride, job_.phases[0]);
  }
  // Of one output channel, outputs of one image go on in the next: there a panel that is one run may be of two images.
  bool lies_well(const Runs<T>& to, int64_t j) const {
    if (!image_lies_well_ || !to.direct() || to.lanes != kPanel<T>) return false;
    const Image<T>& image = job_.image;
    const int64_t plane = int64_t(image.d) * image.h * image.w;
    return image.image_stride == plane || j * kPanel<T> % plane + kPanel<T> <= plane;
  }
  // Panel j of a pointwise convolution, which is within one image.
  Patches<T> image_as_it_lies(int64_t group, int64_t q, int64_t j) const {
    const Image<T>& image = job_.image;
    const int64_t plane = int64_t(image.d) * image.h * image.w, at = j * kPanel<T>;
    return {image.data + at / plane * image.image_stride + at % plane +
                (group * job_.channels + pieces_.begin(q)) * image.channel_stride,
            image.channel_stride};
  }
  ptrdiff_t panel_size() const { return steps_ * kPanel<T>; }

  // The weights of row panel i for piece q; `packed` is what pack_weights made.
  const T* weights_at(const T* packed, int64_t group, int64_t q, int64_t i) const {
    return in_place_ && !kept_ ? weights_as_they_lie(group, q, i) : packed;
  }
  const T* weights_as_they_lie(int64_t group, int64_t q, int64_t i) const {
    return job_.weights + group * job_.weight_group + rows_.begin(i) * job_.weight_row +
           pieces_.begin(q) * job_.weight_channel;
  }

  void multiply_lanes(TileJob<T>& tile, int rows, int lanes) const {
    const bool narrow = lanes <= Simd<T>::kWidth;
    if (lanes == 0) return;
    tile.mask &= first_lanes(lanes);
    if (in_place_ && !kept_)
      (narrow ? strided_tile_for<T, true>(rows) : strided_tile_for<T>(rows))(tile);
    else
      (narrow ? packed_tile_for<T, true>(rows) : packed_tile_for<T>(rows))(tile);
  }
  // One lane of a tile: a few that are left over would take as long as a whole vector of positions, so that their sums
  // are vectors of steps.
  static void spare_column(const TileJob<T>& tile, const T* weights, int rows, int lane) {
    using S = Simd<T>;
    constexpr int W = S::kWidth;
    alignas(64) T column[kSteps + W];
    for (int k = 0; k < tile.inner; k++) column[k] = tile.b[k * tile.b_step + lane];
    const LaneMask rest = first_lanes(tile.inner % W);
    for (int r = 0; r < rows; r++) {
      const T* a = weights + r * tile.a_row;
      typename S::V sum{};
      int k = 0;
      for (; k + W <= tile.inner; k += W) sum += S::load(a + k) * S::load(column + k);
      if (rest) sum += S::load(rest, a + k) * S::load(rest, column + k);
      T* c = tile.c + r * tile.c_row + lane;
      *c = S::sum(sum) + (tile.accumulate ? *c : tile.bias ? tile.bias[r] : T(0));
    }
  }

  // Into the first of them, by halves. A loop would keep all in memory.
  template <int... I>
  static TORCH_INLINE void add_halves(std::integer_sequence<int, I...>, typename Simd<T>::V* sum) {
    constexpr int n = sizeof...(I);
    ((sum[I] += sum[I + n]), ...);
    if constexpr (n > 1) add_halves(std::make_integer_sequence<int, n / 2>{}, sum);
  }
  // The same where weights are packed, so that a vector holds the rows of a step; the order of the sums is that of
  // above, which reads the weights once more, as they lie: within EfficientNet 1152 channels of 7 x 7 to 192 take 308
  // us so, and 233 from packed ones (one thread, AMD EPYC, Zen 4).
  template <int... I>
  static TORCH_INLINE void spare_column_of_packed(std::integer_sequence<int, I...>, const TileJob<T>& tile, int rows,
                                                  int lane) {
    using S = Simd<T>;
    constexpr int W = S::kWidth;
    const typename S::Held held = S::held(first_lanes(rows));
    typename S::V sum[W] = {((void)I, typename S::V{})...};
    const T *a = tile.a, *b = tile.b + lane;
    int k = 0;
    for (; k + W <= tile.inner; k += W, a += W * rows, b += W * tile.b_step)
      ((sum[I] += S::load(held, a + I * rows) * S::fill(b[I * tile.b_step])), ...);
    ((k + I < tile.inner ? void(sum[I] += S::load(held, a + I * rows) * S::fill(b[I * tile.b_step])) : void()), ...);
    add_halves(std::make_integer_sequence<int, W / 2>{}, sum);
    alignas(64) T sums[W];
    S::store(sums, sum[0]);
    T* c = tile.c + lane;
    for (int r = 0; r < rows; r++, c += tile.c_row)
      *c = sums[r] + (tile.accumulate ? *c : tile.bias ? tile.bias[r] : T(0));
  }
  // A tile of a few lanes of packed weights, turned: its vectors hold rows, and its sums are those of multiply_lanes.
  // 80 channels of 14 x 14 to 480 take 147 us instead of 158 (one thread, AMD EPYC, Zen 4).
  template <int... I>
  static void turned_tile(std::integer_sequence<int, I...>, const TileJob<T>& tile, int rows, int lane) {
    using S = Simd<T>;
    const LaneMask mask = first_lanes(rows);
    const typename S::Held held = S::held(mask);
    const typename S::V first = tile.bias ? S::load(mask, tile.bias) : typename S::V{};
    typename S::V sum[] = {((void)I, first)...};
    const T *a = tile.a, *b = tile.b + lane;
    for (int k = 0; k < tile.inner; k++, a += rows, b += tile.b_step) {
      const typename S::V w = S::load(held, a);
      ((sum[I] += w * S::fill(b[I])), ...);
    }
    // A lane of a register that a loop chooses would keep all sums in memory, above as well: 320 channels of 14 x 14 to
    // 672 take 759 us instead of 784 (one thread, AMD EPYC, Zen 4).
    alignas(64) T sums[sizeof...(I)][S::kWidth];
    (S::store(sums[I], sum[I]), ...);
    T* c = tile.c + lane;
    for (int r = 0; r < rows; r++, c += tile.c_row) ((c[I] = tile.accumulate ? sums[I][r] + c[I] : sums[I][r]), ...);
  }
  template <int... L>
  static void turned_tile_for(std::integer_sequence<int, L...>, int lanes, const TileJob<T>& tile, int rows, int lane) {
    static constexpr void (*table[])(const TileJob<T>&, int, int) = {
        [](const TileJob<T>& t, int r, int l) { turned_tile(std::make_integer_sequence<int, L + 1>{}, t, r, l); }...};
    table[lanes - 1](tile, rows, lane);
  }

  // Row panel i against one panel of patches. A panel that crosses rows keeps its sums dense in `sums` until the last
  // piece.
  void multiply(const Phase& p, const Runs<T>& to, int64_t group, int64_t q, int64_t i, const T* a, const Patches<T>& b,
                T* sums) const {
    const int r = rows_.size(i);
    const int64_t o = rows_.begin(i), row = group * job_.rows + o;
    T* out = job_.out + row * job_.out_channel;
    const bool direct = to.direct();
    TileJob<T> tile{int(pieces_.size(q) * p.tap_count),
                    1,
                    0,
                    weights_at(a, group, q, i),
                    b.at,
                    b.step,
                    direct ? out + to.at[0].offset : sums + o * kPanel<T>,
                    direct ? job_.out_channel : kPanel<T>,
                    direct ? to.at[0].mask : ~0u,
                    q > 0,
                    q == 0 && job_.bias ? job_.bias + row : nullptr,
                    job_.weight_row,
                    direct ? kAhead<T> : 0};
    constexpr int W = Simd<T>::kWidth;
    const int spare = to.lanes % W;
    if (in_place_ && spare <= kSpare && tile.inner <= kSteps) {
      const T* weights = weights_as_they_lie(group, q, i);
      for (int lane = to.lanes - spare; lane < to.lanes; lane++)
        if (kept_ && kMaxRows <= W)
          spare_column_of_packed(std::make_integer_sequence<int, W>{}, tile, r, lane);
        else
          spare_column(tile, weights, r, lane);
      multiply_lanes(tile, r, to.lanes - spare);
    } else if (const int most = r / 2 < kTurned ? r / 2 : kTurned;
               kMaxRows <= W && (kept_ || !in_place_) && spare > 0 && spare <= most) {
      turned_tile_for(std::make_integer_sequence<int, kTurned>{}, spare, tile, r, to.lanes - spare);
      multiply_lanes(tile, r, to.lanes - spare);
    } else {
      multiply_lanes(tile, r, to.lanes);
    }
    if (!direct && q == pieces_.count - 1) scatter(to, sums + o * kPanel<T>, r, out, job_.out_channel);
  }
  // The positions of panels [begin, end) have their last values, in rows from `row` on, counted over all groups.
  void finish(int64_t row, int64_t rows, int64_t begin, int64_t end) const {
    if (!epilogue_ || !by_positions_) return;
    const int64_t last = end * kPanel<T> < columns_ ? end * kPanel<T> : columns_;
    for (int64_t p = begin * kPanel<T>; p < last;) {
      const int64_t image = p / plane_, stop = (image + 1) * plane_ < last ? (image + 1) * plane_ : last;
      epilogue_(image * job_.out_image + row * job_.out_channel + p % plane_, rows, job_.out_channel, stop - p);
      p = stop;
    }
  }
  Runs<T> runs(const Phase& p, int64_t j) const {
    return Runs<T>(p, j * kPanel<T>, job_.out_image, job_.out_h, job_.out_w);
  }

  // Few weights: packed once, then each task takes panels of positions and packs their patches for itself.
  void share_columns() const {
    const int64_t per_group = weights_of_group();
    const T* weights = kept_;
    if (!kept_ && !in_place_) {
      T* packed = workspace_of<T>(Slot::Weights, job_.groups * per_group);
      pack_all(packed);
      weights = packed;
    }
    const int64_t all = job_.groups * panels_, tasks = tasks_for(work(double(columns_) * job_.groups), all);
    parallel_run(tasks, [&](int64_t task) {
      for (int64_t k = part(all, task, tasks), end = part(all, task + 1, tasks); k < end;) {
        const int64_t group = k / panels_, first = k % panels_;
        const int64_t count = end - k < panels_ - first ? end - k : panels_ - first;
        for_phases(first, first + count, [&](const Phase& p, int64_t begin, int64_t stop) {
          column_range(weights + group * per_group, p, group, begin, stop);
        });
        k += count;
      }
    });
  }
  void column_range(const T* weights, const Phase& p, int64_t group, int64_t begin, int64_t end) const {
    constexpr int64_t kAtOnce = 4;  // panels of a pointwise convolution read together
    const int64_t at_once = most_taps_ == 1 ? kAtOnce : 1, tile_size = job_.rows * kPanel<T>;
    T* patches = workspace_of<T>(Slot::Patches, at_once * panel_size());
    T* sums = workspace_of<T>(Slot::Tile, at_once * tile_size);
    const int64_t fit = kFinishBytes / (tile_size * int64_t(sizeof(T))), some = fit < 8 ? 8 : fit;  // panels
    for (int64_t j = begin, done = begin; j < end; j += at_once) {
      const int64_t count = end - j < at_once ? end - j : at_once;
      for (int64_t q = 0; q < pieces_.count; q++) {
        if (!image_lies_well_) pack_image(patches, p, group, q, j, count);
        const int64_t steps = pieces_.size(q) * p.tap_count;
        const T* a = weights + job_.rows * (pieces_.begin(q) * job_.tap_count + pieces_.size(q) * p.taps_before);
        for (int64_t k = 0; k < count; k++) {
          const Runs<T> to = runs(p, j + k);
          const bool lies = lies_well(to, j + k);
          if (image_lies_well_ && !lies) pack_image(patches + k * panel_size(), p, group, q, j + k, 1);
          const Patches<T> b =
              lies ? image_as_it_lies(group, q, j + k) : Patches<T>{patches + k * panel_size(), kPanel<T>};
          for (int64_t i = 0; i < rows_.count; i++)
            multiply(p, to, group, q, i, a + rows_.begin(i) * steps, b, sums + k * tile_size);
        }
      }
      if (const int64_t here = j + count; here - done >= some || here == end) {
        finish(group * job_.rows, job_.rows, done, here);
        done = here;
      }
    }
  }

  // Many weights and few positions (deep layers): all tasks pack a block of patches together; then each takes row
  // panels and packs their weights just before use, so that those are read once and the packed copy never leaves L1.
  void share_rows() const {
    int64_t block = part_of_second_cache(kBlockBytes) / int64_t(sizeof(T)) / panel_size();
    block = block < 1 ? 1 : block > panels_ ? panels_ : block;
    const int64_t blocks = (panels_ + block - 1) / block;
    block = (panels_ + blocks - 1) / blocks;
    T* patches = workspace_of<T>(Slot::Panels, block * panel_size());
    T* sums = workspace_of<T>(Slot::Sums, block * job_.rows * kPanel<T>);
    Runs<T>* to = workspace_of<Runs<T>>(Slot::Runs, block);
    const int64_t groups = (rows_.count + kRowGroup - 1) / kRowGroup;
    for (int64_t begin = 0; begin < panels_; begin += block) {
      const int64_t end = begin + block < panels_ ? begin + block : panels_;
      for (int64_t q = 0; q < pieces_.count; q++) {
        const double steps = double(pieces_.size(q)) * most_taps_;
        const int64_t pack_tasks = tasks_for(4.0 * steps * (end - begin) * kPanel<T>, end - begin);
        parallel_run(pack_tasks, [&](int64_t task) {
          const int64_t a = begin + part(end - begin, task, pack_tasks),
                        b = begin + part(end - begin, task + 1, pack_tasks);
          for_phases(a, b, [&](const Phase& p, int64_t j0, int64_t j1) {
            const int64_t at = j0 + p.first_panel - begin;
            if (q == 0)
              for (int64_t j = j0; j < j1; j++) to[at + j - j0] = runs(p, j);
            if (!image_lies_well_) return pack_image(patches + at * panel_size(), p, 0, q, j0, j1 - j0);
            for (int64_t j = j0; j < j1; j++)
              if (!lies_well(to[at + j - j0], j)) pack_image(patches + (at + j - j0) * panel_size(), p, 0, q, j, 1);
          });
        });
        const int64_t tasks = tasks_for(steps * (end - begin) * kPanel<T> * job_.rows, groups);
        parallel_run(tasks, [&](int64_t task) {
          for (int64_t g = part(groups, task, tasks); g < part(groups, task + 1, tasks); g++)
            row_group(g * kRowGroup, (g + 1) * kRowGroup < rows_.count ? (g + 1) * kRowGroup : rows_.count, q, begin,
                      end, patches, to, sums);
        });
      }
    }
  }
  void row_group(int64_t i0, int64_t i1, int64_t q, int64_t begin, int64_t end, const T* patches, const Runs<T>* to,
                 T* sums) const {
    const int64_t rows = rows_.begin(i1 - 1) + rows_.size(i1 - 1) - rows_.begin(i0), channels = pieces_.size(q);
    T* a = workspace_of<T>(Slot::Strip, in_place_ || kept_ ? 0 : rows * channels * job_.tap_count);
    if (!in_place_ && !kept_) pack_weights(a, 0, q, i0, i1);
    for_phases(begin, end, [&](const Phase& p, int64_t j0, int64_t j1) {
      const T* phase = a + rows * channels * p.taps_before;
      if (kept_)
        phase = kept_ + job_.rows * (pieces_.begin(q) * job_.tap_count + channels * p.taps_before) +
                rows_.begin(i0) * channels * p.tap_count;
      for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
          const int64_t at = j + p.first_panel - begin;
          const Patches<T> b =
              lies_well(to[at], j) ? image_as_it_lies(0, q, j) : Patches<T>{patches + at * panel_size(), kPanel<T>};
          multiply(p, to[at], 0, q, i, phase + (rows_.begin(i) - rows_.begin(i0)) * channels * p.tap_count, b,
                   sums + at * job_.rows * kPanel<T>);
        }
    });
    if (q == pieces_.count - 1) finish(rows_.begin(i0), rows, begin, end);
  }

  // f(phase, first, last panel within the phase) for the parts of [begin, end), numbered over all phases.
  template <class F>
  void for_phases(int64_t begin, int64_t end, F f) const {
    for (int k = 0; k < job_.phase_count; k++) {
      const Phase& p = job_.phases[k];
      const int64_t next = k + 1 < job_.phase_count ? job_.phases[k + 1].first_panel : panels_;
      const int64_t a = begin > p.first_panel ? begin : p.first_panel, b = end < next ? end : next;
      if (a < b) f(p, a - p.first_panel, b - p.first_panel);
    }
  }

  const PatchGemm<T>& job_;
  const RowPanels rows_;
  const ChannelPieces pieces_;
  const int most_taps_;
  int64_t panels_ = 0, columns_ = 0, steps_;
  bool in_place_;            // weights are read as they lie,
  const T* kept_ = nullptr;  // unless they are constants, and packed already
  bool image_lies_well_;
  Epilogue epilogue_;
  int64_t plane_;
  bool by_positions_;
};

template <class T>
void gemm(const PatchGemm<T>& job) {
  Product<T>(job).run();
}

}  // namespace

void add_conv_gemm(conv::Engine& engine) {
  engine.lanes = Simd<float>::kWidth, engine.tile_rows = kMaxRows;
  engine.gemm_f32 = gemm<float>;
  engine.gemm_f64 = gemm<double>;
}

}  // namespace torch::TORCH_ISA
