// Convolutions of bytes whose channels lie last: what the kernel meets at a place of the result is a row of bytes,
// (taps, channels), and rows are multiplied by the weight as those of a linear layer are. A row is a few copies, for
// the channels of neighbours lie side by side; a kernel of one tap reads the input as it lies. Rows are made for some
// places at a time, which stay in the second cache while the weight goes by.
//
// AMD EPYC (Zen 5), one thread: 3 x 3 over 128 channels of 28 x 28 in 242 us, over 512 of 7 x 7 in 230; vpdpbusd by
// itself takes 212 for either. With panels of the input, transposed at every call, ResNet-18 took 9.4 ms (one image of
// 224 x 224) in place of 8.1.
#include <bit>

#include "cpu/int8_products.h"
#include "levels/caches.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kPiece = 4 << 20;  // products that are worth waking a thread for

// n bytes, few as a rule: not a call.
TORCH_TILE void copy_some(const uint8_t* from, uint8_t* to, int64_t n) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  for (; n > 64; n -= 64, from += 64, to += 64) _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  if (n <= 0) return;
  const __mmask64 some = ~uint64_t(0) >> (64 - n);
  _mm512_mask_storeu_epi8(to, some, _mm512_maskz_loadu_epi8(some, from));
#else
  std::memcpy(to, from, size_t(n));
#endif
}

// The rows of some places, of `stride` bytes.
void fill_rows(const Int8Convolution& p, int64_t first, int64_t count, int64_t stride, uint8_t* row) {
  const ConvShape& s = p.shape;
  const int64_t c = s.c, k = s.taps() * c, wide = s.kernel[2];
  const uint8_t flip = p.result.flip;
  const int outside = p.zero ^ flip;
  int64_t at[3] = {first / (s.out[1] * s.out[2]) % s.out[0], first / s.out[2] % s.out[1], first % s.out[2]};
  const uint8_t* image = p.x + first / s.out_plane() * s.in_plane() * c;
  for (int64_t i = 0; i < count; ++i, row += stride) {
    uint8_t* to = row;
    const int64_t left = at[2] * s.stride[2] - s.padding[2], step = s.dilation[2];
    // Taps from low on and before high lie within the line.
    const int64_t low = std::min(wide, left < 0 ? (step - 1 - left) / step : 0),
                  high = std::clamp<int64_t>((s.in[2] - left + step - 1) / step, low, wide);
    for (int64_t a = 0; a < s.kernel[0]; ++a)
      for (int64_t b = 0; b < s.kernel[1]; ++b, to += wide * c) {
        const int64_t depth = at[0] * s.stride[0] - s.padding[0] + a * s.dilation[0],
                      line = at[1] * s.stride[1] - s.padding[1] + b * s.dilation[1];
        if (depth < 0 || depth >= s.in[0] || line < 0 || line >= s.in[1]) {
          std::memset(to, outside, size_t(wide * c));
          continue;
        }
        const uint8_t* from = image + ((depth * s.in[1] + line) * s.in[2] + left) * c;
        if (low > 0) std::memset(to, outside, size_t(low * c));
        if (step == 1)
          copy_some(from + low * c, to + low * c, (high - low) * c);
        else
          for (int64_t t = low; t < high; ++t) copy_some(from + t * step * c, to + t * c, c);
        if (high < wide) std::memset(to + high * c, outside, size_t((wide - high) * c));
      }
    for (int64_t l = k; l < stride; ++l) row[l] = flip;
    if (flip)
      for (int64_t l = 0; l < stride; ++l) row[l] ^= flip;
    if (++at[2] < s.out[2]) continue;
    at[2] = 0;
    if (++at[1] < s.out[1]) continue;
    at[1] = 0;
    if (++at[0] < s.out[0]) continue;
    at[0] = 0, image += s.in_plane() * c;
  }
}

