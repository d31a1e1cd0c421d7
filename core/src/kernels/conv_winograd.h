// Winograd's transforms for 3x3 kernels and tiles of 2x2 outputs, F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015): y = A^T [(G g G^T) * (B^T x B)] A, element by element over 16 frequencies.
// As y is linear in g, its derivative is the same read from behind: dg = G^T [(A dy A^T) * (B^T x B)] G.
#pragma once
#include <cstring>

#include "kernels/conv_tile.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {

inline constexpr int kFrequencies = 16;

// G g G^T: what the nine weights of a pair of channels are to its frequencies.
template <class V>
TORCH_INLINE void weight_transform(const V (&g)[9], V (&m)[kFrequencies]) {
  V t[4][3];
  for (int x = 0; x < 3; x++) {
    const V even = g[x] + g[6 + x];
    t[0][x] = g[x], t[1][x] = (even + g[3 + x]) * 0.5f, t[2][x] = (even - g[3 + x]) * 0.5f, t[3][x] = g[6 + x];
  }
  for (int y = 0; y < 4; y++) {
    const V even = t[y][0] + t[y][2];
    m[4 * y] = t[y][0], m[4 * y + 1] = (even + t[y][1]) * 0.5f, m[4 * y + 2] = (even - t[y][1]) * 0.5f,
          m[4 * y + 3] = t[y][2];
  }
}

// A^T m A: the four outputs of a tile.
template <class V>
TORCH_INLINE void output_transform(const V (&m)[kFrequencies], V (&out)[2][2]) {
  V t[2][4];
  for (int j = 0; j < 4; j++) {
    t[0][j] = m[j] + m[4 + j] + m[8 + j];
    t[1][j] = m[4 + j] - m[8 + j] - m[12 + j];
  }
  for (int i = 0; i < 2; i++) {
    out[i][0] = t[i][0] + t[i][1] + t[i][2];
    out[i][1] = t[i][1] - t[i][2] - t[i][3];
  }
}

// A dy A^T: what the four gradients of a tile are to its frequencies.
template <class V>
TORCH_INLINE void output_gradient_transform(const V (&dy)[2][2], V (&m)[kFrequencies]) {
  for (int j = 0; j < 2; j++)
    m[j] = dy[0][j], m[4 + j] = dy[0][j] + dy[1][j], m[8 + j] = dy[0][j] - dy[1][j], m[12 + j] = -dy[1][j];
  for (int i = 0; i < 16; i += 4) {
    const V a = m[i], b = m[i + 1];
    m[i + 1] = a + b, m[i + 2] = a - b, m[i + 3] = -b;
  }
}

// G^T m G: the gradients of the nine weights.
template <class V>
TORCH_INLINE void weight_gradient_transform(const V (&m)[kFrequencies], V (&dg)[9]) {
  V t[3][4];
  for (int j = 0; j < 4; j++) {
    const V even = (m[4 + j] + m[8 + j]) * 0.5f;
    t[0][j] = m[j] + even, t[1][j] = (m[4 + j] - m[8 + j]) * 0.5f, t[2][j] = even + m[12 + j];
  }
  for (int i = 0; i < 3; i++) {
    const V even = (t[i][1] + t[i][2]) * 0.5f;
    dg[3 * i] = t[i][0] + even, dg[3 * i + 1] = (t[i][1] - t[i][2]) * 0.5f, dg[3 * i + 2] = even + t[i][3];
  }
}

// The tiles of all images, numbered through: a panel holds any kPanel of them that follow each other, so that small
// maps fill it as well as large ones do.
struct Tiles {
  int height, width;  // tiles of an image
  int64_t count;
  TORCH_INLINE Tiles(int64_t images, int out_h, int out_w)
      : height((out_h + 1) / 2), width((out_w + 1) / 2), count(images * height * width) {}
};

// The tiles of one row that are among some others.
struct TileRun {
  int64_t image, tile;
  int y, x, length;
};
template <class F>
TORCH_INLINE void for_runs(const Tiles& tiles, int64_t begin, int64_t end, F&& f) {
  if (end > tiles.count) end = tiles.count;
  int64_t row = begin / tiles.width;
  for (int x = int(begin % tiles.width); begin < end; x = 0, row++) {
    const int64_t left = end - begin;
    const int length = left < tiles.width - x ? int(left) : tiles.width - x;
    f(TileRun{row / tiles.height, begin, int(row % tiles.height), x, length});
    begin += length;
  }
}

// Pixels of a plane from which on the processor does not see the next channel coming; below, channel follows channel.
inline constexpr int64_t kApartFrom = 256;

// B^T x B of the 4x4 patches of panels of tiles: patches[frequency][panel][channel][kPanel], zero beyond the last tile.
// They are read from the image as it is, a row of tiles at a time; pixels that two rows share are read once.
class PatchTransform {
  using S = Simd<float>;
  using V = S::V;

 public:
  static constexpr int kLanes = kPanel<float>;

  PatchTransform(const Tiles& tiles, const float* image, int64_t channels, int h, int w, int padding)
      : tiles_(tiles), image_(image), channels_(channels), h_(h), w_(w), padding_(padding) {
    is_apart_ = channels > 1 && int64_t(h) * w >= kApartFrom;
    const int strips = (tiles.width + S::kWidth - 1) / S::kWidth;
    strip_ = (tiles.width + strips - 1) / strips;
  }

