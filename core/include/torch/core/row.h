// A row: everything that is known of an operator without its code. The table of all rows is what bindings, tapes and
// tests go through.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "torch/core/schema.h"
#include "torch/core/tensor.h"

namespace torch {

class Generator;

enum class DTypes : uint8_t {
  All,
  Numeric,
  Floating,
  FloatingOrComplex,
  Real,
  Integral,
  IntegralOrBool,
  BoolOnly,
  RealNumeric,  // Real without bool
};

// What autocast does with floating-point arguments of an operator (autocast.h).
enum class Cast : uint8_t {
  None,    // nothing
  Low,     // bfloat16 or float16, as the user has chosen
  Full,    // float32
  Widest,  // the widest dtype among them
};

// What becomes of a call with tensors of a dtype that only stores numbers, or that asks for one (src/stored).
enum class Stored : uint8_t {
  Refused,  // but for views, which do not look at elements
  Below,    // its kernel does not look at elements, or converts them
  Move,     // on integers of the same size
  Make,     // with the wide dtype, converted at the end
  Draw,     // the same, of complex32 only
  Bits,     // with integers of the same size: zeros, or nothing
  Fill,
  Wide,     // converted, computed, converted back
  Complex,  // the same, of complex32 only
};

// Whether f(0) is 0, whatever other arguments that are numbers say: a sparse tensor then keeps its places.
enum class Zero : uint8_t { Changes, Stays, ByNumbers };

// How the tangent of a dual number goes through an operator (forward mode).
enum class Tangent : uint8_t {
  Plain,       // a view's is the same view of it, an element-wise operator's its slope times it, else by the derivative
  Linear,      // in the first argument, the only tensor: the result of the tangent
  Product,     // linear in each of two tensors
  Reduction,   // an element of the result is made of one line of the first argument
  Derivative,  // by transposing the derivative, whatever else the row says
};

// What an operator does with memory, where that is more than its schema says. Layers that keep something else in the
// place of memory (vmap, dual numbers, functionalize) ask for it.
enum class Memory : uint8_t {
  Plain,        // makes new memory, or shares or writes what the schema marks
  Fresh,        // makes new memory like self's: looks at shape, dtype and device only
  Detached,     // shares self's; gradients do not flow through
  Rearranged,   // in place: self becomes another view of the same elements
  Exchanged,    // in place: self gets other memory, or lies otherwise in its own
  Overwritten,  // in place: self becomes the argument, a number or a tensor, or zeros without one
  Counted,      // a place is counted from the start of self's storage
  Statistics,   // writes running_mean and running_var in training
};

// What a row says beside its schema.

struct Attr {
  bool is_function = true, is_method = false;  // torch.name, Tensor.name
  bool is_composite = false;  // written in public operators: needs no kernel and no derivative of its own
  bool is_view = false;       // the result shares memory
  bool is_random = false;
  bool is_pointwise = false;
  bool is_hidden = false;     // for other operators (backward kernels): torch._C only
  bool is_exact_out = false;  // out= has the result's dtype; else it may be one that the result can be cast to
  bool is_any_out = false;    // out= has any dtype: the results are zeros and ones, which all hold
  bool is_apart = false;      // out= has no memory in common with an input
  // Its loop may write to the memory of out= itself: it asks for its result's memory only when nothing can go wrong any
  // more, since what is refused later would leave a destination that was written to.
  bool is_direct_out = false;
  bool fills_any_shape = false;    // out= of as many elements in another shape is filled in order
  bool mixes_devices = false;      // looks at each tensor's device itself, or at nothing but shapes and dtypes
  bool is_of_numbers = false;      // two numbers of Python are enough: no argument need be a tensor
  DTypes dtypes = DTypes::All;     // the inputs that it accepts
  bool promotes_to_float = false;  // integers give the default dtype
  Cast cast = Cast::None, cast_on_cuda = Cast::None;  // on the CPU and other devices, and on CUDA
  Stored when_stored = Stored::Refused;
  Zero zero = Zero::Changes;
  bool is_zero_of_zeros = false;   // f(0, 0) is 0: of two sparse tensors at the places that one of them has
  bool is_of_coordinates = false;  // of sparse tensors, those in coordinates only
  bool makes_any_layout = false;   // a factory whose result may be sparse: zeros, or nothing
  Tangent tangent = Tangent::Plain;
  Memory memory = Memory::Plain;
  double low = -10, high = 10;   // domain that tests sample from
  const char* python = nullptr;  // module in which the name stands when it is not torch: "nn.functional", "linalg", ...
  const char* known_as = nullptr;  // in errors, where users do not know the name
  const char* skip = nullptr;      // generated tests are skipped, and why

  template <class T>
  constexpr Attr with(T Attr::* field, T value) const {
    Attr changed = *this;
    changed.*field = value;
    return changed;
  }

