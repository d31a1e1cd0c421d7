#include "torch/program/type.h"

#include <algorithm>
#include <array>

#include "torch/program/klass.h"

namespace torch::program {

namespace {

struct KindWords {
  TypeKind kind;
  const char *text, *name;
};
constexpr KindWords kWords[] = {{TypeKind::Any, "Any", "AnyType"},
                                {TypeKind::Tensor, "Tensor", "TensorType"},
                                {TypeKind::Number, "number", "NumberType"},
                                {TypeKind::Int, "int", "IntType"},
                                {TypeKind::Float, "float", "FloatType"},
                                {TypeKind::Complex, "complex", "ComplexType"},
                                {TypeKind::Bool, "bool", "BoolType"},
                                {TypeKind::String, "str", "StringType"},
                                {TypeKind::None, "NoneType", "NoneType"},
                                {TypeKind::Device, "Device", "DeviceObjType"},
                                {TypeKind::Generator, "Generator", "GeneratorType"},
                                {TypeKind::Python, "PyObject", "PyObjectType"},
                                {TypeKind::List, "List", "ListType"},
                                {TypeKind::Optional, "Optional", "OptionalType"},
                                {TypeKind::Tuple, "Tuple", "TupleType"},
                                {TypeKind::Dict, "Dict", "DictType"},
                                {TypeKind::Union, "Union", "UnionType"},
                                {TypeKind::Future, "Future", "FutureType"},
                                {TypeKind::Class, "class", "ClassType"},
                                {TypeKind::Interface, "interface", "InterfaceType"},
                                {TypeKind::Enum, "enum", "EnumType"},
                                {TypeKind::Function, "Function", "FunctionType"},
                                {TypeKind::Variable, "t", "VarType"}};

std::string join(const std::vector<TypePtr>& types, std::string (Type::*form)() const) {
  std::string out;
  for (const TypePtr& t : types) out += (out.empty() ? "" : ", ") + (t.get()->*form)();
  return out;
}

std::string show_dims(const std::vector<int64_t>& v) {
  std::string out;
  for (int64_t i : v) out += (out.empty() ? "" : ", ") + (i < 0 ? std::string("*") : std::to_string(i));
  return out;
}

std::string show(const TensorInfo& info) {
  std::string out = info.dtype ? legacy_name(*info.dtype) : "Tensor", parts;
  auto part = [&](const std::string& p) { parts += (parts.empty() ? "" : ", ") + p; };
  if (info.sizes && !info.sizes->empty()) part(show_dims(*info.sizes));
  if (info.strides && !info.strides->empty()) part("strides=[" + show_dims(*info.strides) + "]");
  if (info.requires_grad) part(std::string("requires_grad=") + (*info.requires_grad ? "1" : "0"));
  if (info.device) part("device=" + to_string(*info.device));
  if (!info.sizes) return info.dtype || !parts.empty() ? out + "(" + (parts.empty() ? "*" : "*, " + parts) + ")" : out;
  return out + "(" + parts + ")";
}

}  // namespace

bool Type::has_variable() const noexcept {
  if (kind_ == TypeKind::Variable) return true;
  return std::any_of(contained_.begin(), contained_.end(), [](const TypePtr& t) { return t->has_variable(); });
}

const char* Type::kind_name() const noexcept { return kWords[int(kind_)].name; }

std::string Type::str() const {
  switch (kind_) {
    case TypeKind::Tensor:
      return info_ ? show(*info_) : "Tensor";
    case TypeKind::List:
      return element()->str() + "[]";
    case TypeKind::Optional:
      return element()->str() + "?";
    case TypeKind::Tuple:
      if (!name_.empty()) {
        std::string out;
        for (size_t i = 0; i < contained_.size(); ++i)
          out += (i ? ", " : "") + fields_[i] + " : " + contained_[i]->str();
        return "NamedTuple(" + out + ")";
      }
      return "(" + join(contained_, &Type::str) + ")";
    case TypeKind::Dict:
    case TypeKind::Union:
      return std::string(kWords[int(kind_)].text) + "(" + join(contained_, &Type::str) + ")";
    case TypeKind::Future:
      return std::string(kWords[int(kind_)].text) + "[" + join(contained_, &Type::str) + "]";
    case TypeKind::Enum:
      return "Enum<" + name_ + ">";
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Variable:
      return name_;
    default:
      return is_named_host() ? name_ : kWords[int(kind_)].text;
  }
}

std::string Type::annotation() const {
  switch (kind_) {
    case TypeKind::Tensor:
      return "Tensor";
    case TypeKind::Tuple:
      if (!name_.empty()) return name_;
      if (contained_.empty()) return "Tuple[()]";
      [[fallthrough]];
    case TypeKind::List:
    case TypeKind::Optional:
    case TypeKind::Dict:
    case TypeKind::Union:
    case TypeKind::Future:
      return std::string(kWords[int(kind_)].text) + "[" + join(contained_, &Type::annotation) + "]";
    case TypeKind::Class:
    case TypeKind::Interface:
    case TypeKind::Enum:
    case TypeKind::Variable:
      return name_;
    default:
      return is_named_host() ? name_ : kWords[int(kind_)].text;
  }
}

bool equal(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind() != b.kind() || a.contained().size() != b.contained().size()) return false;
  if (a.is(TypeKind::Class) || a.is(TypeKind::Enum) || a.is(TypeKind::Function)) return a.name() == b.name();
  if (a.name() != b.name()) return false;
  if (a.is(TypeKind::Tensor)) {
    const TensorInfo *x = a.tensor_info(), *y = b.tensor_info();
    return x && y ? *x == *y : x == y;
  }
  if (a.is(TypeKind::Union)) {
    auto among = [](const TypePtr& t, const Type& u) {
      return std::any_of(u.contained().begin(), u.contained().end(), [&](const TypePtr& m) { return equal(*m, *t); });
    };
    return std::all_of(a.contained().begin(), a.contained().end(), [&](const TypePtr& t) { return among(t, b); });
  }
  for (size_t i = 0; i < a.contained().size(); ++i)
    if (!equal(*a.contained()[i], *b.contained()[i])) return false;
  return true;
}

