#include "torch/core/autocast.h"

#include <unordered_map>

#include "torch/core/ops/copy.h"
#include "torch/core/promote.h"
#include "torch/core/thread_end.h"

namespace torch::autocast {

bool (*is_leaf)(const TensorImpl*) noexcept = nullptr;

namespace {

constexpr int kDevices = 3;

// A parameter's conversion: one made without a graph, one that carries gradients back.
struct Converted {
  Tensor source, plain, recorded;
  const Storage* memory;
  uint32_t version;
};
struct State {
  unsigned enabled = 0;  // bits by device type
  DType dtypes[kDevices] = {DType::BFloat16, DType::Float16, DType::Float16};
  int depth = 0;
  bool caches = true;
  std::unordered_map<const TensorImpl*, Converted> cache;
};
constinit thread_local State* state = nullptr;

State& own_state() {
  if (!state) {
    state = new State;
    at_thread_end([]() noexcept { delete std::exchange(state, nullptr); });
  }
  return *state;
}

void enable(State& s, unsigned devices) noexcept {
  s.enabled = devices;
  thread_keys.include = Keys(devices ? thread_keys.include | key(DispatchKey::Autocast)
                                     : thread_keys.include & ~key(DispatchKey::Autocast));
}

// --- one argument ---

bool is_cast(const State& s, const TensorImpl* t) noexcept {
  return t && is_floating(t->dtype) && t->dtype != DType::Float64 && !(t->flags & TensorImpl::kWrappedNumber) &&
         (s.enabled >> unsigned(t->device.type) & 1);
}

bool is_kept(const State& s, const Tensor& t, DType to) noexcept {
  return s.caches && !(keys_of_thread(0) & key(DispatchKey::Trace)) && t.dtype() == DType::Float32 &&
         to == s.dtypes[unsigned(t.device().type)] && t.requires_grad() && !t->base && is_leaf && is_leaf(t.get());
}

Tensor converted(State& s, const Tensor& t, DType to) {
  if (t.dtype() == to) return t;
  if (!is_kept(s, t, to)) return _to_copy(t, to);
  const bool records = is_recording && is_recording();
  if (auto at = s.cache.find(t.get()); at != s.cache.end()) {
    const Converted& c = at->second;
    const Tensor& found = records ? c.recorded : c.plain;
    if (c.version != t.version() || c.memory != t->storage)
      s.cache.erase(at);
    else if (found && found.dtype() == to)
      return found;
  }
  Tensor made = _to_copy(t, to);
  Converted& c = s.cache.try_emplace(t.get(), Converted{t, {}, {}, t->storage, t.version()}).first->second;
  (records ? c.recorded : c.plain) = made;
  return made;
}

// --- one call ---

// Calls f(argument) for each tensor of a call, and says what it is: f(const Tensor&).
template <class F>
void for_each_tensor(const Schema& s, const Value* v, F f) {
  for (int i = 0; i < s.count; ++i) {
    if (s.params[i].kind == Kind::Tensor)
      f(reinterpret_cast<const Tensor&>(v[i].tensor));
    else if (s.params[i].kind == Kind::TensorList)
      for (int64_t k = 0; k < v[i].size; ++k) f(static_cast<const Tensor*>(v[i].data)[k]);
  }
}

// What the arguments are converted to, or nothing when they stay.
std::optional<DType> target(State& s, const Row& row, const Value* given) {
  std::optional<DType> to;
  bool is_sparse = false;
  for_each_tensor(row.schema, given, [&](const Tensor& t) {
    if (!t) return;
    is_sparse |= (t.keys() & (key(DispatchKey::Sparse) | key(DispatchKey::SparseCompressed))) != 0;
    if (!is_cast(s, t.get())) return;
    const Cast cast = t.device().type == DeviceType::CUDA ? row.attr.cast_on_cuda : row.attr.cast;
    if (cast == Cast::None) return;
    if (cast == Cast::Widest)
      to = to ? promote_types(*to, t.dtype()) : t.dtype();
    else
      to = cast == Cast::Full ? DType::Float32 : s.dtypes[unsigned(t.device().type)];
  });
  return is_sparse ? std::nullopt : to;
}

// A recorder lets calls pass until their arguments are converted: what it keeps runs where nothing is cast.
constexpr Keys kBelow = Keys(keys_below(DispatchKey::Autocast) | key(DispatchKey::Trace));

void layer(const Row& row, const Value* given, Result& result) {
  State& s = own_state();
  const Schema& schema = row.schema;
  const bool stays = row.attr.cast == Cast::None && row.attr.cast_on_cuda == Cast::None;
  const auto to = stays ? std::nullopt : target(s, row, given);
  if (!to) {
    if (!row.attr.is_composite && (keys_of_thread(0) & key(DispatchKey::Trace)))
      return row.invoke(given, result, kBelow);
    Readmit inner(DispatchKey::Autocast);
    return row.invoke(given, result, keys_below(DispatchKey::Autocast));
  }
  Value values[kMaxParameters];
  Tensor held[kMaxParameters];
  std::vector<Tensor> lists[2];  // no operator has more
  int list = 0;
  for (int i = 0; i < schema.count; ++i) {
    values[i] = given[i];
    if (schema.params[i].kind == Kind::Tensor && is_cast(s, given[i].tensor)) {
      held[i] = converted(s, reinterpret_cast<const Tensor&>(given[i].tensor), *to);
      values[i].tensor = held[i].get();
    } else if (schema.params[i].kind == Kind::TensorList && list < 2) {
      std::vector<Tensor>& all = lists[list++];
      const Tensor* first = static_cast<const Tensor*>(given[i].data);
      for (int64_t k = 0; k < given[i].size; ++k)
        all.push_back(is_cast(s, first[k].get()) ? converted(s, first[k], *to) : first[k]);
      values[i].data = all.data();
    }
  }
  row.invoke(values, result, kBelow);
}

}  // namespace

bool is_enabled(DeviceType d) noexcept { return state && (state->enabled >> unsigned(d) & 1); }
void set_enabled(DeviceType d, bool on) {
  if (!on && !state) return;
  set_layer(DispatchKey::Autocast, layer);
  State& s = own_state();
  const unsigned bit = 1u << unsigned(d);
  enable(s, on ? s.enabled | bit : s.enabled & ~bit);
}
DType dtype(DeviceType d) noexcept { return (state ? *state : State()).dtypes[unsigned(d)]; }
void set_dtype(DeviceType d, DType to) {
  TORCH_CHECK(is_floating(to), "autocast: expected a floating-point dtype, not ", to);
  if (dtype(d) != to) own_state().dtypes[unsigned(d)] = to;
}

bool is_cache_enabled() noexcept { return !state || state->caches; }
void set_cache_enabled(bool on) {
  if (is_cache_enabled() != on) own_state().caches = on;
}
void clear_cache() noexcept {
  if (!state) return;
  auto gone = std::exchange(state->cache, {});  // what dies may come back here
}
int enter() noexcept { return ++own_state().depth; }
int leave() noexcept {
  State& s = own_state();
  if (s.depth > 0 && --s.depth == 0) clear_cache();
  return s.depth;
}

Off::Off() noexcept : enabled_(state ? state->enabled : 0) {
  if (enabled_) enable(*state, 0);
}
Off::~Off() {
  if (enabled_) enable(*state, enabled_);
}

}  // namespace torch::autocast