  // Attributes of a row: Attr().method().accepts(DTypes::Real)
  constexpr Attr method() const { return with(&Attr::is_method, true); }
  constexpr Attr method_only() const { return method().with(&Attr::is_function, false); }
  constexpr Attr hidden() const { return with(&Attr::is_hidden, true).with(&Attr::is_function, false); }
  constexpr Attr composite() const { return with(&Attr::is_composite, true); }
  constexpr Attr view() const { return with(&Attr::is_view, true); }
  constexpr Attr random() const { return with(&Attr::is_random, true); }
  constexpr Attr pointwise() const { return with(&Attr::is_pointwise, true); }
  constexpr Attr exact_out() const { return with(&Attr::is_exact_out, true); }
  constexpr Attr any_out() const { return with(&Attr::is_any_out, true); }
  constexpr Attr apart() const { return with(&Attr::is_apart, true); }
  constexpr Attr direct_out() const { return with(&Attr::is_direct_out, true); }
  constexpr Attr filling_any_shape() const { return with(&Attr::fills_any_shape, true); }
  constexpr Attr mixing_devices() const { return with(&Attr::mixes_devices, true); }
  constexpr Attr of_numbers() const { return with(&Attr::is_of_numbers, true); }
  constexpr Attr in(const char* module) const { return with(&Attr::python, module); }
  constexpr Attr called(const char* name) const { return with(&Attr::known_as, name); }
  constexpr Attr accepts(DTypes d) const { return with(&Attr::dtypes, d); }
  constexpr Attr floats() const { return with(&Attr::promotes_to_float, true); }
  constexpr Attr casts(Cast c) const { return with(&Attr::cast, c).casts_on_cuda(c); }
  constexpr Attr casts_on_cuda(Cast c) const { return with(&Attr::cast_on_cuda, c); }
  constexpr Attr stored(Stored s) const { return with(&Attr::when_stored, s); }
  constexpr Attr keeps_zero(Zero z = Zero::Stays) const { return with(&Attr::zero, z); }
  constexpr Attr keeps_zero_pairs() const { return with(&Attr::is_zero_of_zeros, true); }
  constexpr Attr of_coordinates() const { return with(&Attr::is_of_coordinates, true); }
  constexpr Attr any_layout() const { return with(&Attr::makes_any_layout, true); }
  constexpr Attr pushes(Tangent t) const { return with(&Attr::tangent, t); }
  constexpr Attr memory_is(Memory m) const { return with(&Attr::memory, m); }
  constexpr Attr domain(double lo, double hi) const { return with(&Attr::low, lo).with(&Attr::high, hi); }
  constexpr Attr skip_tests(const char* why) const { return with(&Attr::skip, why); }
};

// One argument without a static type. Tensors and lists are borrowed from the caller. A default-constructed Value is
// None.
struct Value {
  union {
    TensorImpl* tensor;
    int64_t i;
    double d;
    const void* data;  // IntList, TensorList, Str: first element
    Generator* generator;
  };
  union {
    int64_t size;
    double imag;
  };
  bool present = false;
  Scalar::Kind scalar_kind{};
  constexpr Value() : tensor(nullptr), size(0) {}
};

// What a call gave back.
struct Result {
  Tensor tensors[kMaxResults];
  std::vector<Tensor> list;
  std::vector<int64_t> ints;
  Value value;  // Int, Bool, Float, Scalar, DType, ...
};

struct Row {
  Schema schema;
  Attr attr;
  const char* doc;
  void (*run)(const Row& row, const Value* arguments, Result& result, Keys under);
  void* const* functions;  // kEntries: one for each dispatch key, null where there is none, then the two below

  // Runs the operator. `under` limits the call to some keys: a layer goes on with keys_below() its own.
  void invoke(const Value* arguments, Result& result, Keys under = kAllKeys) const {
    run(*this, arguments, result, under);
  }
  // The same, written to tensors that the caller has, one for each result (out.h). An out of another size is resized.
  TORCH_API void invoke_into(const Value* arguments, ArrayRef<Tensor> outs) const;
};
constexpr int kOutlet = kDispatchKeys;  // the way to the layer of a key without a function, and to the error (outlet.h)
constexpr int kOwnRow = kDispatchKeys + 1;  // the row itself
constexpr int kEntries = kDispatchKeys + 2;

TORCH_API ArrayRef<const Row*> all_rows() noexcept;

// Another name of an operator (ops/aliases.def); `module` is "" for torch itself.
struct Alias {
  const char *module, *name, *op;
};
TORCH_API ArrayRef<Alias> all_aliases() noexcept;
// "linalg.svd": how errors name the operator.
TORCH_API std::string known_name(const Row& row);
[[noreturn]] TORCH_API void missing_kernel(const Row& row, DispatchKey at);
[[noreturn]] TORCH_API void undefined_argument(std::string_view op, std::string_view argument);
[[noreturn]] TORCH_API void undefined_element(std::string_view op, std::string_view argument, size_t index);

}  // namespace torch
