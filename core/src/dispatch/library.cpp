#include "torch/core/library.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

#include "dispatch/outlet.h"
#include "torch/core/operator.h"
#include "torch/core/profile.h"

namespace torch {

namespace {

struct RunTimeRow {
  std::string text;
  Row row;
  Boxed boxed;
  void* functions[kEntries] = {};  // none: the boxed function is in all of them
};

Keys keys_of(const Row& row, const Value* arguments) {
  Keys keys = 0;
  for (int i = 0; i < row.schema.count; ++i) {
    const Value& v = arguments[i];
    if (row.schema.params[i].kind == Kind::Tensor)
      keys = Keys(keys | detail::keys_in(reinterpret_cast<const Tensor&>(v.tensor)));
    else if (row.schema.params[i].kind == Kind::TensorList && v.present)
      keys = Keys(keys | detail::keys_in(TensorList(static_cast<const Tensor*>(v.data), size_t(v.size))));
    else if (row.schema.params[i].kind == Kind::Device && v.present)
      keys = Keys(keys | backend_key(DeviceType(v.i)));
  }
  return keys;
}

void note_changes(const Row& row, const Value* arguments) {
  for (int i = 0; i < row.schema.count; ++i) {
    if (!row.schema.params[i].written) continue;
    if (row.schema.params[i].kind == Kind::Tensor && arguments[i].tensor)
      mark_changed(reinterpret_cast<const Tensor&>(arguments[i].tensor), row.schema.text);
    if (row.schema.params[i].kind == Kind::TensorList && arguments[i].present)
      for (int64_t k = 0; k < arguments[i].size; ++k)
        mark_changed(static_cast<const Tensor*>(arguments[i].data)[k], row.schema.text);
  }
}

void run(const Row& row, const Value* arguments, Result& result, Keys under) {
  const Boxed& boxed = static_cast<const RunTimeRow*>(row.functions[kOwnRow])->boxed;
  Keys keys = Keys(keys_in_force(keys_of(row, arguments)) & under);
  for (;;) {
    const auto dispatch_key = DispatchKey(31u - unsigned(__builtin_clz(unsigned(keys) | 1u)));
    if (dispatch_key == DispatchKey::Profile) {
      profile::Range range(profile::begin(profile::Scope::Function, row.schema.op_name()));
      return run(row, arguments, result, Keys(under & keys_below(DispatchKey::Profile)));
    }
    if (boxed(row, dispatch_key, arguments, result)) {
      if (dispatch_key < DispatchKey::Autograd) note_changes(row, arguments);
      return;
    }
    if (detail::has_layer(dispatch_key)) return detail::call_layer(row, dispatch_key, arguments, result);
    if (dispatch_key <= DispatchKey::Meta) missing_kernel(row, dispatch_key);
    keys = Keys(keys & keys_below(dispatch_key));
  }
}

// parse_schema() is meant for texts that the compiler reads, and trusts their form.
const char* what_is_wrong(const std::string& text) {
  if (text.size() > 60000) return "it is longer than 60000 characters";
  const size_t open = text.find('('), arrow = text.find(") -> ");
  if (open == 0 || open == text.npos || arrow == text.npos || arrow < open)
    return "it must read 'name(type argument, ...) -> type'";
  int depth = 0, items = 0;
  bool empty = true, ended = false;
  for (size_t i = open + 1; i < arrow; ++i) {
    const char c = text[i];
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == ',' && depth == 0) {
      if (empty || (!ended && text.substr(i - 1, 1) != "*")) return "an argument is 'type name' or 'type name=default'";
      empty = true, ended = false, ++items;
      continue;
    }
    if (c == ' ' && !empty) ended = true;
    empty &= c == ' ';
  }
  if (depth != 0) return "its brackets do not match";
  if (empty && items) return "an argument is 'type name' or 'type name=default'";
  if (items >= kMaxParameters) return "it has more than 16 parameters";
  int results = 1;
  for (size_t i = arrow + 5; i < text.size(); ++i) results += text[i] == ',';
  return results > kMaxResults ? "it has more than 6 results" : text.size() == arrow + 5 ? "it has no result" : nullptr;
}

std::mutex mutex;
std::vector<const Row*>& added() {
  static std::vector<const Row*>& all = *new std::vector<const Row*>;
  return all;
}
std::vector<Registration>& registrations() {  // static constructors of other libraries come here
  static std::vector<Registration> all;
  return all;
}

}  // namespace

const Row& add_row(std::string schema, Attr attr, Boxed boxed) {
  if (const char* wrong = what_is_wrong(schema))
    throw_error(ErrorKind::Runtime, message("add_row: the schema '", schema, "' cannot be read: ", wrong));
  auto made = std::make_unique<RunTimeRow>();
  made->text = std::move(schema);
  try {
    made->row.schema = parse_schema(made->text.c_str());
  } catch (const char* wrong) {
    throw_error(ErrorKind::Runtime, message("add_row: the schema '", made->text, "' cannot be read: ", wrong));
  }
  made->boxed = std::move(boxed);
  made->row.attr = attr;
  made->row.doc = "";
  made->row.run = run;
  made->functions[kOwnRow] = made.get();
  made->row.functions = made->functions;
  const Row& row = made.release()->row;  // graphs and profiles refer to it as long as they like
  std::lock_guard lock(mutex);
  added().push_back(&row);
  return row;
}

std::vector<const Row*> added_rows(size_t known) {
  std::lock_guard lock(mutex);
  return {added().begin() + ptrdiff_t(std::min(known, added().size())), added().end()};
}

void register_operator(Registration r) {
  std::lock_guard lock(mutex);
  registrations().push_back(std::move(r));
}

std::vector<Registration> take_registrations() {
  std::lock_guard lock(mutex);
  return std::exchange(registrations(), {});
}

}  // namespace torch
