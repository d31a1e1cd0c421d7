// Kernels for the tests of the execution layer, by name: planted.cu has one mistake in each, clean.cu has none.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_runtime.h"

namespace torch::cuda {

void plant(const std::string& name, float* x, float* y, const float* host);

void total(const float* x, float* y, double* partial, unsigned* ticket, int64_t n);  // the last block adds up
void transpose(const float* x, float* y, int rows, int columns);
void histogram(const uint8_t* x, int* counts, int64_t n, cudaStream_t stream);
void prefix_sums(const int* x, int* y, int n);  // of one block
void set(float* x, float value, int64_t n, cudaStream_t stream);
void exchange(const int* x, int* y);                  // neighbours in halves of a warp, by shared memory
void look_up(const uint8_t* x, float* y, int64_t n);  // in a table of the program

// A device array that frees itself.
template <class T>
struct Array {
  T* p = nullptr;
  size_t n;
  explicit Array(size_t n) : n(n) { cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)); }
  explicit Array(const std::vector<T>& v) : Array(v.size()) {
    cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(p); }
  operator T*() const { return p; }
  std::vector<T> get() const {
    std::vector<T> v(n);
    cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
};

}  // namespace torch::cuda
