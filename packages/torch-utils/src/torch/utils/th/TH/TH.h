/* The functions of the C library of 2017 that extensions called most, over torch/c/torch.h.

   A THFloatTensor * is a tensor of float32 on the CPU, and so on. What fails leaves its reason for the caller in
   Python, who gets it as an exception when the function is over; what is asked of a tensor after that does no harm. */
#ifndef TORCH_UTILS_TH_H
#define TORCH_UTILS_TH_H
#include <torch/c/torch.h>

#define TH_CONCAT_(a, b, c) a##b##c
#define TH_CONCAT(a, b, c) TH_CONCAT_(a, b, c)

extern int torch_th_failed; /* in the file that create_extension makes */

static inline void th_check(torch_status status) {
  if (status != TORCH_OK && !torch_th_failed) torch_th_failed = status;
}

static inline void th_call(const char* op, const torch_value* arguments, int count) {
  torch_value result;
  result.kind = TORCH_NONE;
  if (torch_th_failed) return;
  th_check(torch_call(op, arguments, count, &result, 1));
  if (result.kind == TORCH_TENSOR) torch_release(result.as.tensor);
}

/* self = op(self, a) in place */
static inline void th_in_place(const char* op, torch_tensor* self, torch_value a) {
  torch_value arguments[2] = {torch_value_tensor(self), a};
  th_call(op, arguments, 2);
}

static inline void th_resize(torch_tensor* self, int ndim, const int64_t* sizes) {
  th_in_place("resize_", self, torch_value_ints(sizes, ndim));
}

static inline int th_same_size(const torch_tensor* a, const torch_tensor* b) {
  int i, n = torch_ndim(a);
  if (n != torch_ndim(b)) return 0;
  for (i = 0; i < n; ++i)
    if (torch_sizes(a)[i] != torch_sizes(b)[i]) return 0;
  return 1;
}

static inline int th_contiguous(const torch_tensor* t) {
  int i;
  int64_t step = 1;
  for (i = torch_ndim(t) - 1; i >= 0; --i) {
    if (torch_sizes(t)[i] != 1) {
      if (torch_strides(t)[i] != step) return 0;
      step *= torch_sizes(t)[i];
    }
  }
  return 1;
}

/* r takes the size and the values of t */
static inline void th_take(torch_tensor* r, torch_tensor* t) {
  if (r == t) return;
  if (!th_same_size(r, t)) th_resize(r, torch_ndim(t), torch_sizes(t));
  th_in_place("copy_", r, torch_value_tensor(t));
}

static inline torch_tensor* th_made(const char* op, torch_tensor* t) {
  torch_value argument = torch_value_tensor(t), result;
  result.kind = TORCH_NONE;
  if (torch_th_failed) return NULL;
  th_check(torch_call(op, &argument, 1, &result, 1));
  return result.kind == TORCH_TENSOR ? result.as.tensor : NULL;
}

static inline double th_sum(torch_tensor* t) {
  /* in double, as the library of 2017 added up */
  torch_tensor* wide;
  torch_value arguments[2], result;
  double total = 0;
  int64_t one = 1;
  if (torch_th_failed) return 0;
  th_check(torch_empty(0, &one, TORCH_FLOAT64, &wide));
  if (torch_th_failed) return 0;
  arguments[0] = torch_value_tensor(t);
  result.kind = TORCH_NONE;
  th_check(torch_call("sum", arguments, 1, &result, 1));
  if (result.kind == TORCH_TENSOR) {
    th_in_place("copy_", wide, torch_value_tensor(result.as.tensor));
    torch_release(result.as.tensor);
    if (!torch_th_failed) total = *(double*)torch_data(wide);
  }
  torch_release(wide);
  return total;
}

static inline void th_index(const torch_tensor* t, int ndim, int64_t i, int64_t j) {
  if (torch_ndim(t) != ndim || i < 0 || i >= torch_sizes(t)[0] || (ndim == 2 && (j < 0 || j >= torch_sizes(t)[1])))
    th_check(torch_fail(TORCH_ERROR_INDEX, "an index of get or set is outside of the tensor, or it has other dims"));
}

