// Convolutions of bytes in groups, as products of the weight with panels of the input, whose channels come first: a
// group has few outputs, which would not fill the lanes of panels of the weight.
//
// The input is laid out so that a tap of the kernel is one offset: borders filled with the zero point, and with a
// stride s each of the s places modulo s by itself (a phase), where neighbours of the result are neighbours. Places of
// the result are counted over whole rows of a phase: the few at the end of each row that belong to no result are
// computed and not stored. So a panel, the inputs of some 16 or 32 places for a block of K, is loads at an offset and a
// transposition of four rows of bytes, whatever kernel, stride, padding and dilation are. It stays in the first cache
// while the weight goes by; a block of K is 512 integers, and sums wait in memory between blocks.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "cpu/int8_kernels.h"
#include "cpu/int8_rounding.h"
#include "cpu/int8_tiles.h"
#include "torch/core/cpu.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

constexpr int64_t kBlock = 512;  // of K
constexpr int64_t kSlack = 64;   // bytes that may be read behind the last row

// Where the taps of a kernel lie in the layout.
struct Layout {
  int64_t size[3];              // of a phase
  int64_t phase, plane, count;  // bytes of a phase, of a channel, places of the result with those that are not stored
  std::vector<int64_t> phases;  // those that taps fall into, as numbers over (depth, height, width)
  std::vector<int64_t> taps;    // offset of each tap within a channel
  bool as_it_is;                // the input is laid out so already

  explicit Layout(const Int8Convolution& p) {
    const ConvShape& s = p.shape;
    as_it_is = p.result.flip == 0;
    for (int d = 0; d < 3; ++d) {
      const int64_t reach = (s.kernel[d] - 1) * s.dilation[d];
      as_it_is = as_it_is && s.stride[d] == 1 && s.padding[d] == 0 && s.out[d] + reach == s.in[d];
      size[d] = s.out[d] + reach / s.stride[d];
    }
    phase = size[0] * size[1] * size[2];
    for (int64_t a = 0; a < s.kernel[0]; ++a)
      for (int64_t b = 0; b < s.kernel[1]; ++b)
        for (int64_t c = 0; c < s.kernel[2]; ++c) {
          const int64_t at[3] = {a * s.dilation[0], b * s.dilation[1], c * s.dilation[2]};
          const int64_t which =
              (at[0] % s.stride[0] * s.stride[1] + at[1] % s.stride[1]) * s.stride[2] + at[2] % s.stride[2];
          const auto found = std::find(phases.begin(), phases.end(), which);
          taps.push_back((found - phases.begin()) * phase +
                         (at[0] / s.stride[0] * size[1] + at[1] / s.stride[1]) * size[2] + at[2] / s.stride[2]);
          if (found == phases.end()) phases.push_back(which);
        }
    plane = int64_t(phases.size()) * phase;
    count = ((s.out[0] - 1) * size[1] + s.out[1] - 1) * size[2] + s.out[2];
  }
};

// One channel of one image.
void lay_out(const Int8Convolution& p, const Layout& layout, const uint8_t* from, uint8_t* to) {
  const ConvShape& s = p.shape;
  const uint8_t flip = p.result.flip;
  std::memset(to, p.zero, size_t(layout.plane));
  for (const int64_t which : layout.phases) {
    const int64_t first[3] = {which / (s.stride[1] * s.stride[2]), which / s.stride[2] % s.stride[1],
                              which % s.stride[2]};
    // Places of the phase that lie within the input: those from low on and before high.
    int64_t low[3], high[3];
    for (int d = 0; d < 3; ++d) {
      const int64_t before = s.padding[d] - first[d];
      low[d] = std::min(layout.size[d], before > 0 ? (before + s.stride[d] - 1) / s.stride[d] : 0);
      const int64_t end = s.in[d] + before;
      high[d] = std::clamp(end > 0 ? (end + s.stride[d] - 1) / s.stride[d] : 0, low[d], layout.size[d]);
    }
    const int64_t n = high[2] - low[2], step = s.stride[2];
    for (int64_t a = low[0]; a < high[0]; ++a)
      for (int64_t b = low[1]; b < high[1]; ++b) {
        const int64_t in[3] = {a * s.stride[0] + first[0] - s.padding[0], b * s.stride[1] + first[1] - s.padding[1],
                               low[2] * step + first[2] - s.padding[2]};
        const uint8_t* row = from + (in[0] * s.in[1] + in[1]) * s.in[2] + in[2];
        uint8_t* at = to + (a * layout.size[1] + b) * layout.size[2] + low[2];
        if (step == 1)
          for (int64_t i = 0; i < n; ++i) at[i] = row[i] ^ flip;
        else
          for (int64_t i = 0; i < n; ++i) at[i] = row[i * step] ^ flip;
      }
    to += layout.phase;
  }
}

