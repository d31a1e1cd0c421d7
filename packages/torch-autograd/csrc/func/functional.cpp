// Operators within functionalize.
#include "func/functional.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"
#include "view.h"

namespace torch::autograd {

namespace {

Tensor wrapped(const Tensor& value, Functional* payload) {
  Tensor r = Tensor::steal(TensorImpl::make());
  r->dtype = value.dtype();
  r->device = value.device();
  r->keys = Keys((value.keys() & keys_below(DispatchKey::Wrapped)) | key(DispatchKey::Wrapped));
  r->storage = Storage::adopt(no_memory(), 0, [](Storage*) noexcept {}, nullptr);
  r->storage->device = value.device();
  r->set_ndim(int(value.dim()));
  std::copy_n(value.sizes().begin(), value.dim(), r->sizes());
  std::copy_n(value.strides().begin(), value.dim(), r->strides());
  r->byte_offset = value->byte_offset;
  r->refresh_geometry();
  r->payload = payload;
  return r;
}

// The operator `name` with the arguments of `row`, between the first and the others `more` of its own; null when there
// is none.
const Row* relative(const Row& row, std::string_view name, int more) {
  static const std::map<std::string_view, std::vector<const Row*>> rows = [] {
    std::map<std::string_view, std::vector<const Row*>> all;
    for (const Row* r : all_rows()) all[r->schema.op_name()].push_back(r);
    return all;
  }();
  const auto found = rows.find(name);
  if (found == rows.end()) return nullptr;
  for (const Row* r : found->second) {
    bool same = r->schema.count == row.schema.count + more && r->schema.result_count == 1;
    for (int i = 0; same && i < row.schema.count; ++i) {
      const Parameter &a = r->schema.params[i ? i + more : 0], &b = row.schema.params[i];
      same = a.kind == b.kind && a.optional == b.optional && r->schema.view(a.name) == row.schema.view(b.name);
    }
    if (same) return r;
  }
  return nullptr;
}

// The operator that gives what `row` writes.
const Row* out_of_place(const Row& row) {
  const std::string_view op = row.schema.op_name();
  return relative(row, op.substr(0, op.size() - 1), 0);
}

Tensor take_view(const Functional& f, const Tensor& of) {
  std::vector<Value> values(f.arguments->values(), f.arguments->values() + f.arguments->count());
  values[0].tensor = of.get();
  Result r;
  f.view->invoke(values.data(), r);
  return f.place < 0 ? r.tensors[0] : r.list[size_t(f.place)];
}

const Tensor& refreshed(Functional& f) {
  if (f.seen != f.memory->generation && f.view) {
    f.value = take_view(f, refreshed(*functional(f.base.get())));
    f.seen = f.memory->generation;
  }
  return f.value;
}

// Where the view's elements lie in contiguous memory of `whole`'s shape.
Tensor geometry(const Functional& f, const Tensor& whole) {
  return take_view(f, empty(whole.sizes(), whole.dtype(), Device(DeviceType::Meta)));
}

// Whether two elements of a view may be one of what it is a view of.
bool repeats(const Functional& f) { return overlaps(Geometry(*geometry(f, functional(f.base.get())->value).get())); }

// `whole` with `part` at the numbers of its elements.
Tensor put_at(const Tensor& whole, const Tensor& numbers, const Tensor& part) {
  return reshape(scatter(reshape(whole, {-1}), 0, reshape(numbers, {-1}), reshape(part, {-1})), whole.sizes());
}
Tensor numbered(const Tensor& like) { return view(arange(like.numel(), DType::Int64, like.device()), like.sizes()); }

// All of `whole`, of which `part` is the new value of a view: undefined when the view leaves something out, repeats it
// or is of another dtype. Where the elements of a view of contiguous memory lie says how they go back.
Tensor put_all(const Functional& f, const Tensor& whole, const Tensor& part) {
  if (part.numel() != whole.numel() || part.dtype() != whole.dtype()) return {};
  const Tensor seen = geometry(f, whole);
  if (seen.is_contiguous()) return reshape(part, whole.sizes());
  std::vector<int64_t> order(size_t(seen.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return seen.stride(a) > seen.stride(b); });
  if (!permute(seen, order).is_contiguous()) return {};
  return reshape(permute(part, order), whole.sizes());
}

// `whole` with `part` where the view of it lies.
Tensor put_part(const Functional& f, const Tensor& whole, const Tensor& part) {
  if (Tensor all = put_all(f, whole, part)) return all;
  const std::string_view op = f.view->schema.op_name();
  if (const Row* scatter = relative(*f.view, std::string(op) + "_scatter", 1)) {
    const Value* v = f.arguments->values();
    Value values[kMaxParameters];
    std::copy_n(v, f.view->schema.count, values + 1);
    values[0].tensor = whole.get();
    values[0].present = true;
    values[1].tensor = part.get();
    values[1].present = true;
    Result r;
    scatter->invoke(values, r);
    return r.tensors[0];
  }
  TORCH_CHECK_IMPLEMENTED(whole.dtype() == part.dtype(), "functionalize: a change of a view by ", op,
                          ", of another dtype than what it is a view of");
  return put_at(whole, take_view(f, numbered(whole)), part);
}

// The numbers of a view's elements in the tensor that it is a view of in the end.
Tensor numbers_of(const Functional& f) {
  return f.view ? take_view(f, numbers_of(*functional(f.base.get()))) : numbered(f.value);
}

// The value of a tensor is another one from here on, and with it those of all that share its memory.
void commit(Functional& f, Tensor value, uint64_t generation) {
  if (f.view) {
    Functional* base = functional(f.base.get());
    bool is_repeated = false;
    for (Functional* b = base; b->view; b = functional(b->base.get())) is_repeated |= repeats(*b);
    if (is_repeated) {  // what lies between has this element several times: it is computed anew
      while (base->view) base = functional(base->base.get());
      commit(*base, put_at(base->value, numbers_of(f), value), generation);
    } else {
      commit(*base, put_part(f, refreshed(*base), value), generation);
    }
  }
  f.value = std::move(value);
  f.seen = generation;
}

// An operator in place that moves dims: the tensor becomes that view of what it was.
void move_dims(const Row& row, const Row& pure, const Value* arguments, const VmapLevel& level, Result& result) {
  const Tensor& self = reinterpret_cast<const Tensor&>(arguments[0].tensor);
  Value values[kMaxParameters];
  std::copy_n(arguments, pure.schema.count, values);
  const Tensor before = alias_of(self, true);
  values[0].tensor = before.get();
  call_functional(pure, values, level, result);
  const Tensor moved = std::exchange(result.tensors[0], self);
  Functional& f = *functional(moved.get());
  f.moved_by = &row;
  f.retain();
  Ref<Payload>::steal(std::exchange(self->payload, &f)).reset();
  self->set_ndim(int(moved.dim()));
  std::copy_n(moved.sizes().begin(), moved.dim(), self->sizes());
  std::copy_n(moved.strides().begin(), moved.dim(), self->strides());
  self->refresh_geometry();
}

void change(const Tensor& t, Tensor value, const char* schema) {
  Functional& f = *functional(t.get());
  if (value.dtype() != t.dtype()) value = _to_copy(value, t.dtype());
  if (value.sizes() != t.sizes()) value = clone(expand(value, t.sizes()));
  commit(f, std::move(value), f.memory->generation + 1);
  ++f.memory->generation;
  mark_changed(t, schema);
}

}  // namespace

int level_of(const Functional& f) noexcept {
  for (const VmapLevel* l = innermost_level(); l; l = l->outer)
    if (l->id == f.level) return l->number;
  return 0;
}

Tensor functional_of(Tensor value, uint64_t level) {
  const Tensor like = value;
  return wrapped(like, new Functional(std::move(value), Ref<SharedMemory>::steal(new SharedMemory), level));
}

Tensor current_value(const Tensor& wrapper) {
  Functional& f = *functional(wrapper.get());
  const VmapLevel* level = innermost_level();
  while (level && level->id != f.level) level = level->outer;
  if (!level) return refreshed(f);
  Outside outer(*level);
  return refreshed(f);
}

bool was_changed(const Tensor& wrapper) {
  const Functional& f = *functional(wrapper.get());
  return f.memory->generation || f.moved_by;
}

void write_back(const Tensor& wrapper, const Tensor& target) {
  Functional* f = functional(wrapper.get());
  std::vector<Functional*> moves;
  for (; f->moved_by; f = functional(f->base.get())) moves.push_back(f);
  if (f->memory->generation) copy_(target, refreshed(*f));
  for (auto m = moves.rbegin(); m != moves.rend(); ++m) {
    std::vector<Value> values((*m)->arguments->values(), (*m)->arguments->values() + (*m)->arguments->count());
    values[0].tensor = target.get();
    Result r;
    (*m)->moved_by->invoke(values.data(), r);
  }
}

void call_functional(const Row& row, const Value* arguments, const VmapLevel& level, Result& result) {
  const Schema& s = row.schema;
  const auto given = [&](int i) -> const Tensor& { return reinterpret_cast<const Tensor&>(arguments[i].tensor); };
  const auto within = [&](const Tensor& t) {
    Functional* f = t ? functional(t.get()) : nullptr;
    return f && f->level == level.id ? f : nullptr;
  };
  if (s.in_place() && within(given(0)))
    if (const Row* pure = out_of_place(row); pure && pure->attr.is_view)
      return move_dims(row, *pure, arguments, level, result);
  TORCH_CHECK_IMPLEMENTED(row.attr.memory != Memory::Exchanged, s.op_name(),
                          ": a tensor keeps its memory within functionalize; return a new one");
  Outside outer(level);
  Value values[kMaxParameters];
  std::copy_n(arguments, s.count, values);
  std::deque<Tensor> held;
  std::deque<std::vector<Tensor>> lists;
  std::vector<std::pair<int, size_t>> written;  // parameters that are no result, and their copies
  for (int i = 0; i < s.count; ++i) {
    if (s.params[i].kind == Kind::Tensor && given(i)) {
      Functional* f = within(given(i));
      TORCH_CHECK(!s.params[i].written || f, "functionalize: ", s.op_name(), " would change a tensor ", given(i),
                  " from outside of the function; pass it as an argument");
      if (!f) continue;
      held.push_back(refreshed(*f));
      if (s.params[i].written && (i > 0 || !s.in_place())) {
        held.back() = clone(held.back());
        written.emplace_back(i, held.size() - 1);
      }
      values[i].tensor = held.back().get();
    } else if (s.params[i].kind == Kind::TensorList && arguments[i].present) {
      std::vector<Tensor>& list = lists.emplace_back();
      for (int64_t k = 0; k < arguments[i].size; ++k) {
        const Tensor& t = static_cast<const Tensor*>(arguments[i].data)[k];
        Functional* f = within(t);
        list.push_back(f ? refreshed(*f) : t);
      }
      values[i].data = list.data();
    }
  }

  if (s.in_place()) {
    const Row* pure = out_of_place(row);
    const Tensor self = given(0);
    if (row.attr.memory == Memory::Overwritten) {
      const Tensor& before = held.front();
      Tensor value;
      if (s.count < 2)
        value = zeros_like(before);
      else if (s.params[1].kind == Kind::Tensor)
        value = clone(reinterpret_cast<const Tensor&>(values[1].tensor));
      else
        value = full_like(before, torch::detail::unbox<const Scalar&, Kind::Scalar, false>(values[1]));
      change(self, std::move(value), s.text);
      result.tensors[0] = self;
      return;
    }
    Tensor copy;
    if (!pure) {
      copy = clone(held.front());
      values[0].tensor = copy.get();
    }
    (pure ? *pure : row).invoke(values, result);
    change(self, result.tensors[0], s.text);
    result.tensors[0] = self;
  } else {
    row.invoke(values, result);
    const bool is_view = row.attr.is_view && s.count && s.params[0].kind == Kind::Tensor && within(given(0));
    const auto wrap = [&](Tensor& t, int place) {
      if (!t || within(t)) return;
      if (level.copies_views && row.attr.is_view) t = clone(t);
      for (int i = 0; i < s.count; ++i)
        if (s.params[i].kind == Kind::Tensor && values[i].tensor == t.get() && within(given(i))) {
          t = given(i);
          return;
        }
      if (!is_view) {
        t = functional_of(std::move(t), level.id);
        return;
      }
      const Functional& of = *within(given(0));
      auto* f = new Functional(t, of.memory, level.id);
      Tensor made = wrapped(t, f);
      f->seen = of.memory->generation;
      f->base = alias_of(given(0), true);  // without the graph that is above
      f->view = &row;
      f->arguments.emplace(s, values);
      f->place = place;
      t = std::move(made);
      if (row.attr.memory == Memory::Detached)
        share_memory(t, given(0));
      else
        become_view(t, given(0));
    };
    for (Tensor& t : result.tensors) wrap(t, -1);
    for (size_t k = 0; k < result.list.size(); ++k) wrap(result.list[k], int(k));
  }
  for (auto [i, k] : written) change(given(i), held[k], s.text);
}

}  // namespace torch::autograd
