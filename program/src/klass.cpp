#include "torch/program/klass.h"

#include <algorithm>

#include "torch/program/function.h"

namespace torch::program {

int ClassType::add_attribute(std::string name, TypePtr type, bool is_parameter, bool is_buffer) {
  TORCH_CHECK(find_attribute(name) < 0, "class ", this->name(), " has an attribute '", name, "' already");
  attributes_.push_back({std::move(name), std::move(type), is_parameter, is_buffer});
  return int(attributes_.size()) - 1;
}
int ClassType::find_attribute(std::string_view name) const noexcept {
  for (size_t i = 0; i < attributes_.size(); ++i)
    if (attributes_[i].name == name) return int(i);
  return -1;
}
void ClassType::remove_attribute(std::string_view name) {
  std::erase_if(attributes_, [&](const ClassAttribute& a) { return a.name == name; });
}

void ClassType::add_method(FunctionPtr f) {
  for (FunctionPtr& m : methods_)
    if (m->name() == f->name()) {
      m = std::move(f);
      return;
    }
  methods_.push_back(std::move(f));
}
FunctionPtr ClassType::find_method(std::string_view name) const noexcept {
  for (const FunctionPtr& m : methods_)
    if (m->name() == name) return m;
  return nullptr;
}
void ClassType::add_interface(std::string name) {
  if (!has_interface(name)) interfaces_.push_back(std::move(name));
}
bool ClassType::has_interface(std::string_view name) const noexcept {
  return std::find(interfaces_.begin(), interfaces_.end(), name) != interfaces_.end();
}
void ClassType::remove_method(std::string_view name) {
  std::erase_if(methods_, [&](const FunctionPtr& m) { return m->name() == name; });
}

Cell EnumType::member(std::string_view name) const {
  for (const auto& [each, value] : members_)
    if (each == name) {
      auto* h = new EnumHeap;
      h->type = shared_from_this();
      h->name = each;
      h->value = value;
      return Cell::take(Cell::Tag::Enum, h);
    }
  throw_error(ErrorKind::Value, message("enum ", this->name(), " has no member '", name, "'"));
}

Cell make_object(ClassPtr type) {
  auto* h = new ObjectHeap;
  h->slots.resize(type->attributes().size());
  h->type = std::move(type);
  return Cell::take(Cell::Tag::Object, h);
}

}  // namespace torch::program
