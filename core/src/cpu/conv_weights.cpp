// Gradient of the weights: for each group, dw[o][c, tap] = sum over positions of dy[o] * patch[c, tap]. One side is
// read as patch panels and broadcast, the other is transposed into vectors of kPanel rows; which one is which follows
// from what there is to transpose. Deep layers turn the patches, whose products then land in dw directly; wide ones
// turn dy, and dw is turned back at the end.
//
// Positions are summed in a number of slices that the shape fixes, added in order: the bits do not depend on the
// threads.
#include "kernels/conv_patch.h"
#include "kernels/conv_sums.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {
namespace {

using conv::Slot;
using conv::WeightGradient;
using conv::workspace_of;

constexpr int64_t kBlockPanels = 16;  // panels of positions multiplied at a time
constexpr int64_t kRowsAtOnce = 512;  // (channel, tap) rows whose patches are held packed
constexpr int64_t kSlices = 4;
constexpr int64_t kSlicedSize = 65536;  // results up to this size are computed in slices

template <class T>
struct Side {
  Image<T> image;
  int stride[3];
  const Tap* taps;
  int tap_count;
  int64_t channels;
  TORCH_INLINE int64_t rows() const { return channels * tap_count; }
};

template <class T>
class PatchGradient {
  using S = Simd<T>;

 public:
  explicit PatchGradient(const WeightGradient<T>& job)
      : job_(job),
        shape_(*job.shape),
        grid_{shape_.n, int(shape_.out[0]), int(shape_.out[1]), int(shape_.out[2])},
        in_(shape_.c / shape_.groups),
        out_(shape_.o / shape_.groups),
        panels_(panels_of<T>(grid_)) {
    const double positions = double(columns_of(grid_)), patches = double(in_) * job.tap_count, outputs = double(out_);
    turn_patches_ = positions * patches < positions * outputs + 3 * patches * outputs;
    const double size = patches * outputs;
    slices_ = size <= kSlicedSize && panels_ >= 32 ? kSlices : 1;
    const int64_t blocks = (panels_ + kBlockPanels - 1) / kBlockPanels;
    block_ = (panels_ + blocks - 1) / blocks;
    work_ = size * positions;
    // The side with taps is packed some channels at a time, in enough pieces for every thread to have some.
    piece_ = kRowsAtOnce / job.tap_count > 1 ? kRowsAtOnce / job.tap_count : 1;
    if (slices_ * shape_.groups == 1 && piece_ > (in_ + 7) / 8) piece_ = (in_ + 7) / 8;
    if (turn_patches_) piece_ = (piece_ + kPanel<T> - 1) / kPanel<T> * kPanel<T>;
    if (piece_ > in_) piece_ = in_;
    result_row_ = turn_patches_ ? in_ * job.tap_count : (out_ + kPanel<T> - 1) / kPanel<T> * kPanel<T>;
    result_size_ = (turn_patches_ ? out_ : in_ * job.tap_count) * result_row_;
  }

  void run() const {
    const bool in_place = turn_patches_ && slices_ == 1;
    T* sums = in_place ? job_.dw : workspace_of<T>(Slot::Sums, shape_.groups * slices_ * result_size_);
    if (shape_.groups * slices_ > 1) {
      const int64_t pieces = shape_.groups * slices_, tasks = tasks_for(work_ * shape_.groups, pieces);
      parallel_run(tasks, [&](int64_t task) {
        for (int64_t k = part(pieces, task, tasks); k < part(pieces, task + 1, tasks); k++)
          slice(k / slices_, part(panels_, k % slices_, slices_), part(panels_, k % slices_ + 1, slices_),
                sums + k * result_size_, false);
      });
    } else {
      slice(0, 0, panels_, sums, true);
    }
    if (!in_place) finish(sums);
  }