template <class T>
void convolve(const Int8Convolution& p, const uint8_t* weight) {
  using Row = typename T::Number;
  const ConvShape& s = p.shape;
  const int64_t k = s.taps() * s.c, places = s.n * s.out_plane();
  const Panels panels(s.o, k);
  const int64_t stride = panels.stride;
  const int32_t* const less = reinterpret_cast<const int32_t*>(weight);
  const char* const data = reinterpret_cast<const char*>(weight) + panels.sums_bytes();
  bool as_it_is = s.taps() == 1 && stride == k && p.result.flip == 0 && sizeof(Row) == 1;
  for (int d = 0; d < 3; ++d) as_it_is = as_it_is && s.stride[d] == 1 && s.padding[d] == 0;

  // Chunks of equal length, and where there are fewer than threads, parts of the weight for each.
  const int64_t near = part_of_second_cache(512 << 10) / (stride * int64_t(sizeof(Row)));
  const int64_t most = std::clamp<int64_t>(near / T::kRows * T::kRows, T::kRows, kRowsAtOnce);
  constexpr int64_t kLines = Held<T>::kLines;
  const auto over = [](int64_t all, int64_t each) { return (all + each - 1) / each; };
  const int64_t rows = over(over(places, over(places, most)), kLines) * kLines, chunks = over(places, rows);
  const int64_t work = rows * stride * kColumns * panels.count;
  const int64_t parts = std::clamp<int64_t>(std::min(num_threads() / chunks, work / kPiece), 1, panels.count);
  const int64_t each = (panels.count + parts - 1) / parts;
  parallel_for(chunks * parts, std::max<int64_t>(1, kPiece * parts / work), [&](int64_t a, int64_t b) {
    const Held<T> held;
    std::unique_ptr<uint8_t[]> made;
    std::unique_ptr<Row[]> wide(sizeof(Row) == 1 ? nullptr : new Row[size_t(rows * stride)]);
    alignas(64) int32_t sums[kRowsAtOnce * kColumns];
    for (int64_t piece = a; piece < b; ++piece) {
      const int64_t first = piece / parts * rows, count = std::min(rows, places - first);
      if (count <= 0) continue;
      const uint8_t* bytes = p.x + first * k;
      if (!as_it_is || first * k + room_for<T>(count, k) > places * k) {
        if (!made) made.reset(new uint8_t[size_t(room_for<T>(rows, stride))]);
        fill_rows(p, first, count, stride, made.get());
        bytes = made.get();
      }
      const Row* q;
      if constexpr (sizeof(Row) == 1)
        q = bytes;
      else
        widen(bytes, count * stride, wide.get()), q = wide.get();
      const int64_t from = piece % parts * each;
      for (int64_t j = from; j < std::min(from + each, panels.count); ++j) {
        products<T>(q, count, stride, data + j * kColumns * stride, stride, sums,
                    [](int64_t, int64_t, const int32_t*) {});
        store_bytes(p.result, sums, less, p.zero, count, s.o, j * kColumns, p.y + first * s.o);
      }
    }
  });
}

}  // namespace

void int8_convolution(const Int8Convolution& p) {
  const ConvShape& s = p.shape;
  if (!s.channels_last) return int8_grouped_convolution(p);
  const int64_t k = s.taps() * s.c;
  std::unique_ptr<uint8_t[]> made;
  const uint8_t* weight = p.packed;
  if (!weight) {
    made.reset(new uint8_t[size_t(Panels(s.o, k).bytes())]);
    int8_pack(p.weight, s.o, k, made.get());
    weight = made.get();
  }
#ifdef TORCH_INT8_512
  if (OnTiles::are_there()) return convolve<OnTiles>(p, weight);
#endif
#ifdef TORCH_HAS_DOT4
  if (has_dot4()) return convolve<Dot4<uint8_t>>(p, weight);
#endif
  if (p.result.flip == 0 && p.zero <= kNarrow && greatest(p.x, s.n * s.in_plane() * s.c) <= kNarrow)
    return convolve<Narrow<uint8_t>>(p, weight);
  convolve<Widened>(p, weight);
}

}  // namespace torch::TORCH_ISA
