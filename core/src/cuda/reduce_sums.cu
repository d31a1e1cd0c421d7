// Sums, products, counts and moments.
#include "cuda/reduce.h"

namespace torch::cuda {

namespace {

template <template <class> class Op>
ReduceEntry of_integers(DType t) {
  switch (t) {
    case DType::Bool:
      return reduce_entry<Truth, Op<uint8_t>>();
    case DType::UInt8:
      return reduce_entry<uint8_t, Op<uint8_t>>();
    case DType::Int8:
      return reduce_entry<int8_t, Op<int8_t>>();
    case DType::Int16:
      return reduce_entry<int16_t, Op<int16_t>>();
    case DType::Int32:
      return reduce_entry<int32_t, Op<int32_t>>();
    case DType::Int64:
      return reduce_entry<int64_t, Op<int64_t>>();
    default:
      return {};
  }
}
template <class Single, class Twice>
ReduceEntry of_floats(DType t) {
  if (t == DType::Float32) return reduce_entry<float, Single>();
  if (t == DType::Float64) return reduce_entry<double, Twice>();
  return {};
}

}  // namespace

ReduceEntry sums_entry(Reduce which, DType t) {
  switch (which) {
    case Reduce::Sum:
      return t < DType::Float16 ? of_integers<IntegerSum>(t) : of_floats<FloatSum<AsIs>, DoubleSum<AsIs>>(t);
    case Reduce::Prod:
      if (t == DType::Int64) return reduce_entry<int64_t, IntegerProd>();
      if (t == DType::Complex64) return reduce_entry<Complex<float>, ComplexProd<float>>();
      if (t == DType::Complex128) return reduce_entry<Complex<double>, ComplexProd<double>>();
      return of_floats<FloatProd<float>, FloatProd<double>>(t);
    case Reduce::CountNonzero:
      return t < DType::Float16 ? of_integers<Count>(t) : of_floats<Count<float>, Count<double>>(t);
    case Reduce::AbsSum:
      return of_floats<FloatSum<Absolute>, DoubleSum<Absolute>>(t);
    case Reduce::SquareSum:
      return of_floats<FloatSum<Squared>, DoubleSum<Squared>>(t);
    case Reduce::Moments:
      return of_floats<Moments<float>, Moments<double>>(t);
    default:
      return {};
  }
}

}  // namespace torch::cuda
