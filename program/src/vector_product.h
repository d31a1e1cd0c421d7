// The product of a row with a matrix whose rows lie in memory, by itself: what is left of a call that computes one when
// the call, its checks and the choice of a kernel have been made once, for the plan.
//
//   out[j] = x[0] w[0, j] + x[1] w[1, j] + ...      from the left, in one register for each j
//
// Small ones only, which core/src/cpu/gemm.cpp adds up in just this order. Nobody is asked for that: a call is one if
// it gives these bits for numbers at random. Where the core computes otherwise, calls stay calls.
#pragma once
#include <optional>

#include "code.h"

namespace torch::program {

class VectorProduct {
 public:
  // Of a call of two tensors, given where those lie and what came of them.
  static std::optional<VectorProduct> find(const RowCall& call, const Tensor& x, const Tensor& w, const Tensor& out);
  void operator()(const char* x, const char* w, char* out) const { run_(x, w, out, k_, n_); }

 private:
  using Run = void (*)(const char* x, const char* w, char* out, int64_t k, int64_t n);
  VectorProduct(Run run, int64_t k, int64_t n) : run_(run), k_(k), n_(n) {}
  static Run run_for(DType type);
  bool agrees(const RowCall& call, const Tensor& x, const Tensor& w) const;

  Run run_;
  int64_t k_, n_;
};

}  // namespace torch::program
