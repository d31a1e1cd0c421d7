// Depthwise convolution along rows, of images whose rows fill vectors of positions: a vector of a row of the image is
// read once for each column of the kernel, and goes into the sums of all rows of outputs that see it. Nothing is turned
// or padded: what lies outside of the image is masked, or a row of zeros.
//
//   rows of the image     0  1  2  3  4  5          four rows of outputs of a kernel of 3 x 3: row 2 is the
//   row 0 of outputs      w0 w1 w2                  last one of the first, and the first of the third
//   row 1 of outputs         w0 w1 w2
//   ...
#pragma once
#include <new>
#include <utility>

#include "kernels/conv_patch.h"
#include "kernels/conv_tasks.h"
#include "kernels/finish.h"
#include "ops/conv/workspace.h"

namespace torch::TORCH_ISA {

// Rows of outputs at a time, and vectors of a row: about eight sums, so that they need not wait for each other. Images
// of one vector have more rows at a time, 7 or 8: 240 channels of 14 x 14, 5 x 5, take 19 us instead of 27 (one thread,
// AMD EPYC, Zen 5).
inline constexpr int kDepthwiseRows = 4, kDepthwiseVectors = 2;

template <class T, int kKernel, int kStride, int R>
class DepthwiseRows {
  using S = Simd<T>;
  static constexpr int W = S::kWidth;
  template <int... I>
  using Ints = std::integer_sequence<int, I...>;
  template <int kCount>
  using First = std::make_integer_sequence<int, kCount>;

 public:
  static constexpr int kRead = kStride * (R - 1) + kKernel;  // rows of the image for R rows of outputs

  // What the positions from column x on read of a row of `width` elements: with a stride of 1 a vector for each column
  // of the kernel and each vector of positions; with 2 all vectors from the first element on, whose lanes are then
  // chosen and moved, so that each is read once.
  struct Masks {
    static constexpr int kReads = kStride == 1 ? kKernel : 2, kMore = kStride - 1;
    LaneMask read[kReads * kDepthwiseVectors + kMore], keep[kDepthwiseVectors];
    Masks(int x, int padding, int width, int outputs) {
      for (int i = 0; i < kReads * kDepthwiseVectors + kMore; i++) {
        const int column = x * kStride - padding + offset(i);
        read[i] = lane_range(clamped(-column), clamped(width - column)) & S::kAll;
      }
      for (int v = 0; v < kDepthwiseVectors; v++) keep[v] = first_lanes(outputs - x - v * W) & S::kAll;
    }
    // Of read i from the first element on.
    static constexpr int offset(int i) {
      return kStride == 1 ? i / kDepthwiseVectors + i % kDepthwiseVectors * W : i * W;
    }

   private:
    static int clamped(int lanes) { return lanes < 0 ? 0 : lanes > W ? W : lanes; }
  };

  // `row`: where the first column of the kernel reads rows of the image for the first output, be that within or not.
  template <int kVectors>
  static TORCH_INLINE void tile(const T* const* row, ptrdiff_t column, const Masks& masks, const T* weights, T bias,
                                T* out, ptrdiff_t out_row, int rows) {
    typename S::V sum[R * kVectors];
    each(First<R * kVectors>{}, [&]<int I>() __attribute__((always_inline)) { sum[I] = S::fill(bias); });
    each(First<kRead>{}, [&]<int J>() __attribute__((always_inline)) {
      const T* from = row[J] + column;
      [[maybe_unused]] typename S::V lines[kStride][kVectors + 1];  // of a stride of 2: elements 0 2 4 ..., 1 3 5 ...
      if constexpr (kStride == 2) {
        const auto at = [&](int i) { return S::load(masks.read[i], from + i * W); };
        each(First<kVectors + 1>{}, [&]<int Q>() __attribute__((always_inline)) {
          const typename S::V a = at(2 * Q), b = Q < kVectors ? at(2 * Q + 1) : a;
          lines[0][Q] = S::even(a, b), lines[1][Q] = S::odd(a, b);
        });
      }
      each(First<kKernel>{}, [&]<int X>() __attribute__((always_inline)) {
        typename S::V read[kVectors];
        each(First<kVectors>{}, [&]<int Q>() __attribute__((always_inline)) {
          if constexpr (kStride == 1)
            read[Q] = S::load(masks.read[X * kDepthwiseVectors + Q], from + X + Q * W);
          else
            read[Q] = S::template from_lane<X / 2>(lines[X % 2][Q], lines[X % 2][Q + 1]);
        });
        each(First<R>{}, [&]<int Y>() __attribute__((always_inline)) {
          constexpr int k = J - Y * kStride;
          if constexpr (k >= 0 && k < kKernel) {
            const typename S::V w = S::fill(weights[k * kKernel + X]);
            each(First<kVectors>{},
                 [&]<int Q>() __attribute__((always_inline)) { sum[Y * kVectors + Q] += w * read[Q]; });
          }
        });
      });
    });
    // Without a branch: gcc 12 would move the sums of a row behind it, and spill all that they read (240 channels of
    // 28 x 28, 5 x 5: 222 us).
    each(First<R>{}, [&]<int Y>() __attribute__((always_inline)) {
      each(First<kVectors>{}, [&]<int Q>() __attribute__((always_inline)) {
        S::store(Y < rows ? masks.keep[Q] : 0, out + Y * out_row + Q * W, sum[Y * kVectors + Q]);
      });
    });
  }

