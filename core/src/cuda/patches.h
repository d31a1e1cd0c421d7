// Positions and taps of a convolution as numbers, and which element a tap of a position reads: what problems of tiles.h
// find patches by, of floats (conv.cu) and of bytes (int8.cu).
#pragma once
#include "cuda/geometry.h"
#include "ops/conv/shape.h"

namespace torch::cuda {

constexpr int64_t kMostPositions = (int64_t(1) << 31) - 1;

// Positions and taps counted as one number each, z slowest.
struct Place {
  int image, at[3];
};
struct Box {
  Divider plane, rows, columns;  // d * h * w, h * w, w
  Box() = default;
  explicit Box(const int64_t (&size)[3])
      : plane(divider(size[0] * size[1] * size[2])), rows(divider(size[1] * size[2])), columns(divider(size[2])) {}
  // In a box without places none is looked for; but a transposed convolution of nothing gives its bias.
  static Divider divider(int64_t n) { return Divider(uint32_t(n > 0 ? n : 1)); }
  // i counts whole boxes, too: images or channels
  TORCH_VEC_INLINE Place place(int64_t i) const {
    Place p;
    uint32_t rest = uint32_t(i), up = plane.divide(rest);
    p.image = int(up), rest -= up * plane.divisor;
    up = rows.divide(rest), p.at[0] = int(up), rest -= up * rows.divisor;
    up = columns.divide(rest), p.at[1] = int(up), p.at[2] = int(rest - up * columns.divisor);
    return p;
  }
};

struct Shape {
  ConvShape s;
  Box in, out, taps;
  int64_t group_in, group_out, in_plane, out_plane, tap_count;
  explicit Shape(const ConvShape& given)
      : s(given),
        in(given.in),
        out(given.out),
        taps(given.kernel),
        group_in(given.c / given.groups),
        group_out(given.o / given.groups),
        in_plane(given.in_plane()),
        out_plane(given.out_plane()),
        tap_count(given.taps()) {}

  // The element of an input plane that a tap of an output position reads, or -1 in the padding.
  TORCH_VEC_INLINE int64_t read_by(const Place& position, const Place& tap) const {
    int64_t at = 0;
    TORCH_UNROLL
    for (int k = 0; k < 3; ++k) {
      const int64_t x = int64_t(position.at[k]) * s.stride[k] - s.padding[k] + int64_t(tap.at[k]) * s.dilation[k];
      if (x < 0 || x >= s.in[k]) return -1;
      at = at * s.in[k] + x;
    }
    return at;
  }
  // The output position that reads an input by that tap, or -1.
  TORCH_VEC_INLINE int64_t reader_of(const Place& input, const Place& tap) const {
    int64_t at = 0;
    TORCH_UNROLL
    for (int k = 0; k < 3; ++k) {
      const int64_t x = int64_t(input.at[k]) + s.padding[k] - int64_t(tap.at[k]) * s.dilation[k];
      if (x < 0 || x % s.stride[k] != 0 || x / s.stride[k] >= s.out[k]) return -1;
      at = at * s.out[k] + x / s.stride[k];
    }
    return at;
  }
};

}  // namespace torch::cuda
