// From operators that write to self to those that give their result back, for layers that compute something else.
#pragma once
#include <map>
#include <unordered_map>

#include "torch/core/row.h"

namespace torch {

// `mul` of `mul_`, by name and kinds of parameters; null where there is none, and for operators of programs.
inline const Row* plain_form(const Row& row) {
  static const std::unordered_map<const Row*, const Row*> forms = [] {
    std::multimap<std::string_view, const Row*> plain;
    for (const Row* r : all_rows())
      if (r->schema.count && !r->schema.params[0].written) plain.emplace(r->schema.op_name(), r);
    const auto take_the_same = [](const Schema& a, const Schema& b) {
      bool same = a.count == b.count;
      for (int i = 0; same && i < a.count; ++i) same = a.params[i].kind == b.params[i].kind;
      return same;
    };
    std::unordered_map<const Row*, const Row*> found;
    for (const Row* r : all_rows()) {
      const std::string_view op = r->schema.op_name();
      if (!op.ends_with('_')) continue;
      const auto [first, last] = plain.equal_range(op.substr(0, op.size() - 1));
      for (auto at = first; at != last; ++at)
        if (take_the_same(at->second->schema, r->schema)) found.emplace(r, at->second);
    }
    return found;
  }();
  const auto at = forms.find(&row);
  return at == forms.end() ? nullptr : at->second;
}

}  // namespace torch
