// Collectives of a warp, by mask: shuffles, votes, reductions, matches.
#pragma once
#include "cuda_host/model.h"

namespace cuda_host {

template <class F>
void each_lane(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1) f(__builtin_ctz(mask));
}

template <class T>
T shuffle(uint32_t mask, T value, int source, Line line) {
  struct Record {
    T in, out;
    int source;
  } record{value, value, source};
  const Finish exchange = [](uint32_t lanes, void* const* records, Line at) {
    each_lane(lanes, [&](int i) {
      auto* mine = static_cast<Record*>(records[i]);
      if (!(lanes >> mine->source & 1))
        fail(719,  // a result that is undefined: cudaErrorLaunchFailure
             "lane " + std::to_string(i) + " reads lane " + std::to_string(mine->source) + ", which is not in the mask",
             at);
      mine->out = static_cast<Record*>(records[mine->source])->in;
    });
  };
  meet(mask, exchange, &record, false, line);
  return record.out;
}

// Every lane gets the fold F of the lanes' values.
template <class F, class T>
T fold(uint32_t mask, T value, bool ordered, Line line) {
  const Finish all = [](uint32_t lanes, void* const* records, Line) {
    T result = *static_cast<T*>(records[__builtin_ctz(lanes)]);
    each_lane(lanes & (lanes - 1), [&](int i) { result = F()(result, *static_cast<T*>(records[i])); });
    each_lane(lanes, [&](int i) { *static_cast<T*>(records[i]) = result; });
  };
  meet(mask, all, &value, ordered, line);
  return value;
}
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

}  // namespace cuda_host

template <class T>
T __shfl_sync(uint32_t mask, T v, int from, int width = 32, cuda_host::Line l = cuda_host::Line::current()) {
  return cuda_host::shuffle(mask, v, (cuda_host::lane() & -width) + (from & (width - 1)), l);
}
template <class T>
T __shfl_xor_sync(uint32_t mask, T v, int bits, int width = 32, cuda_host::Line l = cuda_host::Line::current()) {
  const int lane = cuda_host::lane(), from = lane ^ bits;
  return cuda_host::shuffle(mask, v, (from & -width) > (lane & -width) ? lane : from, l);
}
template <class T>
T __shfl_down_sync(uint32_t mask, T v, int by, int width = 32, cuda_host::Line l = cuda_host::Line::current()) {
  const int lane = cuda_host::lane();
  return cuda_host::shuffle(mask, v, (lane & (width - 1)) + by < width ? lane + by : lane, l);
}
template <class T>
T __shfl_up_sync(uint32_t mask, T v, int by, int width = 32, cuda_host::Line l = cuda_host::Line::current()) {
  const int lane = cuda_host::lane();
  return cuda_host::shuffle(mask, v, (lane & (width - 1)) >= by ? lane - by : lane, l);
}
inline uint32_t __ballot_sync(uint32_t mask, bool yes, cuda_host::Line l = cuda_host::Line::current()) {
  return cuda_host::fold<std::bit_or<uint32_t>>(mask, uint32_t(yes) << cuda_host::lane(), false, l);
}
inline bool __any_sync(uint32_t mask, bool yes, cuda_host::Line l = cuda_host::Line::current()) {
  return __ballot_sync(mask, yes, l) != 0;
}
inline bool __all_sync(uint32_t mask, bool yes, cuda_host::Line l = cuda_host::Line::current()) {
  return __ballot_sync(mask, yes, l) == mask;
}
template <class T>
T __reduce_add_sync(uint32_t mask, T v, cuda_host::Line l = cuda_host::Line::current()) {
  return cuda_host::fold<std::plus<T>>(mask, v, false, l);
}
template <class T>
T __reduce_max_sync(uint32_t mask, T v, cuda_host::Line l = cuda_host::Line::current()) {
  return cuda_host::fold<cuda_host::Larger>(mask, v, false, l);
}
template <class T>
T __reduce_min_sync(uint32_t mask, T v, cuda_host::Line l = cuda_host::Line::current()) {
  return cuda_host::fold<cuda_host::Smaller>(mask, v, false, l);
}
inline void __syncwarp(uint32_t mask = ~0u, cuda_host::Line l = cuda_host::Line::current()) {
  cuda_host::fold<cuda_host::Larger>(mask, 0, true, l);
}
template <class T>
uint32_t __match_any_sync(uint32_t mask, T v, cuda_host::Line line = cuda_host::Line::current()) {
  struct Record {
    T in;
    uint32_t out;
  } record{v, 0};
  const cuda_host::Finish compare = [](uint32_t lanes, void* const* records, cuda_host::Line) {
    cuda_host::each_lane(lanes, [&](int i) {
      auto* mine = static_cast<Record*>(records[i]);
      cuda_host::each_lane(lanes, [&](int j) {
        if (mine->in == static_cast<Record*>(records[j])->in) mine->out |= 1u << j;
      });
    });
  };
  cuda_host::meet(mask, compare, &record, false, line);
  return record.out;
}
