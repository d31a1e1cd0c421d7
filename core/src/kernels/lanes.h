// The last vector of a row, of which only some lanes are the row's.
#pragma once
#include "kernels/vec.h"

namespace torch::TORCH_ISA {

template <class T>
TORCH_VEC_INLINE Vec<T> get(const T* p, int count) {
  return count == Vec<T>::kLanes ? load<T>(p) : load_partial<T>(p, count);
}
template <class T>
TORCH_VEC_INLINE void put(T* p, Vec<T> v, int count) {
  if (count == Vec<T>::kLanes)
    store(p, v);
  else
    store_partial(p, v, count);
}

}  // namespace torch::TORCH_ISA
