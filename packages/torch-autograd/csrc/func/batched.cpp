// The layer of batched tensors: takes the batches out of a call's arguments, and wraps its results.
#include "func/batched.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "func/dual.h"
#include "func/functional.h"
#include "torch/core/init.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/view.h"
#include "torch/core/random.h"
#include "torch/core/wrapper.h"

namespace torch::autograd {

namespace {

constinit thread_local const VmapLevel* innermost = nullptr;

// The shape of a wrapper is that of the first example.
void take_geometry(TensorImpl* t, const Tensor& value) {
  const int n = int(value.dim()) - 1;
  t->set_ndim(n);
  std::copy_n(value.sizes().begin() + 1, n, t->sizes());
  std::copy_n(value.strides().begin() + 1, n, t->strides());
  t->byte_offset = value->byte_offset;
  t->refresh_geometry();
}

int highest_level(const Row& row, const Value* arguments) {
  int highest = 0;
  const auto look = [&](const TensorImpl* t) {
    if (const Batched* b = batched(t)) highest = std::max(highest, b->level);
    if (const Dual* d = dual(t)) highest = std::max(highest, level_of(*d));
    if (const Functional* f = functional(t)) highest = std::max(highest, level_of(*f));
  };
  for (int i = 0; i < row.schema.count; ++i) {
    if (row.schema.params[i].kind == Kind::Tensor) look(arguments[i].tensor);
    if (row.schema.params[i].kind == Kind::TensorList && arguments[i].present)
      for (int64_t k = 0; k < arguments[i].size; ++k) look(static_cast<const Tensor*>(arguments[i].data)[k].get());
  }
  return highest;
}

const VmapLevel& level_of(const Row& row, int number) {
  const VmapLevel* l = innermost;
  while (l && l->number != number) l = l->outer;
  TORCH_CHECK(l, row.schema.op_name(),
              ": a tensor of a vmap that has ended: an example of a batch must not be kept beyond the function that "
              "vmap maps; return it instead");
  return *l;
}

void check_written(const BatchedCall& c) {
  for (int i = 0; i < c.count(); ++i) {
    if (!c.schema().params[i].written || c.is_batched(i)) continue;
    throw_error(ErrorKind::Runtime,
                message("vmap: ", c.schema().op_name(), ": argument '", c.name(i), "' ", c.given(i),
                        " is one tensor for all examples and cannot take a value of each; use the operator that is not "
                        "in place, or make it of a batched tensor (new_zeros, zeros_like)"));
  }
  const int mean = c.find("running_mean"), training = c.find("training");
  if (c.row.attr.memory == Memory::Statistics && mean >= 0 && training >= 0 && c.values[training].i && c.given(mean) &&
      !c.is_batched(mean))
    throw_error(ErrorKind::Runtime,
                message("vmap: ", c.schema().op_name(),
                        ": running statistics are one tensor for all examples and cannot be updated by each; use "
                        "track_running_stats=False, eval(), or torch.func.replace_all_batch_norm_modules_()"));
}

void wrap_results(const BatchedCall& c, Result& result) {
  const Schema& s = c.schema();
  const Tensor* viewed = nullptr;
  if (c.row.attr.is_view && s.count && s.params[0].kind == Kind::Tensor && c.is_batched(0)) viewed = &c.given(0);
  const auto wrap = [&](Tensor& t) {
    if (!t) return;
    Tensor wrapper = example_of(std::move(t), c.level.number);
    if (viewed && c.row.attr.memory == Memory::Detached)  // no view for the graph, whose gradients would flow on
      share_memory(wrapper, *viewed);
    else if (viewed)
      become_view(wrapper, *viewed);
    t = std::move(wrapper);
  };
  if (s.in_place()) {
    const Tensor& self = c.given(0);
    take_geometry(self.get(), c.value(0));
    result.tensors[0] = self;
    return;
  }
  for (Tensor& t : result.tensors) wrap(t);
  for (Tensor& t : result.list) wrap(t);
}

[[noreturn]] void refuse_randomness(const Row& row) {
  throw_error(
      ErrorKind::Runtime,
      message("vmap: called random operation ", row.schema.op_name(),
              " while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
              "vmap or perform the randomness operation out of vmap"));
}

// Operators that draw, for a batch: whether the result is one.
bool draw(BatchedCall& c, Result& result) {
  if (c.level.randomness == Randomness::Error) refuse_randomness(c.row);
  bool any = false;
  for (int i = 0; i < c.count(); ++i) any |= c.is_tensor(i) && c.given(i) && c.is_batched(i);
  if (c.level.randomness == Randomness::Same && !any) {
    c.run(result);
    return false;
  }
  if (c.schema().in_place()) check_written(c);
  each_example(c, result);
  return true;
}

void draw_for(const VmapLevel& level, const Row& row, const Value* arguments, Result& result) {
  BatchedCall call(row, arguments, level);
  {
    Outside outer(level);
    if (!draw(call, result)) return;
  }
  wrap_results(call, result);
}

bool is_within_duals() noexcept {
  const VmapLevel* l = innermost;
  while (l && l->form != Form::Dual) l = l->outer;
  return l != nullptr;
}

void take_tangents_of_bases(const Row& row, const Value* arguments) {
  for (int i = 0; i < row.schema.count; ++i) {
    if (row.schema.params[i].kind == Kind::Tensor) take_tangent_of_base(arguments[i].tensor);
    if (row.schema.params[i].kind == Kind::TensorList && arguments[i].present)
      for (int64_t k = 0; k < arguments[i].size; ++k)
        take_tangent_of_base(static_cast<const Tensor*>(arguments[i].data)[k].get());
  }
}

void layer(const Row& row, const Value* arguments, Result& result) {
  if (is_within_duals()) take_tangents_of_bases(row, arguments);
  const int number = highest_level(row, arguments);
  if (!number) {
    if (innermost && innermost->form == Form::Functional) return call_functional(row, arguments, *innermost, result);
    if (call_without_old_duals(row, arguments, result)) return;
  }
  // What is drawn within a vmap is drawn for its examples, also of what is the same for all of them.
  const VmapLevel* vmap = innermost_vmap();
  if (row.attr.is_random && !row.attr.is_composite && vmap && vmap->number >= number)
    return draw_for(*vmap, row, arguments, result);
  if (!number) {
    Readmit inner(DispatchKey::Wrapped);
    return row.invoke(arguments, result, keys_below(DispatchKey::Wrapped));
  }
  const VmapLevel& its = level_of(row, number);
  if (its.form == Form::Dual) return call_with_duals(row, arguments, its, result);
  if (its.form == Form::Functional) return call_functional(row, arguments, its, result);
  const BatchRule rule = batch_rule(row);
  if (row.attr.is_composite && !rule) {
    Readmit inner(DispatchKey::Wrapped);
    return row.invoke(arguments, result, keys_below(DispatchKey::Wrapped));
  }
  BatchedCall call(row, arguments, its);
  check_written(call);
  TORCH_CHECK_IMPLEMENTED(rule || row.attr.memory != Memory::Exchanged, "vmap: ", row.schema.op_name(),
                          ": an example keeps its memory and its number of elements; make a new tensor (new_empty, "
                          "reshape), or do it outside of the function that vmap maps");
  {
    Outside outer(its);
    if (!rule || !rule(call, result)) each_example(call, result);
  }
  wrap_results(call, result);
}

// Composites run on wrappers as they are. These make new memory like a tensor's, which is to be that of all examples.
template <class Tag, class Seq>
struct PassAutograd;
template <class Tag, size_t... I>
struct PassAutograd<Tag, std::index_sequence<I...>> {
  using S = torch::detail::Signature<Tag>;
  static typename S::Return call(typename S::template Param<I>... args) {
    return below<Tag>(DispatchKey::Autograd, args...);
  }
};
template <class... Tags>
void leave_to_layer() noexcept {
  (OperatorFunctions<Tags>::set(DispatchKey::Wrapped, nullptr), ...);
  (OperatorFunctions<Tags>::set(
       DispatchKey::Autograd,
       &PassAutograd<Tags, std::make_index_sequence<torch::detail::Signature<Tags>::schema.count>>::call),
   ...);
}

const bool installed = [] {
  init();  // sets the functions that are removed here
  leave_to_layer<op::zeros_like, op::ones_like, op::full_like, op::empty_like, op::new_zeros, op::new_ones,
                 op::new_full, op::new_empty, op::new_empty_strided>();
  set_layer(DispatchKey::Wrapped, layer);
  values_behind = [](const Tensor& t) {
    Tensor values = t;
    while (const Wrapper* w = wrapper(values.get()))
      values = w->form == Form::Dual         ? Tensor(static_cast<const Dual*>(w)->primal)
               : w->form == Form::Functional ? current_value(values)
                                             : Tensor(static_cast<const Batched*>(w)->value);
    return values;
  };
  value_behind = [](const Tensor& t) {
    Tensor value = t;
    while (value && !lies_in_memory(value)) value = functional(value.get()) ? current_value(value) : Tensor();
    return value;
  };
  return true;
}();

}  // namespace

namespace {
Keys keys_outside(const VmapLevel& level) noexcept {
  bool vmap = false;
  for (const VmapLevel* l = level.outer; l; l = l->outer) vmap |= l->form != Form::Dual;
  return vmap ? Keys(thread_keys.include | key(DispatchKey::Wrapped))
              : Keys(thread_keys.include & ~key(DispatchKey::Wrapped));
}
}  // namespace

Outside::Outside(const VmapLevel& level) noexcept
    : before_(std::exchange(innermost, level.outer)),
      keys_({keys_outside(level), Keys(thread_keys.exclude & ~key(DispatchKey::Wrapped))}),
      mode_(thread_state.grad_mode || thread_state.recorded),
      recorded_(std::exchange(thread_state.recorded, false)) {}
Outside::~Outside() {
  innermost = before_;
  thread_state.recorded = recorded_;
}

const VmapLevel* innermost_level() noexcept { return innermost; }
const VmapLevel* innermost_vmap() noexcept {
  const VmapLevel* l = innermost;
  while (l && l->form != Form::Batched) l = l->outer;
  return l;
}

int enter_vmap(int64_t size, Randomness randomness) {
  const int number = innermost ? innermost->number + 1 : 1;
  innermost = new VmapLevel{innermost, number, size, randomness, thread_keys};
  thread_keys = {Keys(thread_keys.include | key(DispatchKey::Wrapped)),
                 Keys(thread_keys.exclude & ~key(DispatchKey::Wrapped))};
  return number;
}

int enter_level(Form form, bool copies_views) {
  static constinit std::atomic<uint64_t> last{0};
  const int number = innermost ? innermost->number + 1 : 1;
  innermost = new VmapLevel{innermost, number, 0, Randomness::Error, thread_keys, form, ++last, copies_views};
  // What is made within functionalize is a wrapper too, and a view may have become a dual number with its base.
  thread_keys = {Keys(thread_keys.include | key(DispatchKey::Wrapped)),
                 Keys(thread_keys.exclude & ~key(DispatchKey::Wrapped))};
  return number;
}

void leave_level() noexcept {
  const VmapLevel* ended = innermost;
  thread_keys = ended->before;
  innermost = ended->outer;
  delete ended;
}

void* no_memory() {
  static void* const place =
      mmap(nullptr, size_t(1) << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? nullptr : place;
}

void share_memory(const Tensor& t, const Tensor& of) {
  StorageRef old = StorageRef::steal(std::exchange(t->storage, of->storage));
  t->storage->retain();
  if (of->own_version && !t->own_version) {
    of->own_version->retain();
    t->own_version = of->own_version;
  }
}

void become_view(const Tensor& t, const Tensor& of) {
  share_memory(t, of);
  t->base = of->base ? of->base : of.get();
  t->base->retain();
  t->graph_version = t->version().load();
}

Tensor example_of(Tensor value, int level) {
  Tensor r = Tensor::steal(TensorImpl::make());
  r->dtype = value.dtype();
  r->device = value.device();
  r->keys = Keys((value.keys() & keys_below(DispatchKey::Wrapped)) | key(DispatchKey::Wrapped));
  r->storage = Storage::adopt(no_memory(), 0, [](Storage*) noexcept {}, nullptr);
  r->storage->device = value.device();
  take_geometry(r.get(), value);
  r->payload = new Batched(std::move(value), level);
  return r;
}

BatchedCall::BatchedCall(const Row& r, const Value* arguments, const VmapLevel& l)
    : row(r), level(l), arguments_(arguments) {
  std::copy_n(arguments, r.schema.count, values);
  for (int i = 0; i < count(); ++i) {
    if (is_tensor(i)) {
      if (given(i) && is_batched(i)) values[i].tensor = value(i).get();
    } else if (schema().params[i].kind == Kind::TensorList && values[i].present) {
      std::vector<Tensor> list;
      for (const Tensor& t : given_list(i)) list.push_back(value(t));
      set(i, std::move(list));
    }
  }
}

int BatchedCall::find(std::string_view wanted) const {
  for (int i = 0; i < count(); ++i)
    if (name(i) == wanted) return i;
  return -1;
}

Tensor BatchedCall::front(const Tensor& t) const {
  if (is_batched(t)) return value(t);
  std::vector<int64_t> sizes{level.size};
  for (int64_t s : t.sizes()) sizes.push_back(s);
  return expand(t, sizes);
}

Tensor BatchedCall::aligned(const Tensor& t, int64_t rank) const {
  const Tensor& v = value(t);
  if (!is_batched(t) || t.dim() >= rank) return v;
  std::vector<int64_t> sizes{v.size(0)};
  sizes.resize(size_t(1 + rank - t.dim()), 1);
  for (int64_t d = 1; d < v.dim(); ++d) sizes.push_back(v.size(d));
  return view(v, sizes);
}

void BatchedCall::set(int i, Tensor t) {
  tensors_.push_back(std::move(t));
  values[i].tensor = tensors_.back().get();
  values[i].present = bool(tensors_.back());
}
void BatchedCall::set(int i, std::vector<Tensor> list) {
  lists_.push_back(std::move(list));
  values[i].data = lists_.back().data();
  values[i].size = int64_t(lists_.back().size());
  values[i].present = true;
}
void BatchedCall::set(int i, std::vector<int64_t> list) {
  numbers_.push_back(std::move(list));
  values[i].data = numbers_.back().data();
  values[i].size = int64_t(numbers_.back().size());
  values[i].present = true;
}

void each_example(BatchedCall& c, Result& result) {
  const int64_t size = c.level.size;
  const bool same = c.row.attr.is_random && c.level.randomness == Randomness::Same;
  const RandomStream first = default_generator().state();
  // Offsets count from the start of the storage. What is written to by one example is saved by it, at its own version.
  const bool in_place = c.schema().in_place();
  const bool needs_own_storage = in_place || c.row.attr.memory == Memory::Counted;
  std::vector<Result> all;
  // An empty batch: zeros of an example's shape tell the shapes of the results.
  for (int64_t k = 0; k < std::max<int64_t>(size, 1); ++k) {
    const auto one = [&](const Tensor& t) {
      if (!t || !c.is_batched(t)) return t;
      if (!size) return zeros(t.sizes(), t.dtype(), t.device());
      const Tensor example = select(c.value(t), 0, k);
      return needs_own_storage ? clone(example) : example;
    };
    if (same) default_generator().set_state(first);
    for (int i = 0; i < c.count(); ++i) {
      if (c.is_tensor(i) && c.given(i)) {
        c.set(i, one(c.given(i)));
      } else if (c.schema().params[i].kind == Kind::TensorList && c.values[i].present) {
        std::vector<Tensor> list;
        for (const Tensor& t : c.given_list(i)) list.push_back(one(t));
        c.set(i, std::move(list));
      }
    }
    c.run(all.emplace_back());
  }
  if (in_place) {
    std::vector<Tensor> changed;
    for (Result& r : all) changed.push_back(r.tensors[0]);
    if (size) copy_(c.value(0), stack(changed, 0));
    return;
  }
  TORCH_CHECK_IMPLEMENTED(!c.row.attr.is_view, "vmap: ", c.schema().op_name(),
                          ": no rule says how this view of one example is one of the batch; clone() and reshape() it");
  const auto joined = [&](auto&& pick) {
    Tensor head = pick(all[0]);
    if (!head) return Tensor();
    if (!size) {
      std::vector<int64_t> sizes{0};
      for (int64_t s : head.sizes()) sizes.push_back(s);
      return empty(sizes, head.dtype(), head.device());
    }
    std::vector<Tensor> parts;
    for (Result& r : all) {
      parts.push_back(pick(r));
      TORCH_CHECK(parts.back().sizes() == head.sizes(), "vmap: ", c.schema().op_name(), ": the result has the shape ",
                  head.sizes(), " for the first example and ", parts.back().sizes(),
                  " for another; results of all examples must agree");
    }
    return stack(parts, 0);
  };
  for (int k = 0; k < kMaxResults; ++k) result.tensors[k] = joined([k](Result& r) { return r.tensors[k]; });
  for (size_t k = 0; k < all[0].list.size(); ++k) {
    for (const Result& r : all)
      TORCH_CHECK(r.list.size() == all[0].list.size(), "vmap: ", c.schema().op_name(), ": ", all[0].list.size(),
                  " results for the first example and ", r.list.size(), " for another");
    result.list.push_back(joined([k](Result& r) { return r.list[k]; }));
  }
  for (const Result& r : all)
    TORCH_CHECK(r.ints == all[0].ints && r.value.present == all[0].value.present &&
                    (!r.value.present || (r.value.i == all[0].value.i && r.value.size == all[0].value.size)),
                "vmap: ", c.schema().op_name(),
                ": the answer differs between the examples, and Python can go only one way; compute with tensors "
                "(torch.where) instead");
  result.ints = all[0].ints;
  result.value = all[0].value;
}

}  // namespace torch::autograd
