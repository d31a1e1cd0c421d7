// Classes of a program: modules and TorchScript classes. Attributes have numbers, methods names.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "torch/program/cell.h"

namespace torch::program {

class Function;
using FunctionPtr = std::shared_ptr<Function>;

struct ClassAttribute {
  std::string name;
  TypePtr type;
  bool is_parameter = false, is_buffer = false;
};

class TORCH_PROGRAM_API ClassType final : public Type {
 public:
  explicit ClassType(std::string qualified_name, bool is_module = false)
      : Type(TypeKind::Class, {}, std::move(qualified_name)), is_module_(is_module) {}

  bool is_module() const noexcept { return is_module_; }
  const std::vector<ClassAttribute>& attributes() const noexcept { return attributes_; }
  int add_attribute(std::string name, TypePtr type, bool is_parameter = false, bool is_buffer = false);
  int find_attribute(std::string_view name) const noexcept;  // -1
  void set_attribute_type(int at, TypePtr type) { attributes_.at(size_t(at)).type = std::move(type); }
  void remove_attribute(std::string_view name);

  const std::vector<FunctionPtr>& methods() const noexcept { return methods_; }
  void add_method(FunctionPtr f);  // one of the same name is replaced
  FunctionPtr find_method(std::string_view name) const noexcept;
  void remove_method(std::string_view name);

  // The interfaces of which it has all methods, by qualified name; the front end says so.
  void add_interface(std::string name);
  bool has_interface(std::string_view name) const noexcept;

  std::map<std::string, Cell> constants;

 private:
  bool is_module_;
  std::vector<ClassAttribute> attributes_;
  std::vector<FunctionPtr> methods_;
  std::vector<std::string> interfaces_;
};

class TORCH_PROGRAM_API EnumType final : public Type {
 public:
  EnumType(std::string qualified_name, TypePtr value, std::vector<std::pair<std::string, Cell>> members)
      : Type(TypeKind::Enum, {std::move(value)}, std::move(qualified_name)), members_(std::move(members)) {}
  const std::vector<std::pair<std::string, Cell>>& members() const noexcept { return members_; }
  Cell member(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Cell>> members_;
};

// An instance with all attributes None.
TORCH_PROGRAM_API Cell make_object(ClassPtr type);

}  // namespace torch::program