bool is_subtype(const Type& a, const Type& b) {
  if (b.is(TypeKind::Any) || &a == &b) return true;
  if (a.is(TypeKind::Union))
    return std::all_of(a.contained().begin(), a.contained().end(), [&](const TypePtr& t) { return is_subtype(*t, b); });
  if (a.is(TypeKind::Optional)) return is_subtype(*none_type(), b) && is_subtype(*a.element(), b);
  switch (b.kind()) {
    case TypeKind::Tensor:
      return a.is(TypeKind::Tensor) && (!b.tensor_info() || equal(a, b));
    case TypeKind::Number:
      return a.is(TypeKind::Int) || a.is(TypeKind::Float) || a.is(TypeKind::Complex) || a.is(TypeKind::Bool) ||
             a.is(TypeKind::Number);
    case TypeKind::Optional:
      return a.is(TypeKind::None) || is_subtype(a, *b.element());
    case TypeKind::Union:
      return std::any_of(b.contained().begin(), b.contained().end(),
                         [&](const TypePtr& t) { return is_subtype(a, *t); });
    case TypeKind::Tuple:
      if (!a.is(TypeKind::Tuple) || a.contained().size() != b.contained().size()) return false;
      if (!b.name().empty() && a.name() != b.name()) return false;
      for (size_t i = 0; i < a.contained().size(); ++i)
        if (!is_subtype(*a.contained()[i], *b.contained()[i])) return false;
      return true;
    case TypeKind::List:  // what is known of its tensors does not matter
      return a.is(TypeKind::List) && equal(*unshaped(a.element()), *unshaped(b.element()));
    case TypeKind::Future:
      return a.is(TypeKind::Future) && is_subtype(*a.element(), *b.element());
    case TypeKind::Interface:
      return a.is(TypeKind::Class) ? static_cast<const ClassType&>(a).has_interface(b.name()) : equal(a, b);
    default:
      return equal(a, b);
  }
}