// A block of K of `lanes` places, from `place` on; rows of the layout stand at `offsets`.
#ifdef TORCH_INT8_512
TORCH_TILE void fill_panel(Dot4<int8_t>, const uint8_t* place, const int64_t* offsets, int64_t steps, int lanes,
                           int32_t, char* panel) {
  for (int64_t s = 0; s < steps; ++s, offsets += 4)
    for (int i = 0; i < lanes; i += 16, panel += 64) {
      const auto row = [&](int k) __attribute__((always_inline)) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(place + offsets[k] + i));
      };
      const __m128i a = row(0), b = row(1), c = row(2), d = row(3);
      const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b), low2 = _mm_unpacklo_epi8(c, d),
                    high2 = _mm_unpackhi_epi8(c, d);
      __m128i* to = reinterpret_cast<__m128i*>(panel);
      _mm_storeu_si128(to, _mm_unpacklo_epi16(low, low2));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low, low2));
      _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high, high2));
      _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high, high2));
    }
}
#endif
TORCH_TILE void fill_panel(Pairs, const uint8_t* place, const int64_t* offsets, int64_t steps, int lanes, int32_t zero,
                           char* panel) {
  for (int64_t s = 0; s < steps; ++s, offsets += 2) {
    const uint8_t *a = place + offsets[0], *b = place + offsets[1];
#if defined(__AVX2__)
    const __m256i less = _mm256_set1_epi16(int16_t(zero));
    for (int i = 0; i < lanes; i += 8, panel += 32) {
      const __m128i both = _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a + i)),
                                             _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + i)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel), _mm256_sub_epi16(_mm256_cvtepu8_epi16(both), less));
    }
#elif defined(__SSE4_1__)
    for (int i = 0; i < lanes; i += 4, panel += 16) {
      int32_t low, high;
      std::memcpy(&low, a + i, 4);
      std::memcpy(&high, b + i, 4);
      const __m128i both = _mm_cvtepu8_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(low), _mm_cvtsi32_si128(high)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(panel), _mm_sub_epi16(both, _mm_set1_epi16(int16_t(zero))));
    }
#else
    for (int i = 0; i < lanes; i += 4, panel += 16) {
      int16_t both[8];
      for (int l = 0; l < 4; ++l) {
        both[2 * l] = int16_t(a[i + l] - zero);
        both[2 * l + 1] = int16_t(b[i + l] - zero);
      }
      std::memcpy(panel, both, sizeof both);
    }
#endif
  }
}

// The weight as rows of T::Weight, each filled up to whole steps with zeros.
template <class T>
struct Rows {
  std::unique_ptr<typename T::Number[]> memory;
  const typename T::Number* data;
  int64_t stride;

  Rows(const int8_t* weight, int64_t rows, int64_t k) : stride((k + T::kDepth - 1) / T::kDepth * T::kDepth) {
    if constexpr (sizeof(typename T::Number) == 1) {
      if (stride == k) {
        data = weight;
        return;
      }
    }
    memory.reset(new typename T::Number[size_t(rows * stride)]);
    data = memory.get();
    parallel_for(rows, std::max<int64_t>(1, 65536 / stride), [&](int64_t a, int64_t b) {
      for (int64_t r = a; r < b; ++r) {
        typename T::Number* to = memory.get() + r * stride;
        for (int64_t l = 0; l < k; ++l) to[l] = weight[r * k + l];
        std::fill(to + k, to + stride, typename T::Number(0));
      }
    });
  }
};

// What the places of a panel need: scratch of one task.
template <class T>
struct Task {
  static constexpr int kPlaces = T::kLanes * T::kVectors;
  const Int8Convolution& p;
  const Layout& layout;
  const Rows<T>& rows;
  const int64_t* offsets;  // of all K, from a channel group on
  const int32_t* less;     // what the zero point adds to each row's sums
  int64_t outs, k;         // rows of a group, integers of a row
  std::unique_ptr<int32_t[]> sums;
  alignas(64) char panel[kBlock / T::kDepth * T::kVectors * int64_t(sizeof(typename T::V))];

  template <int N>
  TORCH_TILE void products(const uint8_t* place, int64_t first_row) {
    for (int64_t k0 = 0; k0 < rows.stride; k0 += kBlock) {
      const int64_t steps = std::min(kBlock, rows.stride - k0) / T::kDepth;
      fill_panel(T(), place, offsets + k0, steps, N * T::kLanes, p.zero, panel);
      rows_times_panel<T, N>(rows.data + first_row * rows.stride + k0, outs, rows.stride, panel, steps, sums.get(),
                             kPlaces, k0 == 0, [](int64_t, int64_t) {});
    }
  }

