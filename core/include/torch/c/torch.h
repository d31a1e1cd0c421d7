/* The stable C interface of torch-core: tensors, every operator by its name, DLPack in and out. For extensions that
 * must survive new versions, and for other languages. C99; nothing here changes its meaning within one major version of
 * TORCH_C_VERSION, new functions are added at the end.
 *
 *   torch_tensor *a, *b;
 *   torch_value args[2], out;
 *   int64_t shape[2] = {2, 3};
 *   torch_ones(2, shape, TORCH_FLOAT32, &a);
 *   args[0] = torch_value_tensor(a);
 *   args[1] = torch_value_double(1.5);
 *   if (torch_call("add", args, 2, &out, 1) != TORCH_OK) puts(torch_last_error());
 *   b = out.as.tensor;                 -- yours: torch_release(b)
 *
 * A function that can fail returns a status; the text of the last failure of this thread is torch_last_error(). Tensors
 * that a function gives back belong to the caller, tensors that it takes stay the caller's. */
#ifndef TORCH_C_TORCH_H
#define TORCH_C_TORCH_H
#include <stddef.h>
#include <stdint.h>

#include "torch/c/dlpack.h"

#define TORCH_C_VERSION 1
#if defined(__GNUC__)
#define TORCH_C_API __attribute__((visibility("default")))
#else
#define TORCH_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torch_tensor torch_tensor;

typedef enum {
  TORCH_OK = 0,
  TORCH_ERROR_RUNTIME,
  TORCH_ERROR_INDEX,
  TORCH_ERROR_TYPE,
  TORCH_ERROR_VALUE,
  TORCH_ERROR_NOT_IMPLEMENTED,
  TORCH_ERROR_OUT_OF_MEMORY,
  TORCH_ERROR_OVERFLOW
} torch_status;

/* In the order of the library's own enumeration; a test holds them together. */
typedef enum {
  TORCH_BOOL,
  TORCH_UINT8,
  TORCH_INT8,
  TORCH_INT16,
  TORCH_INT32,
  TORCH_INT64,
  TORCH_UINT16,
  TORCH_UINT32,
  TORCH_UINT64,
  TORCH_FLOAT16,
  TORCH_BFLOAT16,
  TORCH_FLOAT32,
  TORCH_FLOAT64,
  TORCH_COMPLEX64,
  TORCH_COMPLEX128
} torch_dtype;

typedef enum {
  TORCH_NONE,
  TORCH_TENSOR,
  TORCH_TENSOR_LIST,
  TORCH_BOOLEAN,
  TORCH_INTEGER,
  TORCH_DOUBLE,
  TORCH_COMPLEX,
  TORCH_INT_LIST,
  TORCH_STRING,
  TORCH_DTYPE
} torch_kind;

/* One argument or result. Lists and strings are borrowed when passed in; a tensor list that comes back is freed with
 * torch_free_list. */
typedef struct {
  torch_kind kind;
  union {
    torch_tensor* tensor;
    int64_t integer;
    double number;
    const void* list; /* int64_t[], torch_tensor*[] or char[] */
  } as;
  union {
    int64_t size; /* of a list or string */
    double imaginary;
  } more;
} torch_value;

TORCH_C_API int torch_c_version(void);
TORCH_C_API int torch_interface(void); /* TORCH_CORE_INTERFACE of the library */
TORCH_C_API int torch_features(void);  /* TORCH_CORE_FEATURES of the library */
TORCH_C_API const char* torch_last_error(void);

TORCH_C_API torch_value torch_value_none(void);
TORCH_C_API torch_value torch_value_tensor(torch_tensor* tensor);
TORCH_C_API torch_value torch_value_tensors(torch_tensor* const* tensors, int64_t count);
TORCH_C_API torch_value torch_value_bool(int truth);
TORCH_C_API torch_value torch_value_int(int64_t value);
TORCH_C_API torch_value torch_value_double(double value);
TORCH_C_API torch_value torch_value_ints(const int64_t* values, int64_t count);
TORCH_C_API torch_value torch_value_string(const char* text);
TORCH_C_API torch_value torch_value_dtype(torch_dtype dtype);

/* Runs an operator by its name, or by its name and overload number as in "max#1". Arguments are in the order of its
 * schema; missing ones at the end take their defaults. Writes at most `capacity` results. */
TORCH_C_API torch_status torch_call(const char* op, const torch_value* arguments, int count, torch_value* results,
                                    int capacity);
/* The schema of an operator, or NULL. */
TORCH_C_API const char* torch_schema(const char* op);

TORCH_C_API torch_status torch_empty(int ndim, const int64_t* sizes, torch_dtype dtype, torch_tensor** out);
TORCH_C_API torch_status torch_ones(int ndim, const int64_t* sizes, torch_dtype dtype, torch_tensor** out);
/* Over memory of the caller; `deleter(context)` runs once, when the last tensor over it is gone. It may be NULL. */
TORCH_C_API torch_status torch_from_memory(void* data, int ndim, const int64_t* sizes, const int64_t* strides,
                                           torch_dtype dtype, void (*deleter)(void* context), void* context,
                                           torch_tensor** out);
TORCH_C_API void torch_retain(torch_tensor* tensor);
TORCH_C_API void torch_release(torch_tensor* tensor); /* NULL is fine */
TORCH_C_API void torch_free_list(torch_value* list);  /* releases the tensors as well */

TORCH_C_API int torch_ndim(const torch_tensor* tensor);
TORCH_C_API const int64_t* torch_sizes(const torch_tensor* tensor);
TORCH_C_API const int64_t* torch_strides(const torch_tensor* tensor); /* in elements */
TORCH_C_API int64_t torch_numel(const torch_tensor* tensor);
TORCH_C_API torch_dtype torch_get_dtype(const torch_tensor* tensor);
TORCH_C_API void* torch_data(const torch_tensor* tensor); /* the first element; NULL on the Meta device */

/* Out: the result keeps the tensor alive until its deleter runs. In: takes `managed` over on success. */
TORCH_C_API torch_status torch_to_dlpack(torch_tensor* tensor, DLManagedTensor** out);
TORCH_C_API torch_status torch_from_dlpack(DLManagedTensor* managed, torch_tensor** out);

/* For functions of others that fail: makes `text` the last error of this thread and returns `status`. */
TORCH_C_API torch_status torch_fail(torch_status status, const char* text);

#ifdef __cplusplus
}
#endif
#endif