 private:
  // Sums over the panels [begin, end) of positions. `team`: the work inside is shared out among the threads.
  void slice(int64_t group, int64_t begin, int64_t end, T* result, bool team) const {
    const Side<T> patches = patch_side(group), outputs = output_side(group);
    const int64_t pieces = (in_ + piece_ - 1) / piece_;
    const int64_t turned_rows = (turn_patches_ ? 0 : (out_ + kPanel<T> - 1) / kPanel<T> * kPanel<T>);
    T* whole =
        workspace_of<T>(team ? Slot::Panels : Slot::Patches, block_ * kPanel<T> * (turn_patches_ ? out_ : turned_rows));
    for (int64_t p = begin; p < end; p += block_) {
      const int64_t count = end - p < block_ ? end - p : block_;
      // The side without taps is needed by every piece.
      const auto pack_outputs = [&](int64_t j) {
        if (turn_patches_)
          pack(whole + j * out_ * kPanel<T>, outputs, 0, out_, p + j);
        else
          turn(whole + j * kPanel<T> * kPanel<T>, count * kPanel<T> * kPanel<T>, outputs, 0, out_, p + j);
      };
      const auto piece = [&](int64_t q) {
        const int64_t c = q * piece_, channels = in_ - c < piece_ ? in_ - c : piece_;
        T* part = workspace_of<T>(Slot::Strip, (channels * job_.tap_count + kPanel<T>)*count * kPanel<T>);
        for (int64_t j = 0; j < count; j++) {
          if (turn_patches_)
            turn(part + j * kPanel<T> * kPanel<T>, count * kPanel<T> * kPanel<T>, patches, c, channels, p + j);
          else
            pack(part + j * channels * job_.tap_count * kPanel<T>, patches, c, channels, p + j);
        }
        if (turn_patches_)
          multiply(whole, out_, part, channels * job_.tap_count, count, result + c * job_.tap_count, p > begin);
        else
          multiply(part, channels * job_.tap_count, whole, out_, count, result + c * job_.tap_count * result_row_,
                   p > begin);
      };
      if (team) {
        const double share = work_ / double(panels_) * double(count);
        const int64_t packs = tasks_for(4.0 * out_ * count * kPanel<T>, count), tasks = tasks_for(share, pieces);
        parallel_run(packs, [&](int64_t task) {
          for (int64_t j = part(count, task, packs); j < part(count, task + 1, packs); j++) pack_outputs(j);
        });
        parallel_run(tasks, [&](int64_t task) {
          for (int64_t q = part(pieces, task, tasks); q < part(pieces, task + 1, tasks); q++) piece(q);
        });
      } else {
        for (int64_t j = 0; j < count; j++) pack_outputs(j);
        for (int64_t q = 0; q < pieces; q++) piece(q);
      }
    }
  }

  // result[i][v] (+)= sum over `count` panels of rows[i][lane] * vectors[lane][v].
  void multiply(const T* rows, int64_t row_count, const T* vectors, int64_t vector_count, int64_t count, T* result,
                bool accumulate) const {
    const RowPanels panel(row_count);
    for (int64_t v = 0; v < vector_count; v += kPanel<T>)
      for (int64_t i = 0; i < panel.count; i++) {
        const TileJob<T> tile{kPanel<T>,
                              int(count),
                              (row_count - 1) * kPanel<T>,
                              rows + panel.begin(i) * kPanel<T>,
                              vectors + v * count * kPanel<T>,
                              kPanel<T>,
                              result + panel.begin(i) * result_row_ + v,
                              result_row_,
                              first_lanes(int(vector_count - v < kPanel<T> ? vector_count - v : kPanel<T>)),
                              accumulate,
                              nullptr};
        patch_tile_for<T>(panel.size(i))(tile);
      }
  }

  void pack(T* d, const Side<T>& side, int64_t channel, int64_t channels, int64_t panel) const {
    pack_patches(d, side.image, channel, channels, grid_, panel * kPanel<T>, side.stride, side.taps, side.tap_count);
  }