#define TH_TYPE(Type, real, dtype)                                                                                 \
  typedef struct Type Type;                                                                                        \
  static inline torch_tensor* TH_CONCAT(Type, _, as_torch)(const Type* t) { return (torch_tensor*)t; }             \
  static inline real* TH_CONCAT(Type, _, data)(const Type* t) { return (real*)torch_data((torch_tensor*)t); }      \
  static inline int TH_CONCAT(Type, _, nDimension)(const Type* t) { return torch_ndim((torch_tensor*)t); }         \
  static inline long TH_CONCAT(Type, _, size)(const Type* t, int dim) {                                            \
    return (long)torch_sizes((torch_tensor*)t)[dim];                                                               \
  }                                                                                                                \
  static inline long TH_CONCAT(Type, _, stride)(const Type* t, int dim) {                                          \
    return (long)torch_strides((torch_tensor*)t)[dim];                                                             \
  }                                                                                                                \
  static inline ptrdiff_t TH_CONCAT(Type, _, nElement)(const Type* t) {                                            \
    return (ptrdiff_t)torch_numel((torch_tensor*)t);                                                               \
  }                                                                                                                \
  static inline int TH_CONCAT(Type, _, isContiguous)(const Type* t) { return th_contiguous((torch_tensor*)t); }    \
  static inline int TH_CONCAT(Type, _, isSameSizeAs)(const Type* a, const Type* b) {                               \
    return th_same_size((torch_tensor*)a, (torch_tensor*)b);                                                       \
  }                                                                                                                \
  static inline Type* TH_CONCAT(Type, _, newWithSize2d)(long a, long b) {                                          \
    int64_t sizes[2];                                                                                              \
    torch_tensor* made = NULL;                                                                                     \
    sizes[0] = a;                                                                                                  \
    sizes[1] = b;                                                                                                  \
    if (!torch_th_failed) th_check(torch_empty(2, sizes, dtype, &made));                                           \
    return (Type*)made;                                                                                            \
  }                                                                                                                \
  static inline Type* TH_CONCAT(Type, _, newWithSize1d)(long a) {                                                  \
    int64_t size = a;                                                                                              \
    torch_tensor* made = NULL;                                                                                     \
    if (!torch_th_failed) th_check(torch_empty(1, &size, dtype, &made));                                           \
    return (Type*)made;                                                                                            \
  }                                                                                                                \
  static inline Type* TH_CONCAT(Type, _, new)(void) { return TH_CONCAT(Type, _, newWithSize1d)(0); }               \
  static inline Type* TH_CONCAT(Type, _, newClone)(Type * t) { return (Type*)th_made("clone", (torch_tensor*)t); } \
  static inline Type* TH_CONCAT(Type, _, newContiguous)(Type * t) {                                                \
    return (Type*)th_made("contiguous", (torch_tensor*)t);                                                         \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, retain)(Type * t) { torch_retain((torch_tensor*)t); }                      \
  static inline void TH_CONCAT(Type, _, free)(Type * t) { torch_release((torch_tensor*)t); }                       \
  static inline void TH_CONCAT(Type, _, resizeAs)(Type * t, Type * other) {                                        \
    th_resize((torch_tensor*)t, torch_ndim((torch_tensor*)other), torch_sizes((torch_tensor*)other));              \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, resize1d)(Type * t, long a) {                                              \
    int64_t size = a;                                                                                              \
    th_resize((torch_tensor*)t, 1, &size);                                                                         \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, resize2d)(Type * t, long a, long b) {                                      \
    int64_t sizes[2];                                                                                              \
    sizes[0] = a;                                                                                                  \
    sizes[1] = b;                                                                                                  \
    th_resize((torch_tensor*)t, 2, sizes);                                                                         \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, fill)(Type * t, real value) {                                              \
    th_in_place("fill_", (torch_tensor*)t, torch_value_double((double)value));                                     \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, zero)(Type * t) {                                                          \
    torch_value self = torch_value_tensor((torch_tensor*)t);                                                       \
    th_call("zero_", &self, 1);                                                                                    \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, copy)(Type * t, Type * source) {                                           \
    th_in_place("copy_", (torch_tensor*)t, torch_value_tensor((torch_tensor*)source));                             \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, add)(Type * r, Type * t, real value) {                                     \
    th_take((torch_tensor*)r, (torch_tensor*)t);                                                                   \
    th_in_place("add_", (torch_tensor*)r, torch_value_double((double)value));                                      \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, mul)(Type * r, Type * t, real value) {                                     \
    th_take((torch_tensor*)r, (torch_tensor*)t);                                                                   \
    th_in_place("mul_", (torch_tensor*)r, torch_value_double((double)value));                                      \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, cadd)(Type * r, Type * t, real value, Type * other) {                      \
    torch_value arguments[3];                                                                                      \
    torch_tensor* kept = r == other && r != t ? th_made("clone", (torch_tensor*)other) : NULL;                     \
    th_take((torch_tensor*)r, (torch_tensor*)t);                                                                   \
    arguments[0] = torch_value_tensor((torch_tensor*)r);                                                           \
    arguments[1] = torch_value_tensor(kept ? kept : (torch_tensor*)other);                                         \
    arguments[2] = torch_value_double((double)value);                                                              \
    th_call("add_", arguments, 3);                                                                                 \
    torch_release(kept);                                                                                           \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, cmul)(Type * r, Type * t, Type * other) {                                  \
    torch_tensor* kept = r == other && r != t ? th_made("clone", (torch_tensor*)other) : NULL;                     \
    th_take((torch_tensor*)r, (torch_tensor*)t);                                                                   \
    th_in_place("mul_", (torch_tensor*)r, torch_value_tensor(kept ? kept : (torch_tensor*)other));                 \
    torch_release(kept);                                                                                           \
  }                                                                                                                \
  static inline double TH_CONCAT(Type, _, sumall)(Type * t) { return th_sum((torch_tensor*)t); }                   \
  static inline real TH_CONCAT(Type, _, get1d)(const Type* t, long i) {                                            \
    th_index((torch_tensor*)t, 1, i, 0);                                                                           \
    return torch_th_failed ? 0 : TH_CONCAT(Type, _, data)(t)[i * TH_CONCAT(Type, _, stride)(t, 0)];                \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, set1d)(Type * t, long i, real value) {                                     \
    th_index((torch_tensor*)t, 1, i, 0);                                                                           \
    if (!torch_th_failed) TH_CONCAT(Type, _, data)(t)[i * TH_CONCAT(Type, _, stride)(t, 0)] = value;               \
  }                                                                                                                \
  static inline real TH_CONCAT(Type, _, get2d)(const Type* t, long i, long j) {                                    \
    th_index((torch_tensor*)t, 2, i, j);                                                                           \
    return torch_th_failed ? 0                                                                                     \
                           : TH_CONCAT(Type, _, data)(                                                             \
                                 t)[i * TH_CONCAT(Type, _, stride)(t, 0) + j * TH_CONCAT(Type, _, stride)(t, 1)];  \
  }                                                                                                                \
  static inline void TH_CONCAT(Type, _, set2d)(Type * t, long i, long j, real value) {                             \
    th_index((torch_tensor*)t, 2, i, j);                                                                           \
    if (!torch_th_failed)                                                                                          \
      TH_CONCAT(Type, _, data)(t)[i * TH_CONCAT(Type, _, stride)(t, 0) + j * TH_CONCAT(Type, _, stride)(t, 1)] =   \
          value;                                                                                                   \
  }

TH_TYPE(THFloatTensor, float, TORCH_FLOAT32)
TH_TYPE(THDoubleTensor, double, TORCH_FLOAT64)
TH_TYPE(THLongTensor, long, TORCH_INT64)
TH_TYPE(THIntTensor, int, TORCH_INT32)
TH_TYPE(THShortTensor, short, TORCH_INT16)
TH_TYPE(THCharTensor, signed char, TORCH_INT8)
TH_TYPE(THByteTensor, unsigned char, TORCH_UINT8)

#endif