  void operator()(float* patches, int64_t stride, int64_t panel, int64_t panels) const {
    const int64_t begin = panel * kLanes, end = begin + panels * kLanes;
    if (end > tiles_.count)
      for (int f = 0; f < kFrequencies; f++)
        std::memset(patches + f * stride + (panels - 1) * channels_ * kLanes, 0,
                    size_t(channels_ * kLanes) * sizeof(float));
    Row* rows = conv::workspace_of<Row>(conv::Slot::Planes, size_t(panels * kLanes));
    int count = 0;
    for (int x = 0; x < tiles_.width; x += strip_)
      for_runs(tiles_, begin, end, [&](const TileRun& run) {
        const int first = run.x > x ? run.x : x, to = run.x + run.length, last = to < x + strip_ ? to : x + strip_;
        if (first < last) rows[count++] = row(run, x, first, last, begin);
      });
    for (int64_t c = 0; c < channels_; c++) transform(patches + c * kLanes, stride, rows, count, c);
  }

 private:
  struct Row {
    const float* image;
    int x, y;                         // pixel of the first lane, which may lie in the padding
    ptrdiff_t to;                     // of the first lane, in patches
    LaneMask here, next;              // lanes that belong to its panel and to the next one
    LaneMask low, high, low2, high2;  // columns within the image: from x on, and from x + 2 on
  };
  Row row(const TileRun& run, int x, int first, int last, int64_t begin) const {
    const int64_t tile = run.tile + (first - run.x) - begin;
    const int lane = int(tile % kLanes), fit = kLanes - lane < last - first ? first + kLanes - lane : last;
    const int column = 2 * x - padding_;
    const auto columns = [&](int from) { return lane_range(-from, w_ - from) & S::kAll; };
    return {image_ + run.image * channels_ * h_ * w_,
            column,
            2 * run.y - padding_,
            tile / kLanes * channels_ * kLanes + lane - (first - x),
            lane_range(first - x, fit - x),
            lane_range(fit - x, last - x),
            columns(column),
            columns(column + S::kWidth),
            columns(column + 2),
            columns(column + 2 + S::kWidth)};
  }

  void transform(float* patches, int64_t stride, const Row* rows, int count, int64_t c) const {
    const int64_t plane = c * h_ * w_, next_panel = (channels_ - 1) * kLanes;
    V t[4][4]{};
    const float* image = nullptr;
    int x = 0, y = 0;
    for (int k = 0; k < count; k++) {
      const Row& row = rows[k];
      const float* s = row.image + plane;
      if (row.image == image && row.x == x && row.y == y + 2) {
        for (int j = 0; j < 4; j++) t[0][j] = t[2][j], t[1][j] = t[3][j];
      } else {
        read(s, row, row.y, t[0]);
        read(s, row, row.y + 1, t[1]);
      }
      read(s, row, row.y + 2, t[2]);
      read(s, row, row.y + 3, t[3]);
      if (is_apart_) ahead(s, row);
      image = row.image, x = row.x, y = row.y;
      float* to = patches + row.to;
      put(row.here, to, stride, t);
      if (row.next) put(row.next, to + next_panel, stride, t);
    }
  }
  // The two rows in the channel after: too few lines follow each other there for the processor to see them coming.
  // With what is asked for likewise where outputs are written and gradients turned, 64x32x26x26 to 64 channels
  // takes 7.9 ms forward, 9.0 for the images' and 8.8 for the weights' gradient, before 8.5, 10.1 and 9.2 (one thread,
  // AMD EPYC, Zen 4).
  TORCH_INLINE void ahead(const float* s, const Row& row) const {
    const float* next = s + int64_t(h_) * w_ + int64_t(row.y + 2) * w_ + row.x;
    prefetch_to_read(next, 2 * S::kWidth + 2);
    prefetch_to_read(next + w_, 2 * S::kWidth + 2);
  }
  // A row of pixels times B.
  TORCH_INLINE void read(const float* s, const Row& row, int y, V (&t)[4]) const {
    const bool outside = unsigned(y) >= unsigned(h_);
    const LaneMask keep = outside ? 0 : S::kAll;
    s += int64_t(outside ? 0 : y) * w_ + row.x;
    const V a = S::load(row.low & keep, s), b = S::load(row.high & keep, s + S::kWidth),
            c = S::load(row.low2 & keep, s + 2), e = S::load(row.high2 & keep, s + 2 + S::kWidth);
    const V d0 = S::even(a, b), d1 = S::odd(a, b), d2 = S::even(c, e), d3 = S::odd(c, e);
    t[0] = d0 - d2, t[1] = d1 + d2, t[2] = d2 - d1, t[3] = d1 - d3;
  }
  // B^T times four rows.
  static TORCH_INLINE void put(LaneMask mask, float* to, int64_t stride, const V (&t)[4][4]) {
    for (int j = 0; j < 4; j++) {
      S::store(mask, to + j * stride, t[0][j] - t[2][j]);
      S::store(mask, to + (4 + j) * stride, t[1][j] + t[2][j]);
      S::store(mask, to + (8 + j) * stride, t[2][j] - t[1][j]);
      S::store(mask, to + (12 + j) * stride, t[1][j] - t[3][j]);
    }
  }

  const Tiles& tiles_;
  const float* image_;  // [images][channels][h][w]
  const int64_t channels_;
  const int h_, w_, padding_;
  int strip_;      // tiles of a row that are transformed together
  bool is_apart_;  // the rows of one channel are far from those of the next
};

}  // namespace torch::TORCH_ISA