TypePtr unify(const TypePtr& a, const TypePtr& b) {
  if (equal(*a, *b)) return a;
  if (a->is(TypeKind::Tensor) && b->is(TypeKind::Tensor)) return tensor_type();
  if (is_subtype(*a, *b)) return b;
  if (is_subtype(*b, *a)) return a;
  if (a->is(TypeKind::None)) return optional_type(b);
  if (b->is(TypeKind::None)) return optional_type(a);
  if (a->is(TypeKind::Optional) || b->is(TypeKind::Optional)) {
    TypePtr x = a->is(TypeKind::Optional) ? a->element() : a, y = b->is(TypeKind::Optional) ? b->element() : b;
    TypePtr both = unify(x, y);
    return both ? optional_type(both) : nullptr;
  }
  if (a->kind() != b->kind() || a->contained().size() != b->contained().size()) return nullptr;
  if (a->is(TypeKind::Tuple) && a->name() == b->name()) {
    std::vector<TypePtr> both;
    for (size_t i = 0; i < a->contained().size(); ++i) {
      both.push_back(unify(a->contained()[i], b->contained()[i]));
      if (!both.back()) return nullptr;
    }
    return a->name().empty() ? tuple_type(both) : named_tuple_type(a->name(), a->fields(), both);
  }
  if (a->is(TypeKind::List) && a->element()->is(TypeKind::Tensor) && b->element()->is(TypeKind::Tensor))
    return list_type(tensor_type());
  return nullptr;
}

const TypePtr& simple_type(TypeKind kind) {
  static const auto& all = *[] {
    auto* types = new std::array<TypePtr, std::size(kWords)>;
    for (const KindWords& w : kWords) (*types)[size_t(w.kind)] = std::make_shared<const Type>(w.kind);
    return types;
  }();
  return all[size_t(kind)];
}

TypePtr tensor_type(TensorInfo info) {
  auto t = std::make_shared<Type>(TypeKind::Tensor);
  t->info_ = std::move(info);
  return t;
}
TypePtr type_of(const torch::Tensor& t) {
  if (!t) return tensor_type();
  TensorInfo info;
  info.dtype = t.dtype();
  info.device = t.device();
  info.requires_grad = t.requires_grad();
  info.sizes = t.sizes().vec();
  if (t.has_memory()) info.strides = t.strides().vec();
  return tensor_type(std::move(info));
}
TypePtr list_type(TypePtr element) {
  return std::make_shared<const Type>(TypeKind::List, std::vector{std::move(element)});
}
TypePtr optional_type(TypePtr element) {
  if (element->is(TypeKind::Optional) || element->is(TypeKind::None) || element->is(TypeKind::Any)) return element;
  return std::make_shared<const Type>(TypeKind::Optional, std::vector{std::move(element)});
}
TypePtr tuple_type(std::vector<TypePtr> elements) {
  return std::make_shared<const Type>(TypeKind::Tuple, std::move(elements));
}
TypePtr named_tuple_type(std::string name, std::vector<std::string> fields, std::vector<TypePtr> elements) {
  TORCH_CHECK_VALUE(fields.size() == elements.size(), "a named tuple has as many field names as types, got ",
                    fields.size(), " and ", elements.size());
  auto t = std::make_shared<Type>(TypeKind::Tuple, std::move(elements), std::move(name));
  t->fields_ = std::move(fields);
  return t;
}
TypePtr dict_type(TypePtr key, TypePtr value) {
  return std::make_shared<const Type>(TypeKind::Dict, std::vector{std::move(key), std::move(value)});
}
// The place of a type in a Union: PyTorch's order of kinds.
static int rank(const Type& t) {
  static constexpr TypeKind order[] = {TypeKind::Any,      TypeKind::Enum,      TypeKind::Tensor,   TypeKind::Tuple,
                                       TypeKind::List,     TypeKind::Dict,      TypeKind::Number,   TypeKind::Float,
                                       TypeKind::Complex,  TypeKind::Future,    TypeKind::Int,      TypeKind::None,
                                       TypeKind::String,   TypeKind::Generator, TypeKind::Bool,     TypeKind::Device,
                                       TypeKind::Function, TypeKind::Class,     TypeKind::Interface};
  return int(std::find(std::begin(order), std::end(order), t.kind()) - std::begin(order));
}