  // The places from `v` on of one image and group.
  void store(int64_t image, int64_t group, int64_t v) const {
    const ConvShape& s = p.shape;
    const int64_t n = std::min<int64_t>(kPlaces, layout.count - v), plane = s.out_plane();
    // Runs of places that are stored: where they begin in the panel and in a plane of the result, and their lengths.
    struct Run {
      int64_t from, to, length;
    } runs[kPlaces];
    int64_t many = 0;
    const int64_t wide = layout.size[2], high = layout.size[1];
    for (int64_t i = 0; i < n;) {
      const int64_t column = (v + i) % wide, line = (v + i) / wide % high, depth = (v + i) / (wide * high);
      const int64_t length = std::min(n - i, wide - column);
      if (line < s.out[1] && column < s.out[2]) {
        const int64_t to = (depth * s.out[1] + line) * s.out[2] + column, there = std::min(length, s.out[2] - column);
        if (many && runs[many - 1].from + runs[many - 1].length == i && runs[many - 1].to + runs[many - 1].length == to)
          runs[many - 1].length += there;
        else
          runs[many++] = {i, to, there};
      }
      i += length;
    }
    for (int64_t o = 0; o < outs; ++o) {
      const int64_t channel = group * outs + o;
      uint8_t bytes[kPlaces];
      bytes_of_sums(sums.get() + o * kPlaces, kPlaces, less[channel], p.result.bias ? p.result.bias[channel] : 0.0f,
                    p.result.scale[channel], p.result, bytes);
      uint8_t* to = p.y + (image * s.o + channel) * plane;
      for (int64_t i = 0; i < many; ++i) std::memcpy(to + runs[i].to, bytes + runs[i].from, size_t(runs[i].length));
    }
  }
};

template <class T, class Panel>
TORCH_TILE void convolve(const Int8Convolution& p, Panel one_panel) {
  const ConvShape& s = p.shape;
  const Layout layout(p);
  const int64_t in_group = s.c / s.groups, outs = s.o / s.groups, k = in_group * s.taps();
  const Rows<T> rows(p.weight, s.o, k);
  std::vector<int64_t> offsets(size_t(rows.stride), 0);
  for (int64_t c = 0; c < in_group; ++c)
    for (int64_t t = 0; t < s.taps(); ++t)
      offsets[size_t(c * s.taps() + t)] = c * layout.plane + layout.taps[size_t(t)];
  std::vector<int32_t> less(size_t(s.o), 0);
  if (T::kDepth == 4 && p.zero != 0)  // pairs take the zero point away before they multiply
    parallel_for(s.o, std::max<int64_t>(1, 262144 / k), [&](int64_t a, int64_t b) {
      for (int64_t r = a; r < b; ++r) {
        int32_t sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += p.weight[r * k + l];
        less[size_t(r)] = p.zero * sum;
      }
    });

  std::unique_ptr<uint8_t[]> laid;
  const uint8_t* input = p.x;
  const int64_t image = s.c * layout.plane;
  if (!layout.as_it_is) {
    laid.reset(new uint8_t[size_t(s.n * image + kSlack)]);
    parallel_for(s.n * s.c, std::max<int64_t>(1, 65536 / layout.plane), [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i) lay_out(p, layout, p.x + i * s.in_plane(), laid.get() + i * layout.plane);
    });
    std::memset(laid.get() + s.n * image, 0, kSlack);
    input = laid.get();
  }

  constexpr int64_t kPlaces = Task<T>::kPlaces;
  const int64_t panels = (layout.count + kPlaces - 1) / kPlaces;
  const int64_t work = outs * k * kPlaces;
  parallel_for(s.n * s.groups * panels, std::max<int64_t>(1, 4194304 / work), [&](int64_t a, int64_t b) {
    Task<T> task{p,           layout, rows, offsets.data(),
                 less.data(), outs,   k,    std::unique_ptr<int32_t[]>(new int32_t[size_t(outs * kPlaces)]),
                 {}};
    std::unique_ptr<uint8_t[]> tail;
    for (int64_t i = a; i < b; ++i) {
      const int64_t v = i % panels * kPlaces, group = i / panels % s.groups, n = i / panels / s.groups;
      const uint8_t* place = input + n * image + group * in_group * layout.plane + v;
      const bool half = layout.count - v <= kPlaces / 2;
      const uint8_t* end = input + s.n * image;
      if (layout.as_it_is && place + offsets[size_t(k - 1)] + kPlaces > end) {
        // The last panel of the last image: what lies behind the input is not read. The channels of the group, copied.
        if (!tail) tail.reset(new uint8_t[size_t(in_group * layout.plane + kSlack)]());
        std::memcpy(tail.get(), place - v, size_t(in_group * layout.plane));
        place = tail.get() + v;
      }
      one_panel(task, place, group * outs, half);
      task.store(n, group, v);
    }
  });
}

#ifdef TORCH_INT8_512
void panel_of_bytes(Task<Dot4<int8_t>>& task, const uint8_t* place, int64_t row, bool half) {
  if (half)
    task.products<1>(place, row);
  else
    task.products<2>(place, row);
}
#endif
void panel_of_pairs(Task<Pairs>& task, const uint8_t* place, int64_t row, bool half) {
  if (half)
    task.products<1>(place, row);
  else
    task.products<2>(place, row);
}

}  // namespace

void int8_grouped_convolution(const Int8Convolution& p) {
#ifdef TORCH_INT8_512
  if (has_dot4()) return convolve<Dot4<int8_t>>(p, panel_of_bytes);
#endif
  convolve<Pairs>(p, panel_of_pairs);
}

}  // namespace torch::TORCH_ISA