 private:
  template <int... I, class F>
  static TORCH_INLINE void each(Ints<I...>, const F& f) {
    (f.template operator()<I>(), ...);
  }
};

template <class T, int kKernel, int kStride, int kRows>
void depthwise_rows(const conv::PatchGemm<T>& job) {
  using Rows = DepthwiseRows<T, kKernel, kStride, kRows>;
  using Masks = typename Rows::Masks;
  constexpr int W = Simd<T>::kWidth, kWide = kDepthwiseVectors * W,
                kVectors = kRows == kDepthwiseRows ? kDepthwiseVectors : 1;
  const int h = job.image.h, w = job.image.w, out_h = job.out_h, out_w = job.out_w,
            strips = (out_w + kWide - 1) / kWide;
  const int top = -job.phases[0].taps[0].dy, left = -job.phases[0].taps[0].dx;
  Masks* masks = conv::workspace_of<Masks>(conv::Slot::Runs, strips);
  for (int i = 0; i < strips; i++) new (masks + i) Masks(i * kWide, left, w, out_w);
  T* zeros = conv::workspace_of<T>(conv::Slot::Planes, w);
  std::memset(zeros, 0, size_t(w) * sizeof(T));
  const int64_t planes = job.phases[0].grid.images * job.groups, plane = int64_t(out_h) * out_w;
  const Epilogue epilogue = take_epilogue(job.out, planes * plane);
  const int64_t tasks = tasks_for(double(planes) * plane * (job.tap_count + 4), planes);
  parallel_run(tasks, [&](int64_t task) {
    for (int64_t p = part(planes, task, tasks); p < part(planes, task + 1, tasks); p++) {
      const T* const image = job.image.data + p * h * w;
      const T* const weights = job.weights + p % job.groups * job.weight_group;
      const T bias = job.bias ? job.bias[p % job.groups] : T(0);
      T* const out = job.out + p * plane;
      for (int y = 0; y < out_h; y += kRows) {
        const T* row[Rows::kRead];
        for (int j = 0; j < Rows::kRead; j++) {
          const int at = y * kStride - top + j;
          row[j] = (unsigned(at) < unsigned(h) ? image + int64_t(at) * w : zeros) - left;
        }
        // What the next rows of outputs read comes before, one line after the other, as nothing else here reads: 96
        // channels of 112 x 112 with a stride of 2 take 141 us instead of 165 where the image is near, and 150 instead
        // of 471 within EfficientNet, where it is not (one thread, AMD EPYC, Zen 5).
        const T* const next = image + (int64_t(y) * kStride - top + Rows::kRead) * w;
        const int64_t ahead = int64_t(kRows) * kStride * w;
        for (int i = 0, x = 0; i < strips; i++, x += kWide) {
          prefetch_to_read(next + part(ahead, i, strips), ahead / strips);
          (out_w - x > W ? Rows::template tile<kVectors> : Rows::template tile<1>)(row, x * kStride, masks[i], weights,
                                                                                   bias, out + int64_t(y) * out_w + x,
                                                                                   out_w, out_h - y);
        }
      }
      epilogue(p * plane, 1, 0, plane);
    }
  });
}

template <class T, int kKernel, int kStride>
void depthwise_rows(const conv::PatchGemm<T>& job) {
  const int h = job.out_h;
  if (job.out_w > Simd<T>::kWidth)
    depthwise_rows<T, kKernel, kStride, kDepthwiseRows>(job);
  else
    (h + 7) / 8 * 8 <= (h + 6) / 7 * 7 ? depthwise_rows<T, kKernel, kStride, 8>(job)
                                       : depthwise_rows<T, kKernel, kStride, 7>(job);
}

// Whether a convolution went along rows: forward, of a kernel of 3, 5 or 7 rows and columns, where vectors have little
// beyond the end of rows. In microseconds, lanes of channels and rows (one thread, AMD EPYC, Zen 4): 32 channels of 112
// x 112, 3 x 3, 235 and 90; 96 of them with a stride of 2, 292 and 179; 144 of 56 x 56, 244 and 116; 88 of 28 x 28, 38
// and 22; 240 of 28 x 28, 5 x 5, 165 and 117; 240 of 14 x 14, 41 and 40; 96 of 28 x 28 with a stride of 2, 25 and 30;
// 40 of 56 x 56, 7 x 7, 221 and 145; 80 of 28 x 28, 91 and 75. With vectors of a stride of 2 read once (Zen 5) 96 of
// 112 x 112 take 96 instead of 138, 144 of 56 x 56, 5 x 5, 64 of 94, 40 of 28 x 28 6.3 and in lanes 8.5.
template <class T>
bool depthwise_along_rows(const conv::PatchGemm<T>& job) {
  constexpr int W = Simd<T>::kWidth;
  if (kVectorRegisters != 32 || job.phase_count != 1) return false;
  const Phase& p = job.phases[0];
  const int size = p.tap_count == 9 ? 3 : p.tap_count == 25 ? 5 : p.tap_count == 49 ? 7 : 0, stride = job.stride[2];
  if (size == 0 || stride > 2 || job.stride[1] != stride || p.grid.h != job.out_h || p.grid.w != job.out_w)
    return false;
  for (int t = 0; t < p.tap_count; t++)
    if (p.taps[t].dy != p.taps[0].dy + t / size || p.taps[t].dx != p.taps[0].dx + t % size || p.taps[t].index != t)
      return false;
  const bool is_narrow = job.out_w <= W;
  if (job.out_w * 4 < (job.out_w + W - 1) / W * W * 3 || (size == 7 && (stride == 2 || is_narrow))) return false;
  if (size == 7)
    depthwise_rows<T, 7, 1, kDepthwiseRows>(job);
  else if (size == 3)
    stride == 1 ? depthwise_rows<T, 3, 1>(job) : depthwise_rows<T, 3, 2>(job);
  else
    stride == 1 ? depthwise_rows<T, 5, 1>(job) : depthwise_rows<T, 5, 2>(job);
  return true;
}

}  // namespace torch::TORCH_ISA
