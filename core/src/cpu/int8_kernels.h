// What src/ops/int8_linear.cpp and src/ops/quantized.cpp call of src/cpu/int8*.cpp.
#pragma once
#include <cstdint>

#include "levels/isa.h"
#include "ops/conv/shape.h"

namespace torch {

// How sums of integers become bytes: round((sum + bias[j]) * scale[j]) + zero, from `least` on. Bytes of int8 are taken
// and given with their highest bit turned (`flip`), and with 128 added to zero points, which makes uint8 of them.
struct Int8Result {
  const float* scale;
  const float* bias;  // may be null
  int32_t zero;
  bool relu;
  uint8_t flip;  // 0x80 or 0
};

// Rows of x (m, k), rounded to 8 bits with one scale and zero point that follow from their least and greatest number (7
// bits of the range with `reduce_range`), times weight (n, k) of int8, whose rows have scales; bias (n) may be null.
// All contiguous. With `bytes` in place of x, rows are (bytes - zero) and the result is bytes, in `out`.
struct Int8Linear {
  int64_t m, n, k;
  const float* x;
  const int8_t* weight;
  const float* scale;
  const float* bias;
  float* y;
  bool reduce_range = false;
  const uint8_t* bytes = nullptr;
  int32_t zero = 0;
  Int8Result result = {};
  uint8_t* out = nullptr;
  bool packed = false;  // weight is what pack() made
};

// y[n][o] of (x[n][c] - zero) * w, bytes. With the shape's `channels_last` the channels of x, y and weight lie last,
// and `packed` may be what pack() made of the weight's rows.
struct Int8Convolution {
  ConvShape shape;
  const uint8_t* x;
  int32_t zero;
  const int8_t* weight;
  Int8Result result;
  uint8_t* y;
  const uint8_t* packed = nullptr;
};

// round((a * scale_a + less_a + b * scale_b + less_b) * inverse) + zero of n bytes.
struct Int8Sum {
  int64_t n;
  const uint8_t *a, *b;
  float scale_a, scale_b, inverse;  // that of the result
  float less_a, less_b;             // what their zero points stand for, taken off
  int32_t zero;
  bool relu;
  uint8_t flip;
  uint8_t* y;
};

struct Int8Kernels {
  void (*linear)(const Int8Linear&);
  int64_t (*packed_bytes)(int64_t n, int64_t k);  // 0 where there is nothing to pack
  void (*pack)(const int8_t* weight, int64_t n, int64_t k, uint8_t* to);
  void (*convolution)(const Int8Convolution&);
  bool (*prefers_channels_last)(const ConvShape&);
  void (*sum)(const Int8Sum&);
  void (*quantize)(const float* x, int64_t n, float scale, int32_t zero, uint8_t flip, uint8_t* y);
  void (*dequantize)(const uint8_t* x, int64_t n, float scale, int32_t zero, uint8_t flip, float* y);
};

TORCH_PER_ISA(const Int8Kernels& int8_table(); void int8_linear(const Int8Linear&);
              int64_t int8_packed_bytes(int64_t n, int64_t k);
              void int8_pack(const int8_t* weight, int64_t n, int64_t k, uint8_t* to);
              void int8_convolution(const Int8Convolution&); void int8_grouped_convolution(const Int8Convolution&);)

}  // namespace torch
