// Bytes with a scale: products, convolutions, sums and conversions, with the CPU's bits. Sums of integers are exact,
// and what makes numbers and bytes of them is the CPU's own formula (cpu/int8_rounding.h).
//
// Products are those of tiles.h, a word of four bytes (dot4.h) in the place of a number. Bytes of an input are read
// with 128 taken off, as bytes with signs; that and the zero point come off the sums, by those of the weight's rows:
//
//   sum of (byte - zero) * w  =  sum of (byte - 128) * w  -  (zero - 128) * sum of w
#include "cpu/int8_rounding.h"
#include "cuda/block.h"
#include "cuda/dot4.h"
#include "cuda/each.h"
#include "cuda/patches.h"
#include "cuda/tables.h"
#include "cuda/tiles.h"

namespace torch::cuda {

namespace {

// Memory for the length of a call.
template <class T>
class Scratch {
 public:
  Scratch(int64_t count, int device, cudaStream_t stream)
      : data_(count ? static_cast<T*>(allocate(size_t(count) * sizeof(T), device, stream)) : nullptr) {}
  ~Scratch() {
    if (data_) release(data_);
  }
  Scratch(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

// --- what rows of a weight and of an input become ---

// to[row] = (zero - 128) * sum of the row, zero that of `steps` where there are some; a warp has a row.
__global__ __launch_bounds__(kThreads) void taken_off(ByteRows weight, int64_t rows, int32_t zero,
                                                      const Int8Steps* steps, int32_t* to) {
  if (steps) zero = steps->zero;
  const int64_t step = int64_t(gridDim.x) * (kThreads / 32);
  for (int64_t r = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; r < rows; r += step) {
    int32_t sum = 0;
    for (int64_t k = threadIdx.x % 32; k < weight.words(); k += 32) sum = dot4(weight.word(r, k), four_of(1), sum);
    TORCH_UNROLL
    for (int bits = 16; bits; bits >>= 1) sum += exchanged(sum, bits);
    if (threadIdx.x % 32 == 0) to[r] = int32_t(uint32_t(zero - 128) * uint32_t(sum));
  }
}

// The least and the greatest of n numbers and zero, in_order(): what the CPU's steps_of() finds (cpu/int8_rows.h).
struct Ends {
  struct Acc {
    int32_t least, most;
  };
  TORCH_VEC_INLINE static void merge(Acc& a, const Acc& b) {
    a.least = a.least < b.least ? a.least : b.least, a.most = a.most > b.most ? a.most : b.most;
  }
};
__global__ __launch_bounds__(kThreads) void find_ends(const float* x, int64_t n, int32_t* ends) {
  Ends::Acc found{0, 0};
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * kThreads) {
    const int32_t at = in_order(x[i]);
    Ends::merge(found, {at, at});
  }
  found = fold_block<Ends>(found);
  if (threadIdx.x == 0) atomicMin(ends, found.least), atomicMax(ends + 1, found.most);
}
__global__ void choose_steps(const int32_t* ends, bool reduce_range, Int8Steps* to) {
  *to = steps_between(ends[0], ends[1], reduce_range);
}
struct Zero {
  int32_t* to;
  __device__ void operator()(int64_t i) const { to[i] = 0; }
};
// Rows of numbers as bytes, filled up to whole words.
struct RoundRows {
  const float* x;
  const Int8Steps* steps;
  int64_t k, filled;
  uint8_t* q;
  __device__ void operator()(int64_t i) const {
    const int64_t l = i % filled;
    q[i] = l < k ? byte_in(*steps, x[i / filled * k + l]) : uint8_t(0);
  }
};

// --- products ---

struct DenseProblem {
  using Number = Word;
  static constexpr bool a_along_k = true, b_along_k = true;
  int64_t batches = 1, m, n, k;  // k counts words
  ByteRows x, weight;
  int32_t turned;          // what makes bytes of the input ones with signs
  const Int8Steps* steps;  // of numbers
  const int32_t* less;
  const float *scale, *bias;
  float* y;
  Int8Result result;
  uint8_t* out;
  TORCH_VEC_INLINE Word a(int64_t, int64_t i, int64_t l) const { return Word(x.word(i, l) ^ turned); }
  TORCH_VEC_INLINE Word b(int64_t, int64_t l, int64_t j) const { return Word(weight.word(j, l)); }
  TORCH_VEC_INLINE void store(int64_t, int64_t i, int64_t j, Word sum) const {
    const float added = bias ? bias[j] : 0.0f;
    const int32_t all = (sum + Word(int32_t(0u - uint32_t(less[j])))).bits;
    if (out)
      out[i * n + j] = byte_of_sum(all, added, scale[j], result);
    else
      y[i * n + j] = number_of(all, steps->scale, scale[j], added);
  }
};
// One row or column of results: a warp for each.
__global__ __launch_bounds__(kThreads) void multiply_few(DenseProblem p) {
  const int64_t step = int64_t(gridDim.x) * (kThreads / 32);
  for (int64_t e = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32; e < p.m * p.n; e += step) {
    const int64_t i = e / p.n, j = e % p.n;
    Word sum;
    for (int64_t l = threadIdx.x % 32; l < p.k; l += 32) sum = plus_product(sum, p.a(0, i, l), p.b(0, l, j));
    TORCH_UNROLL
    for (int bits = 16; bits; bits >>= 1) sum = sum + exchanged(sum, bits);
    if (threadIdx.x % 32 == 0) p.store(0, i, j, sum);
  }
}

void linear(const Int8Linear& p) {
  const bool of_bytes = p.out;  // an input without columns has no memory
  const char* const op = of_bytes ? "_int8_dense" : "_int8_linear";
  const DeviceGuard guard(device_of(of_bytes ? static_cast<const void*>(p.out) : p.y));
  const int device = current_device();
  const cudaStream_t stream = current_stream(device).handle;
  const int64_t filled = (p.k + 3) / 4 * 4;
  const Scratch<uint8_t> rounded(of_bytes ? 0 : p.m * filled, device, stream);
  const Scratch<Int8Steps> steps(of_bytes ? 0 : 1, device, stream);
  const Scratch<int32_t> less(p.n, device, stream), ends(of_bytes ? 0 : 2, device, stream);
  const ByteRows weight(p.weight, p.k), x = of_bytes ? ByteRows(p.bytes, p.k) : ByteRows(rounded.data(), filled);
  DenseProblem d{1, p.m, p.n, filled / 4, x, weight, 0, steps.data(), less.data(), p.scale, p.bias, p.y, {}, nullptr};
  if (of_bytes) {
    d.turned = four_of(uint8_t(0x80 ^ p.result.flip));
    d.scale = p.result.scale, d.bias = p.result.bias, d.result = p.result, d.out = p.out;
  } else {
    d.turned = four_of(0x80);
    launch_each(op, ends.data(), 2, Zero{ends.data()});
    launch(op, find_ends, blocks_for(p.m * p.k), kThreads, 0, stream, p.x, p.m * p.k, ends.data());
    launch(op, choose_steps, 1, 1, 0, stream, ends.data(), p.reduce_range, steps.data());
    launch_each(op, rounded.data(), p.m * filled, RoundRows{p.x, steps.data(), p.k, filled, rounded.data()});
  }
  launch(op, taken_off, blocks_for(p.n * 32), kThreads, 0, stream, weight, p.n, p.zero, steps.data(), less.data());
  if (p.m == 1 || p.n == 1)
    launch(op, multiply_few, blocks_for(p.m * p.n * 32), kThreads, 0, stream, d);
  else
    launch_tiles(op, d, device, stream);
}

// --- convolutions ---

// Four channels of one tap are a word: words[row][tap][channels / 4].
struct PackWeight {
  const int8_t* weight;
  int32_t* words;
  int64_t channels, taps, of_tap;
  __device__ void operator()(int64_t i) const {
    const int64_t first = i % of_tap * 4, tap = i / of_tap % taps, row = i / of_tap / taps;
    uint32_t bits = 0;
    for (int b = 0; b < 4 && first + b < channels; ++b)
      bits |= uint32_t(uint8_t(weight[(row * channels + first + b) * taps + tap])) << 8 * b;
    words[i] = int32_t(bits);
  }
};

// y (o, positions) = words (o, taps channels) @ patches (taps channels, positions), for each group
struct ConvolutionProblem : Shape {
  using Number = Word;
  static constexpr bool a_along_k = true, b_along_k = false;
  int64_t batches, m, n, k, of_tap;
  const uint8_t* x;
  const int32_t *words, *less;
  int32_t outside;  // a word of zero points
  uint8_t turned;
  Int8Result result;
  uint8_t* y;
  ConvolutionProblem(const Int8Convolution& p, const int32_t* words, const int32_t* less)
      : Shape(p.shape),
        batches(s.groups),
        m(group_out),
        n(s.n * out_plane),
        k((group_in + 3) / 4 * tap_count),
        of_tap((group_in + 3) / 4),
        x(p.x),
        words(words),
        less(less),
        outside(four_of(uint8_t(p.zero - 128))),
        turned(uint8_t(0x80 ^ p.result.flip)),
        result(p.result),
        y(p.y) {}
  TORCH_VEC_INLINE Word a(int64_t g, int64_t i, int64_t l) const { return Word(words[(g * m + i) * k + l]); }
  TORCH_VEC_INLINE Word b(int64_t g, int64_t l, int64_t j) const {
    const Place tap = taps.place(l / of_tap), to = out.place(j);
    const int64_t from = read_by(to, tap), first = l % of_tap * 4;
    if (from < 0) return Word(outside);
    const uint8_t* const at = x + (to.image * s.c + g * group_in + first) * in_plane + from;
    uint32_t bits = 0;
    TORCH_UNROLL
    for (int b = 0; b < 4; ++b)
      if (first + b < group_in) bits |= uint32_t(uint8_t(at[b * in_plane] ^ turned)) << 8 * b;
    return Word(int32_t(bits));
  }
  TORCH_VEC_INLINE void store(int64_t g, int64_t i, int64_t j, Word sum) const {
    const int64_t channel = g * m + i, image = j / out_plane;
    const int32_t all = (sum + Word(int32_t(0u - uint32_t(less[channel])))).bits;
    y[(image * s.o + channel) * out_plane + j % out_plane] =
        byte_of_sum(all, result.bias ? result.bias[channel] : 0.0f, result.scale[channel], result);
  }
};

void convolution(const Int8Convolution& p) {
  const char* const op = "_int8_convolution";
  const DeviceGuard guard(device_of(p.y));
  const int device = current_device();
  const cudaStream_t stream = current_stream(device).handle;
  const int64_t channels = p.shape.c / p.shape.groups, of_tap = (channels + 3) / 4, taps = p.shape.taps(),
                row = of_tap * taps;
  const Scratch<int32_t> words(p.shape.o * row, device, stream), less(p.shape.o, device, stream);
  const ConvolutionProblem c(p, words.data(), less.data());
  TORCH_CHECK_IMPLEMENTED(c.n <= kMostPositions && p.shape.in_plane() <= kMostPositions, op,
                          ": no kernel for 2^31 positions in one call on cuda:", device, "; cut the batch");
  launch_each(op, words.data(), p.shape.o * row, PackWeight{p.weight, words.data(), channels, taps, of_tap});
  launch(op, taken_off, blocks_for(p.shape.o * 32), kThreads, 0, stream, ByteRows(words.data(), row * 4), p.shape.o,
         p.zero, static_cast<const Int8Steps*>(nullptr), less.data());
  launch_tiles(op, c, device, stream);
}

// --- element by element ---

struct Quantize {
  const float* x;
  uint8_t* y;
  float inverse;
  int32_t zero;
  uint8_t flip;
  __device__ void operator()(int64_t i) const { y[i] = quantized(x[i], inverse, zero, flip); }
};
struct Dequantize {
  const uint8_t* x;
  float* y;
  float scale;
  int32_t zero;
  uint8_t flip;
  __device__ void operator()(int64_t i) const { y[i] = dequantized(x[i], scale, zero, flip); }
};
struct SumOfBytes {
  Int8Sum p;
  __device__ void operator()(int64_t i) const { p.y[i] = sum_of(p, p.a[i], p.b[i]); }
};

}  // namespace

const Int8Kernels int8_kernels{
    .linear = linear,
    .packed_bytes = [](int64_t, int64_t) { return int64_t{0}; },  // rows are read as they lie
    .pack = [](const int8_t*, int64_t, int64_t, uint8_t*) {},
    .convolution = convolution,
    .prefers_channels_last = [](const ConvShape&) { return false; },
    .sum = [](const Int8Sum& p) { launch_each("_int8_add", p.y, p.n, SumOfBytes{p}); },
    .quantize = [](const float* x, int64_t n, float scale, int32_t zero, uint8_t flip,
                   uint8_t* y) { launch_each("_int8_quantize", y, n, Quantize{x, y, 1 / scale, zero, flip}); },
    .dequantize = [](const uint8_t* x, int64_t n, float scale, int32_t zero, uint8_t flip,
                     float* y) { launch_each("_int8_dequantize", y, n, Dequantize{x, y, scale, zero, flip}); },
};

}  // namespace torch::cuda
