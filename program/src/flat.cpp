#include "flat.h"

#include <algorithm>
#include <set>

namespace torch::program {

// How many elements each tensor of a group has; 0 where it is no such group, or is worth more than one thread.
int64_t Flat::elements_of(const Step& s) const {
  if (!s.tiles || s.tiles->columns() || s.rows || s.blocks) return 0;
  const Kernel kernel = s.tiles->kernel();
  const int64_t n = tensor(s.out[0]).numel();
  std::vector<int> values = s.out;
  values.insert(values.end(), s.in.begin(), s.in.end());
  for (size_t k = 0; k < values.size(); ++k) {
    const Tensor& t = tensor(values[k]);
    if (t.numel() != n || !t.is_contiguous() || t.dtype() != kernel.types[k]) return 0;
  }
  return n <= kernel.grain ? n : 0;
}

// A call that gives parts of the memory of its only tensor.
bool Flat::is_view(const Step& s) const {
  if (!s.row || !s.row->row->attr.is_view || s.row->fills.size() != 1 || !s.lists.empty() || !s.row->tensors.empty())
    return false;
  const Tensor& base = tensor(s.row->fills[0].from);
  return std::all_of(s.out.begin(), s.out.end(), [&](int v) {
    const Tensor& t = tensor(v);
    return t->storage && t->storage == base->storage && t.dtype() == base.dtype();
  });
}

// Views that nobody reads but flat groups, and views of them.
void Flat::find_views() {
  std::set<int> made(plan_.text_.outputs.begin(), plan_.text_.outputs.end());  // values that must be there
  std::set<const Step*> views;
  for (auto s = plan_.steps_.rbegin(); s != plan_.steps_.rend(); ++s) {
    if (s->flat) continue;
    if (is_view(*s) && std::none_of(s->out.begin(), s->out.end(), [&](int v) { return made.count(v) > 0; }))
      views.insert(&*s);
    else
      made.insert(s->in.begin(), s->in.end());
  }
  for (const Step& s : plan_.steps_) {
    if (!views.count(&s)) continue;
    const int from = s.row->fills[0].from;
    const auto at = places_.find(from);
    const int base = at == places_.end() ? from : at->second.base;
    for (int v : s.out) places_[v] = {base, tensor(v)->byte_offset - tensor(base)->byte_offset};
  }
  std::erase_if(plan_.steps_, [&](const Step& s) { return !s.out.empty() && places_.count(s.out[0]) > 0; });
}

void Flat::place(Step& s) const {
  s.distances.assign(s.out.size() + s.in.size(), 0);
  for (size_t k = 0; k < s.in.size(); ++k) {
    const auto at = places_.find(s.in[k]);
    if (at == places_.end()) continue;
    s.distances[s.out.size() + k] = at->second.distance;
    std::erase_if(s.expected, [&](const auto& e) { return e.first == s.in[k]; });
    s.in[k] = at->second.base;
    if (s.in[k] >= plan_.text_.inputs) s.expected.push_back({s.in[k], Geometry(tensor(s.in[k]))});
  }
}

void Flat::run() {
  for (Step& s : plan_.steps_) s.flat = elements_of(s);
  find_views();
  for (Step& s : plan_.steps_)
    if (s.flat) place(s);
}

}  // namespace torch::program
