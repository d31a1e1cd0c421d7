// Winograd's transforms for 3x3 kernels and tiles of 2x2 outputs, F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015): y = A^T [(G g G^T) * (B^T x B)] A, element by element over 16 frequencies.
// As y is linear in g, its derivative is the same read from behind: dg = G^T [(A dy A^T) * (B^T x B)] G.
#pragma once
#include "kernels/conv_planes.h"

namespace torch::TORCH_ISA {

inline constexpr int kFrequencies = 16;

// B^T x B of a 4x4 patch, in place.
template <class V>
TORCH_INLINE void input_transform(V (&d)[kFrequencies]) {
  for (int j = 0; j < 4; j++) {
    const V a = d[j], b = d[4 + j], c = d[8 + j], e = d[12 + j];
    d[j] = a - c, d[4 + j] = b + c, d[8 + j] = c - b, d[12 + j] = b - e;
  }
  for (int i = 0; i < 16; i += 4) {
    const V a = d[i], b = d[i + 1], c = d[i + 2], e = d[i + 3];
    d[i] = a - c, d[i + 1] = b + c, d[i + 2] = c - b, d[i + 3] = b - e;
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

// The 4x4 patches of neighbouring tiles, from phase planes of stride 2: 16 plain loads, one lane a tile.
template <class S>
TORCH_INLINE void load_patches(const float* s, const PlaneSplit& split, typename S::V (&d)[kFrequencies]) {
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++)
      d[4 * y + x] = S::load(s + (y % 2 * 2 + x % 2) * split.plane() + y / 2 * split.pitch + x / 2);
}

}  // namespace torch::TORCH_ISA
