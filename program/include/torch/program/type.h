// The types of values in a program: those of TorchScript.
//
//   Tensor   int   float   bool   complex   number   str   NoneType   Device   Any
//   int[]   Tensor?   (int, Tensor)   Dict(str, int)   Union(int, str)   Future(Tensor)   __torch__.Net
//
// str() writes the form above, as graphs are printed; annotation() writes Python's: List[int], Optional[Tensor].
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "torch/core/tensor.h"
#include "torch/program/macros.h"

namespace torch::program {

enum class TypeKind : uint8_t {
  Any,
  Tensor,
  Number,
  Int,
  Float,
  Complex,
  Bool,
  String,
  None,
  Device,
  Generator,
  Python,  // an object of the host language
  List,
  Optional,
  Tuple,
  Dict,
  Union,
  Future,
  Class,
  Interface,  // methods that classes have: what is of it is an object of a class that says so
  Enum,
  Function,
  Variable,  // t in a schema
};

class Type;
class ClassType;
using TypePtr = std::shared_ptr<const Type>;
using ClassPtr = std::shared_ptr<ClassType>;

// What a traced graph knows of a tensor.
struct TensorInfo {
  std::optional<DType> dtype;
  std::optional<Device> device;
  std::optional<std::vector<int64_t>> sizes, strides;  // -1: not known
  std::optional<bool> requires_grad;
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

class TORCH_PROGRAM_API Type : public std::enable_shared_from_this<Type> {
 public:
  Type(TypeKind kind, std::vector<TypePtr> contained = {}, std::string name = {})
      : kind_(kind), contained_(std::move(contained)), name_(std::move(name)) {}
  virtual ~Type() = default;

  TypeKind kind() const noexcept { return kind_; }
  bool is(TypeKind k) const noexcept { return kind_ == k; }
  const std::vector<TypePtr>& contained() const noexcept { return contained_; }
  const TypePtr& element() const noexcept { return contained_[0]; }  // of a list, an optional, a future
  const std::string& name() const noexcept { return name_; }         // qualified: of a class, named tuple, enum; `t`
  const std::vector<std::string>& fields() const noexcept { return fields_; }  // of a named tuple
  const TensorInfo* tensor_info() const noexcept { return info_ ? &*info_ : nullptr; }
  bool has_variable() const noexcept;
  // Of the host's objects those of one class, which archives know by this name.
  bool is_named_host() const noexcept { return kind_ == TypeKind::Python && !name_.empty(); }

  std::string str() const;
  std::string annotation() const;
  const char* kind_name() const noexcept;  // "ListType"

 private:
  friend TORCH_PROGRAM_API TypePtr named_tuple_type(std::string, std::vector<std::string>, std::vector<TypePtr>);
  friend TORCH_PROGRAM_API TypePtr tensor_type(TensorInfo);
  TypeKind kind_;
  std::vector<TypePtr> contained_;
  std::string name_;
  std::vector<std::string> fields_;
  std::optional<TensorInfo> info_;
};

TORCH_PROGRAM_API bool equal(const Type& a, const Type& b);
// Whether every value of `a` is one of `b`.
TORCH_PROGRAM_API bool is_subtype(const Type& a, const Type& b);
// The smallest type that both are: Optional for None and T; null when there is none but Any.
TORCH_PROGRAM_API TypePtr unify(const TypePtr& a, const TypePtr& b);

// The types without parameters, one object each.
TORCH_PROGRAM_API const TypePtr& simple_type(TypeKind kind);
inline const TypePtr& any_type() { return simple_type(TypeKind::Any); }
inline const TypePtr& tensor_type() { return simple_type(TypeKind::Tensor); }
inline const TypePtr& number_type() { return simple_type(TypeKind::Number); }
inline const TypePtr& int_type() { return simple_type(TypeKind::Int); }
inline const TypePtr& float_type() { return simple_type(TypeKind::Float); }
inline const TypePtr& complex_type() { return simple_type(TypeKind::Complex); }
inline const TypePtr& bool_type() { return simple_type(TypeKind::Bool); }
inline const TypePtr& string_type() { return simple_type(TypeKind::String); }
inline const TypePtr& none_type() { return simple_type(TypeKind::None); }
inline const TypePtr& device_type() { return simple_type(TypeKind::Device); }

TORCH_PROGRAM_API TypePtr tensor_type(TensorInfo info);
TORCH_PROGRAM_API TypePtr type_of(const torch::Tensor& t);  // with everything known
TORCH_PROGRAM_API TypePtr list_type(TypePtr element);
TORCH_PROGRAM_API TypePtr optional_type(TypePtr element);  // an optional of an optional is itself
TORCH_PROGRAM_API TypePtr tuple_type(std::vector<TypePtr> elements);
TORCH_PROGRAM_API TypePtr named_tuple_type(std::string name, std::vector<std::string> fields,
                                           std::vector<TypePtr> elements);
TORCH_PROGRAM_API TypePtr dict_type(TypePtr key, TypePtr value);
TORCH_PROGRAM_API TypePtr union_type(std::vector<TypePtr> members);
TORCH_PROGRAM_API TypePtr future_type(TypePtr element);
TORCH_PROGRAM_API TypePtr function_type(std::string name);
TORCH_PROGRAM_API TypePtr interface_type(std::string qualified_name);
TORCH_PROGRAM_API TypePtr variable_type(std::string name);
// The type without what is known of particular tensors.
TORCH_PROGRAM_API TypePtr unshaped(const TypePtr& t);

// Numbers of dtypes in programs are PyTorch's: uint8 0, int8 1, ... float32 6.
TORCH_PROGRAM_API int64_t number_of(DType t) noexcept;
TORCH_PROGRAM_API DType dtype_of_number(int64_t number);  // ErrorKind::Runtime when there is no such dtype
TORCH_PROGRAM_API int64_t number_of(Layout l) noexcept;
TORCH_PROGRAM_API Layout layout_of_number(int64_t number);

}  // namespace torch::program