TypePtr union_type(std::vector<TypePtr> members) {
  std::vector<TypePtr> flat;
  auto add = [&](auto& self, const TypePtr& t) -> void {
    if (t->is(TypeKind::Union)) {
      for (const TypePtr& m : t->contained()) self(self, m);
    } else if (t->is(TypeKind::Optional)) {
      self(self, t->element());
      self(self, none_type());
    } else if (std::none_of(flat.begin(), flat.end(), [&](const TypePtr& f) { return equal(*f, *t); })) {
      flat.push_back(t);
    }
  };
  for (const TypePtr& t : members) add(add, t);
  // One that another one takes in says nothing more; the order says nothing either, and is always the same.
  for (size_t i = flat.size(); i--;)
    if (std::any_of(flat.begin(), flat.end(), [&](const TypePtr& t) {
          return t != flat[i] && is_subtype(*flat[i], *t) && !is_subtype(*t, *flat[i]);
        }))
      flat.erase(flat.begin() + ptrdiff_t(i));
  std::stable_sort(flat.begin(), flat.end(), [](const TypePtr& a, const TypePtr& b) { return rank(*a) < rank(*b); });
  if (flat.size() == 1) return flat[0];
  if (flat.size() == 2 && (flat[0]->is(TypeKind::None) || flat[1]->is(TypeKind::None)))
    return optional_type(flat[flat[0]->is(TypeKind::None)]);
  return std::make_shared<const Type>(TypeKind::Union, std::move(flat));
}
TypePtr future_type(TypePtr element) {
  return std::make_shared<const Type>(TypeKind::Future, std::vector{std::move(element)});
}
TypePtr function_type(std::string name) {
  return std::make_shared<const Type>(TypeKind::Function, std::vector<TypePtr>{}, std::move(name));
}
TypePtr interface_type(std::string qualified_name) {
  return std::make_shared<const Type>(TypeKind::Interface, std::vector<TypePtr>{}, std::move(qualified_name));
}
TypePtr variable_type(std::string name) {
  return std::make_shared<const Type>(TypeKind::Variable, std::vector<TypePtr>{}, std::move(name));
}

TypePtr unshaped(const TypePtr& t) {
  if (t->is(TypeKind::Tensor)) return tensor_type();
  if (t->contained().empty() || t->is(TypeKind::Enum)) return t;
  std::vector<TypePtr> inner;
  for (const TypePtr& c : t->contained()) inner.push_back(unshaped(c));
  if (t->is(TypeKind::Tuple) && !t->name().empty()) return named_tuple_type(t->name(), t->fields(), std::move(inner));
  return std::make_shared<const Type>(t->kind(), std::move(inner), t->name());
}

namespace {
// In the order of DType.
constexpr int64_t kNumbers[] = {11, 0, 1, 2, 3, 4, 27, 28, 29, 5, 15, 6, 7, 9, 10, 8, 24, 23, 26, 25, 44};
static_assert(std::size(kNumbers) == kAllDTypes);
constexpr int64_t kLayouts[] = {0, 1, 2, 4, 5, 6};
}  // namespace

int64_t number_of(DType t) noexcept { return kNumbers[int(t)]; }
DType dtype_of_number(int64_t number) {
  auto at = std::find(std::begin(kNumbers), std::end(kNumbers), number);
  TORCH_CHECK(at != std::end(kNumbers), "dtype: there are no tensors of the type with number ", number);
  return DType(at - std::begin(kNumbers));
}
int64_t number_of(Layout l) noexcept { return kLayouts[int(l)]; }
Layout layout_of_number(int64_t number) {
  auto at = std::find(std::begin(kLayouts), std::end(kLayouts), number);
  TORCH_CHECK(at != std::end(kLayouts), "layout: there is none with number ", number);
  return Layout(at - std::begin(kLayouts));
}

}  // namespace torch::program
