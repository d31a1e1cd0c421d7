// What the reduction engine (ops/reduce/engine.h) runs: for each reduction and element type a kernel that folds
// elements into accumulators, along memory into one, or across rows into one per column.
//
//   along   x x x x x x x x  -> a              across   x x x x
//                                                       x x x x
//                                                       a a a a
//
// Accumulators hold more than the elements do (a double for floats, an int64 for bytes), so that their own errors do
// not matter and partial results may be merged in any fixed order.
#pragma once
#include <cstdint>

#include "levels/isa.h"
#include "torch/core/dtype.h"

namespace torch {

enum class Reduce : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  ArgMax,
  ArgMin,
  CountNonzero,
  AbsSum,
  SquareSum,
  AbsMax,
  AbsMin,
  Moments
};
constexpr int kReductions = 12;

// Accumulators of sums: a double for floats, int64 for integers, and for doubles the sum and what its rounding lost.
struct SumAcc {
  double sum, lost;
};
template <class T>
struct ArgAcc {
  int64_t index;  // -1: nothing seen
  T value;
};
struct MomentsAcc {  // number, mean and sum of squared distances from the mean
  double count, mean, m2;
};

struct ReduceKernel {
  // `position` is the place of the first element (or row) within the reduced dim.
  void (*along)(const void* in, int64_t n, int64_t position, void* acc);
  void (*across)(const void* in, int64_t row_stride, int64_t rows, int64_t columns, int64_t position,
                 void* acc);                               // stride in bytes
  void (*merge)(void* acc, const void* other, int64_t n);  // other's elements come after
  void (*reset)(void* acc, int64_t n);
  int acc_size = 0;
};
// Null where a type is served through another one (reduce_type in engine.cpp); bool is read as uint8, its sum counts.
struct ReduceTable {
  ReduceKernel by_dtype[kDTypes];
};
struct ReduceTables {
  const ReduceTable* of[kReductions];
};
TORCH_PER_ISA(const ReduceTable& reduce_table(Reduce);)

}  // namespace torch