  // d[row / kPanel][lane][row % kPanel] of one panel; groups of kPanel rows are `stride` apart.
  void turn(T* d, ptrdiff_t stride, const Side<T>& side, int64_t channel, int64_t channels, int64_t panel) const {
    const int64_t rows = channels * side.tap_count, plane = side.image.channel_stride, column = panel * kPanel<T>;
    const T* source;
    ptrdiff_t source_row;
    if (&side.taps[0] == &kHere && column % plane + kPanel<T> <= plane) {  // a run of the image itself
      source = side.image.data + column / plane * side.image.image_stride + channel * plane + column % plane;
      source_row = plane;
    } else {
      T* strip = workspace_of<T>(Slot::Tile, rows * kPanel<T>);
      pack(strip, side, channel, channels, panel);
      source = strip;
      source_row = kPanel<T>;
    }
    for (int64_t r = 0; r < rows; r += S::kWidth) {
      T* to = d + r / kPanel<T> * stride + r % kPanel<T>;
      const int count = int(rows - r < S::kWidth ? rows - r : S::kWidth);
      transpose_strip(to, kPanel<T>, source + r * source_row, source_row, count, kPanel<T>, S::kAll);
      if (r + S::kWidth >= rows && r % kPanel<T> == 0)
        for (int l = 0; l < kPanel<T>; l++) S::store(to + S::kWidth + l * kPanel<T>, typename S::V{});
    }
  }

  // Adds the slices up and turns them into the order of dw.
  void finish(T* sums) const {
    const int64_t rows = in_ * job_.tap_count;
    for (int64_t g = 0; g < shape_.groups; g++) {
      T *total = sums + g * slices_ * result_size_, *dw = job_.dw + g * out_ * rows;
      add_slices(total, slices_, result_size_);
      if (turn_patches_)
        std::memcpy(dw, total, size_t(result_size_) * sizeof(T));
      else
        turn_back(dw, total, out_, rows, result_row_);
    }
  }

  Side<T> patch_side(int64_t group) const {
    const int64_t plane = shape_.in_plane();
    return {{job_.x + group * in_ * plane, shape_.c * plane, plane, int(shape_.in[0]), int(shape_.in[1]),
             int(shape_.in[2])},
            {int(shape_.stride[0]), int(shape_.stride[1]), int(shape_.stride[2])},
            job_.taps,
            job_.tap_count,
            in_};
  }
  Side<T> output_side(int64_t group) const {
    const int64_t plane = shape_.out_plane();
    return {{job_.dy + group * out_ * plane, shape_.o * plane, plane, grid_.d, grid_.h, grid_.w},
            {1, 1, 1},
            &kHere,
            1,
            out_};
  }

  static constexpr Tap kHere{0, 0, 0, 0};

  const WeightGradient<T>& job_;
  const ConvShape& shape_;
  const Grid grid_;
  const int64_t in_, out_, panels_;
  bool turn_patches_;
  int64_t slices_, block_, piece_, result_row_, result_size_;
  double work_;
};

template <class T>
void weights(const WeightGradient<T>& job) {
  PatchGradient<T>(job).run();
}

template <class T>
void bias(int64_t images, int64_t channels, int64_t plane, const T* dy, T* db) {
  using S = Simd<T>;
  const int64_t tasks = tasks_for(double(images) * channels * plane, channels);
  parallel_run(tasks, [&](int64_t task) {
    const int64_t begin = part(channels, task, tasks), end = part(channels, task + 1, tasks);
    for (int64_t c = begin; c < end; c++) db[c] = 0;
    for (int64_t n = 0; n < images; n++)  // in the order of memory
      for (int64_t c = begin; c < end; c++) {
        const T* s = dy + (n * channels + c) * plane;
        typename S::V sum[4] = {};
        int64_t i = 0;
        for (; i + 4 * S::kWidth <= plane; i += 4 * S::kWidth)
          for (int k = 0; k < 4; k++) sum[k] += S::load(s + i + k * S::kWidth);
        for (; i < plane; i += S::kWidth) sum[0] += S::load(first_lanes(int(plane - i < 32 ? plane - i : 32)), s + i);
        db[c] += S::sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
      }
  });
}

}  // namespace

void add_conv_weights(conv::Engine& engine) {
  engine.weights_f32 = weights<float>;
  engine.weights_f64 = weights<double>;
  engine.bias_f32 = bias<float>;
  engine.bias_f64 = bias<double>;
}

}  // namespace torch::TORCH_ISA
