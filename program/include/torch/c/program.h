/* The stable C interface of programs: what torch.jit.save writes is loaded and run, without Python. C99; nothing here
 * changes its meaning within one major version of TORCH_PROGRAM_C_VERSION, new functions are added at the end.
 *
 *   torch_program* net;
 *   torch_tensor *x, *y;
 *   int64_t sizes[2] = {1, 4};
 *   if (torch_program_load("net.pt", &net) != TORCH_OK) puts(torch_last_error());
 *   torch_ones(2, sizes, TORCH_FLOAT32, &x);
 *   if (torch_program_run_tensors(net, "forward", &x, 1, &y, 1, NULL) != TORCH_OK) puts(torch_last_error());
 *
 * As in torch/c/torch.h: a function that can fail returns a status, and torch_last_error() tells the last failure of
 * this thread. What a function gives back through a pointer belongs to the caller, what it takes stays the caller's.
 * A program may run in several threads at once, where its methods change none of its attributes. */
#ifndef TORCH_C_PROGRAM_H
#define TORCH_C_PROGRAM_H
#include "torch/c/torch.h"

#define TORCH_PROGRAM_C_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torch_program torch_program; /* a loaded program */
typedef struct torch_cell torch_cell;       /* a value of a program: a number, a tensor, a tuple of values, ... */

/* In the order of the library's own enumeration; it checks so when it is compiled. */
typedef enum {
  TORCH_CELL_NONE,
  TORCH_CELL_BOOL,
  TORCH_CELL_INT,
  TORCH_CELL_FLOAT,
  TORCH_CELL_DEVICE,
  TORCH_CELL_TENSOR,
  TORCH_CELL_COMPLEX,
  TORCH_CELL_STRING,
  TORCH_CELL_LIST,
  TORCH_CELL_TUPLE,
  TORCH_CELL_DICT,
  TORCH_CELL_OBJECT,
  TORCH_CELL_ENUM,
  TORCH_CELL_FUTURE,
  TORCH_CELL_HOST
} torch_cell_kind;

TORCH_C_API int torch_program_c_version(void);

/* --- programs --- */

TORCH_C_API torch_status torch_program_load(const char* path, torch_program** out);
/* From memory, which is copied; `name` stands in messages. */
TORCH_C_API torch_status torch_program_load_memory(const void* bytes, size_t size, const char* name,
                                                   torch_program** out);
TORCH_C_API void torch_program_release(torch_program* program); /* NULL is fine */

/* Methods by number, in alphabetical order; NULL beyond them. The texts live as long as the program. */
TORCH_C_API const char* torch_program_method(const torch_program* program, int number);
/* "forward(Tensor input, int n=1) -> Tensor", or NULL, when there is no such method. */
TORCH_C_API const char* torch_program_signature(const torch_program* program, const char* method);

/* Runs a method. Trailing arguments that have defaults may be left out. */
TORCH_C_API torch_status torch_program_run(const torch_program* program, const char* method,
                                           torch_cell* const* arguments, int count, torch_cell** out);
/* The same for a method of tensors: those of the result, also within tuples, lists and dictionaries, in their order.
 * Writes at most `capacity` of them, and how many there are to `out_count`, which may be NULL. */
TORCH_C_API torch_status torch_program_run_tensors(const torch_program* program, const char* method,
                                                   torch_tensor* const* arguments, int count, torch_tensor** out,
                                                   int capacity, int* out_count);

/* The threads of all programs of the process. */
TORCH_C_API torch_status torch_set_threads(int threads);
TORCH_C_API int torch_get_threads(void);

/* --- values --- */

/* From what operators take: a number, a tensor, a text, a list of ints or of tensors, none. */
TORCH_C_API torch_status torch_cell_of(const torch_value* value, torch_cell** out);
/* From text, as Python writes it: "[1, 2.5, 'a']". */
TORCH_C_API torch_status torch_cell_parse(const char* text, torch_cell** out);
TORCH_C_API torch_status torch_cell_tuple(torch_cell* const* items, int64_t count, torch_cell** out);
TORCH_C_API torch_status torch_cell_list(torch_cell* const* items, int64_t count, torch_cell** out);
TORCH_C_API torch_status torch_cell_dict(torch_cell* const* keys, torch_cell* const* values, int64_t count,
                                         torch_cell** out);
TORCH_C_API void torch_cell_release(torch_cell* cell); /* NULL is fine */

TORCH_C_API torch_cell_kind torch_cell_get_kind(const torch_cell* cell);
TORCH_C_API torch_status torch_cell_to_tensor(const torch_cell* cell, torch_tensor** out);
TORCH_C_API torch_status torch_cell_to_bool(const torch_cell* cell, int* out);
TORCH_C_API torch_status torch_cell_to_int(const torch_cell* cell, int64_t* out);
TORCH_C_API torch_status torch_cell_to_double(const torch_cell* cell, double* out); /* also of an int */
/* The text lives as long as the cell; it may hold zeros, its size does not count the one behind it. */
TORCH_C_API torch_status torch_cell_to_string(const torch_cell* cell, const char** text, size_t* size);

/* How many items a list, tuple or dictionary has, or bytes a text; -1 of other kinds. */
TORCH_C_API int64_t torch_cell_size(const torch_cell* cell);
/* An item of a list or tuple, a value of a dictionary, in the order of insertion. */
TORCH_C_API torch_status torch_cell_item(const torch_cell* cell, int64_t number, torch_cell** out);
TORCH_C_API torch_status torch_cell_key(const torch_cell* dict, int64_t number, torch_cell** out);
/* The value under a text as key. */
TORCH_C_API torch_status torch_cell_find(const torch_cell* dict, const char* key, torch_cell** out);
/* The value as Python shows it: writes up to `capacity` bytes with a zero at the end; gives how many it has without. */
TORCH_C_API size_t torch_cell_show(const torch_cell* cell, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
