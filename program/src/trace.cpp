#include "torch/program/trace.h"

#include <algorithm>
#include <bit>

#include "sink.h"
#include "torch/core/reads.h"
#include "torch/program/signature.h"

namespace torch::program {

namespace {

constinit thread_local Tracer* tracer = nullptr;
constinit thread_local Sink* sink = nullptr;

const TypePtr& ints() {
  static const TypePtr type = list_type(int_type());
  return type;
}
const TypePtr& tensors() {
  static const TypePtr type = list_type(tensor_type());
  return type;
}
const TypePtr& maybe_tensors() {
  static const TypePtr type = list_type(optional_type(tensor_type()));
  return type;
}

Value* insert(Graph& g, const char* kind, const std::vector<Value*>& inputs, TypePtr type) {
  Node* n = g.insert_node(g.create(kind, inputs));
  n->output()->set_type(std::move(type));
  return n->output();
}

bool same_place(const torch::Tensor& a, const torch::Tensor& b) {
  return a->storage && a->storage == b->storage && a->byte_offset == b->byte_offset && a.dtype() == b.dtype() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

// Ints that say where, which are nearly always written out: an equal size must not be taken for them.
bool is_place(std::string_view name) { return name.starts_with("dim") || name == "step" || name == "groups"; }

Cell number_in(const torch::Tensor& t) {
  return visit_dtype(t.dtype(), [&](auto zero) -> Cell {
    using E = decltype(zero);
    E v = *t.data<E>();
    if constexpr (std::is_same_v<E, Complex64> || std::is_same_v<E, Complex128>)
      return Cell(std::complex<double>(v));
    else if constexpr (std::is_same_v<E, bool>)
      return Cell(v);
    else if constexpr (std::is_integral_v<E>)
      return Cell(int64_t(v));
    else
      return Cell(double(static_cast<float>(v)) == double(v) ? double(static_cast<float>(v)) : double(v));
  });
}

}  // namespace

Sink* Sink::current() noexcept { return sink; }
Sink::Sink() : before_(std::exchange(sink, this)), keys_(thread_keys) {
  {
    Tracer::Recording layer_is_set(Tracer::current());
  }
  thread_keys.include |= key(DispatchKey::Trace);
}
Sink::~Sink() {
  sink = before_;
  thread_keys = keys_;
}

Tracer* Tracer::current() noexcept { return tracer; }

// Of this thread, the innermost last.
static thread_local std::vector<Tracer::Recording*> open_recordings;

Tracer::Recording::Recording(Tracer* t) : before_(std::exchange(tracer, t)), keys_(thread_keys) {
  static const bool ready = (set_layer(DispatchKey::Trace, &Tracer::layer), value_watcher = &Tracer::value_was_read,
                             place_watcher = &Tracer::int_was_placed, true);
  (void)ready;
  open_recordings.push_back(this);
  if (t)
    thread_keys.include |= key(DispatchKey::Trace);
  else
    thread_keys.include &= Keys(~key(DispatchKey::Trace));
}
void Tracer::value_was_read(const torch::Tensor& t, const char* what) {
  if (tracer && tracer->reads_ && (keys_of_thread(0) & key(DispatchKey::Trace))) tracer->reads_(t, what);
}
Tracer::Recording::~Recording() {
  const auto at = std::find(open_recordings.begin(), open_recordings.end(), this);
  if (at == open_recordings.end()) return;
  if (at + 1 != open_recordings.end()) {  // an error has kept one within open: what was before this is before that
    at[1]->before_ = before_;
    at[1]->keys_ = keys_;
    open_recordings.erase(at);
    return;
  }
  open_recordings.pop_back();
  tracer = before_;
  thread_keys.include =
      Keys((thread_keys.include & ~key(DispatchKey::Trace)) | (keys_.include & key(DispatchKey::Trace)));
}

Tracer::Known::Place& Tracer::Known::place(const TensorImpl* t) noexcept {
  const size_t last = places_.size() - 1;
  size_t i = first(t);
  while (places_[i].tensor && places_[i].tensor != t) i = (i + 1) & last;
  return places_[i];
}
Value* Tracer::Known::find(const TensorImpl* t) const noexcept { return const_cast<Known*>(this)->place(t).value; }
bool Tracer::Known::put(const TensorImpl* t, Value* v) {
  Place* p = &place(t);
  const bool is_new = !p->tensor;
  if (is_new && ++size_ > places_.size() / 2) {
    const std::vector<Place> before = std::exchange(places_, std::vector<Place>(2 * places_.size()));
    for (const Place& b : before)
      if (b.tensor) place(b.tensor) = b;
    p = &place(t);
  }
  *p = {t, v};
  return is_new;
}

void Tracer::Known::erase(const TensorImpl* t) noexcept {
  const size_t last = places_.size() - 1;
  size_t hole = size_t(&place(t) - places_.data());
  --size_;
  // What follows and does not stand at its own place moves up.
  for (size_t i = (hole + 1) & last; places_[i].tensor; i = (i + 1) & last)
    if (((i - first(places_[i].tensor)) & last) >= ((i - hole) & last)) places_[std::exchange(hole, i)] = places_[i];
  places_[hole] = {};
}

void Tracer::forget_dead() {
  constexpr size_t kYoung = 32;
  if (kept_.size() - young_ < kYoung) return;
  const bool all = kept_.size() >= next_look_;
  std::vector<torch::Tensor> dead;  // go at the end: what ends with them may call operators
  size_t n = all ? 0 : young_;
  for (size_t i = n; i < kept_.size(); ++i) {
    torch::Tensor& t = kept_[i];
    if (t && t->use_count() == 1 && (!t->storage || t->storage->use_count() == 1)) {
      values_.erase(t.get());
      dead.push_back(std::move(t));
    } else {
      if (n != i) kept_[n] = std::move(t);
      ++n;
    }
  }
  kept_.resize(n);
  if (n - young_ > kYoung / 2 || all) young_ = n;
  if (all) next_look_ = 2 * n + 512;
}

// A number, None or a device, which an earlier call may have used; the argument of a call that stands there.
Value* Tracer::constant(Cell c, int64_t at, std::string_view name) {
  const auto same = [&](const Cell& a) {
    if (a.tag() != c.tag()) return false;
    switch (c.tag()) {
      case Cell::Tag::None:
        return true;
      case Cell::Tag::Float:
        return std::bit_cast<uint64_t>(a.to_double()) == std::bit_cast<uint64_t>(c.to_double());
      case Cell::Tag::Bool:
        return a.to_bool() == c.to_bool();
      case Cell::Tag::Int:
        return a.to_int() == c.to_int();
      default:
        return false;
    }
  };
  const auto is_at = [&](const Argument& as) { return as.name.empty() ? as.at < 0 || as.at == at : as.name == name; };
  const auto is_anywhere = [](const Noted& n) { return n.as.at < 0 && n.as.name.empty(); };
  for (Noted& n : numbers_)
    if (n.value && same(n.number) && is_at(n.as)) {
      Value* found = std::exchange(n.value, nullptr);
      // Two that are equal now could be taken for each other.
      for (const Noted& other : numbers_)
        left_ += is_anywhere(n) && other.value && other.value != found && same(other.number);
      for (const Note& other : ints_) left_ += other.value && c.tag() == Cell::Tag::Int && other.number == c.to_int();
      return found;
    }
  const Block* here = graph_->insert_point()->owning_block();
  for (const Written& w : written_)
    if (w.value && same(w.cell) && !w.value->node()->is_destroyed() && w.value->node()->owning_block() == here)
      return w.value;
  Value* v = graph_->insert_constant(c);
  written_[next_written_++ % std::size(written_)] = {std::move(c), v};
  return v;
}

void Tracer::set_value(const torch::Tensor& t, Value* v) {
  if (values_.put(t.get(), v)) kept_.push_back(t);
}
void Tracer::set_attribute(const torch::Tensor& t, std::vector<std::string> path) {
  if (paths_.emplace(t.get(), std::move(path)).second) attributes_.push_back(t);
}
bool Tracer::has_value(const torch::Tensor& t) const { return values_.find(t.get()) || paths_.contains(t.get()); }

Value* Tracer::module_at(const std::vector<std::string>& path) {
  TORCH_CHECK(self_, "trace: there is no module here");
  Value* at = self_;
  std::string name;
  for (const std::string& each : path) {
    name += "." + each;
    auto [found, fresh] = modules_.emplace(name, nullptr);
    if (fresh) {
      const auto& type = static_cast<const ClassType&>(*at->type());
      int index = at->type()->is(TypeKind::Class) ? type.find_attribute(each) : -1;
      TORCH_CHECK(index >= 0, "trace: ", at->type()->str(), " has no attribute '", each, "'");
      // Before all calls, since they may stand in a block.
      Node* n = graph_->create("prim::GetAttr", {at});
      n->set_location({});
      n->set_scope("");
      n->set_s("name", each);
      n->output()->set_type(type.attributes()[size_t(index)].type);
      n->output()->set_debug_name(each[0] >= '0' && each[0] <= '9' ? "_" + each : each);
      if (at->node() == graph_->block()->param_node()) {
        n->insert_before(graph_->block()->begin());
      } else {
        n->insert_after(at->node());
      }
      found->second = n->output();
    }
    at = found->second;
  }
  return at;
}

const torch::Tensor* Tracer::alias_of(const torch::Tensor& t) const {
  if (t.has_memory())
    for (const auto* list : {&kept_, &attributes_})
      for (auto seen = list->rbegin(); seen != list->rend(); ++seen)
        if (*seen && seen->has_memory() && same_place(*seen, t)) return &*seen;
  return nullptr;
}

Value* Tracer::value_of(const torch::Tensor& t) {
  if (!t) return graph_->insert_constant(Cell());
  if (Value* v = values_.find(t.get())) return v;
  if (auto at = paths_.find(t.get()); at != paths_.end()) {
    Value* v = module_at(at->second);
    set_value(t, v);
    return v;
  }
  if (const torch::Tensor* seen = alias_of(t)) {
    Value* v = insert(*graph_, "aten::detach", {value_of(torch::Tensor(*seen))}, type_of(t));
    set_value(t, v);
    return v;
  }
  TORCH_CHECK(
      observing_ || !t.requires_grad(),
      "trace: Cannot insert a Tensor that requires grad as a constant. Pass it as an input, make it a parameter of "
      "the module that is traced, or detach it before the trace if it is to be constant: ",
      t);
  Value* v = graph_->insert_constant(Cell(t));
  // For all blocks to see.
  v->node()->move_before(graph_->block()->begin());
  set_value(t, v);
  return v;
}

void Tracer::int_was_placed(const void* place, int64_t count) {
  if (!tracer || tracer->ints_.empty()) return;
  Note& last = tracer->ints_.back();
  if (last.place) return;
  last.place = place;
  last.count = count;
  // An index is read whole before its calls.
  const int64_t calls = tracer->calls_;
  tracer->drop_ints([calls](const Note& n) { return n.count != kOfIndex || n.calls == calls; });
}
void Tracer::drop_ints(const std::function<bool(const Note&)>& stays) {
  std::erase_if(ints_, [&](const Note& n) {
    if (n.value && stays(n)) return false;
    left_ += n.value != nullptr;
    return true;
  });
}

// Lists of ints come in the memory that the parser filled. A call that was made of another has them elsewhere, and
// other parameters: then only the number tells.
void Tracer::find_ints(const Row& row, const torch::Value* arguments) {
  const std::less<const void*> before;
  for (Note& note : ints_) {
    note.is_here = false;
    for (int i = 0; note.place && i < row.schema.count; ++i) {
      const torch::Value& v = arguments[i];
      if (note.place == &row.schema.params[i]) note.is_here = true;
      if (note.count > 0 && v.present && row.schema.params[i].kind == Kind::IntList)
        note.is_here |= !before(note.place, v.data) && before(note.place, static_cast<const int64_t*>(v.data) + v.size);
    }
  }
}

// Of an int that a call takes at this place; `by_number` lets one stand for it whose place is not known.
Value* Tracer::int_value(int64_t i, const void* place, int64_t at, std::string_view name, bool by_number) {
  const auto fills = [&](const Note& n) {
    const auto* first = static_cast<const int64_t*>(n.place);
    return n.count > 0 ? place >= first && place < first + n.count : place == n.place;
  };
  const auto may_be = [&](const Note& n) { return n.is_here || n.count == kOfIndex ? fills(n) : by_number; };
  Note* found = nullptr;
  for (Note& n : ints_)
    if (n.value && n.number == i && may_be(n) && (!found || n.is_here > found->is_here)) found = &n;
  if (!found) return constant(Cell(i), at, name);
  Value* from = found->value;
  if (!found->is_here || found->count == kOfIndex) guessed_.push_back(i);
  if (!found->is_here || found->count <= 0 || place == static_cast<const int64_t*>(found->place) + found->count - 1)
    found->value = nullptr;
  if (from->node()->is("prim::NumToTensor")) return from->node()->input();
  return insert(*graph_, "aten::Int", {from}, int_type());
}
size_t Tracer::forget_ints() {
  drop_ints([](const Note&) { return false; });
  for (const Noted& n : numbers_) left_ += n.value != nullptr;
  numbers_.clear();
  return std::exchange(left_, 0);
}

std::vector<Value*> Tracer::inputs_of(const Row& row, const torch::Value* arguments) {
  const Schema& s = row.schema;
  Graph& g = *graph_;
  std::vector<Value*> in = std::move(room_);
  in.clear();
  auto none = [&] { in.push_back(constant(Cell())); };
  if (!ints_.empty()) find_ints(row, arguments);
  for (int i = 0; i < s.count; ++i) {
    const Parameter& p = s.params[i];
    const torch::Value& v = arguments[i];
    if (p.kind == Kind::Tensor) {
      const auto& t = reinterpret_cast<const torch::Tensor&>(v.tensor);
      if (!t)
        none();
      else if (p.accepts_number && t.is_wrapped_number() && !has_value(t))
        in.push_back(constant(number_in(t), i, s.view(p.name)));
      else
        in.push_back(value_of(t));
      continue;
    }
    if (p.kind == Kind::Generator || !v.present) {
      none();
      continue;
    }
    switch (p.kind) {
      case Kind::TensorList: {
        std::vector<Value*> items;
        for (int64_t k = 0; k < v.size; ++k) items.push_back(value_of(static_cast<const torch::Tensor*>(v.data)[k]));
        in.push_back(insert(g, "prim::ListConstruct", items, p.optional_elements ? maybe_tensors() : tensors()));
        break;
      }
      case Kind::IntList: {
        std::vector<Value*> items;
        const auto* numbers = static_cast<const int64_t*>(v.data);
        for (int64_t k = 0; k < v.size; ++k) items.push_back(int_value(numbers[k], numbers + k, i + k, {}));
        in.push_back(insert(g, "prim::ListConstruct", items, ints()));
        break;
      }
      case Kind::Int:
        in.push_back(int_value(v.i, &p, i, s.view(p.name), !is_place(s.view(p.name))));
        break;
      case Kind::Bool:
        in.push_back(constant(Cell(v.i != 0), i, s.view(p.name)));
        break;
      case Kind::Float:
        in.push_back(constant(Cell(v.d), i, s.view(p.name)));
        break;
      case Kind::Str:
        in.push_back(constant(Cell(std::string(static_cast<const char*>(v.data), size_t(v.size)))));
        break;
      case Kind::DType:
        in.push_back(constant(Cell(number_of(DType(v.i)))));
        break;
      case Kind::Layout:
        in.push_back(constant(Cell(number_of(Layout(v.i)))));
        break;
      case Kind::MemoryFormat:
        in.push_back(constant(Cell(v.i)));
        break;
      case Kind::Device:
        in.push_back(constant(Cell(Device(DeviceType(v.i), int(v.size)))));
        break;
      case Kind::Scalar:
        switch (v.scalar_kind) {
          case Scalar::Kind::Bool:
            in.push_back(constant(Cell(v.i != 0), i, s.view(p.name)));
            break;
          case Scalar::Kind::Float:
            in.push_back(constant(Cell(v.d), i, s.view(p.name)));
            break;
          case Scalar::Kind::Complex:
            in.push_back(constant(Cell(std::complex<double>(v.d, v.imag))));
            break;
          default:
            in.push_back(int_value(v.i, &p, i, s.view(p.name)));
        }
        break;
      default:
        throw_error(ErrorKind::NotImplemented,
                    message("trace: ", s.op_name(), " takes what programs have no form for"));
    }
  }
  for (const Noted& n : numbers_) left_ += n.value != nullptr;
  numbers_.clear();
  return in;
}

const Tracer::Callee& Tracer::callee(const Row& row) {
  if (last_row_ == &row) return *last_callee_;
  auto [at, fresh] = callees_.try_emplace(&row);
  if (fresh) {
    at->second = {kind_of(row), nullptr};
    for (const Signature* f : signatures(at->second.kind))
      if (f->row == &row) at->second.signature = f;
  }
  last_row_ = &row;
  return *(last_callee_ = &at->second);
}

TypePtr Tracer::type(const torch::Tensor& t) {
  if (t && last_type_ && t.has_memory()) {
    const TensorInfo& i = *last_type_->tensor_info();
    if (i.dtype == t.dtype() && i.device == t.device() && i.requires_grad == t.requires_grad() && i.strides &&
        ArrayRef<int64_t>(*i.sizes) == t.sizes() && ArrayRef<int64_t>(*i.strides) == t.strides())
      return last_type_;
  }
  TypePtr made = type_of(t);
  if (t) last_type_ = made;
  return made;
}

void Tracer::record(const Row& row, const torch::Value* arguments, std::vector<Value*> inputs, Result& r) {
  const Schema& s = row.schema;
  Graph& g = *graph_;
  const Callee& to = callee(row);
  Node* n = g.insert_node(g.create(to.kind, inputs, 0));
  auto made = [&](const torch::Tensor& t, Node* by) {
    Value* v = by->add_output(type(t));
    if (t) set_value(t, v);
  };
  bool answered = false;
  for (int i = 0; i < s.result_count; ++i) {
    switch (s.results[i].kind) {
      case Kind::Tensor:
        made(r.tensors[i], n);
        break;
      case Kind::TensorList: {
        Value* list = n->add_output(tensors());
        Node* unpack = g.insert_node(g.create("prim::ListUnpack", {list}, 0));
        for (const torch::Tensor& t : r.list) made(t, unpack);
        break;
      }
      case Kind::IntList:
        n->add_output(ints());
        break;
      case Kind::Bool:
        n->add_output(bool_type());
        answered = true;
        break;
      case Kind::Float:
        n->add_output(float_type());
        break;
      case Kind::Scalar:
        n->add_output(number_type());
        break;
      default:
        n->add_output(int_type());
    }
  }
  n->set_signature(to.signature);
  room_ = std::move(inputs);
  forget_dead();
  if (answered && reads_ && !row.attr.is_hidden)
    for (int i = 0; i < s.count; ++i)
      if (s.params[i].kind == Kind::Tensor && arguments[i].tensor)
        reads_(reinterpret_cast<const torch::Tensor&>(arguments[i].tensor), std::string(s.op_name()).c_str());
}

// --- calls of functions ---

bool Tracer::is_known(const Cell& c) const {
  using Tag = Cell::Tag;
  switch (c.tag()) {
    case Tag::Object:
      return objects_.contains(c.heap());
    case Tag::List:
    case Tag::Tuple:
      return std::all_of(c.items().begin(), c.items().end(), [&](const Cell& each) { return is_known(each); });
    case Tag::Dict:
    case Tag::Future:
    case Tag::Host:
      return false;
    default:
      return true;
  }
}

Value* Tracer::value_of_cell(const Cell& c) {
  using Tag = Cell::Tag;
  if (c.is(Tag::Tensor)) return value_of(c.to_tensor());
  if (c.is(Tag::Object)) return module_at(objects_.at(c.heap()));
  if (!c.is(Tag::List) && !c.is(Tag::Tuple)) return graph_->insert_constant(c);
  std::vector<Value*> items;
  for (const Cell& each : c.items()) items.push_back(value_of_cell(each));
  return insert(*graph_, c.is(Tag::List) ? "prim::ListConstruct" : "prim::TupleConstruct", items, c.type());
}

// The tensors of a result are known from here on.
void Tracer::give(const Cell& c, Value* v) {
  using Tag = Cell::Tag;
  if (c.is(Tag::Tensor)) return set_value(c.to_tensor(), v);
  if (!c.is(Tag::List) && !c.is(Tag::Tuple)) return;
  Node* n = graph_->insert_node(graph_->create(c.is(Tag::List) ? "prim::ListUnpack" : "prim::TupleUnpack", {v}, 0));
  for (const Cell& each : c.items()) give(each, n->add_output(each.type()));
}

bool Tracer::call(const FunctionPtr& f, const std::vector<Cell>& arguments, Cell& result) {
  if (!std::all_of(arguments.begin(), arguments.end(), [&](const Cell& c) { return is_known(c); })) return false;
  if (f->graph()->outputs().size() != 1) return false;
  Graph& g = *graph_;
  locate();
  const bool method = !arguments.empty() && arguments[0].is(Cell::Tag::Object);
  std::vector<Value*> in;
  if (!method) in.push_back(g.insert_constant(function_cell(f), function_type(f->qualified_name())));
  for (const Cell& c : arguments) in.push_back(value_of_cell(c));
  {
    Recording off(nullptr);
    result = f->call(arguments);
  }
  Node* n = g.insert_node(g.create(method ? "prim::CallMethod" : "prim::CallFunction", in));
  if (method) n->set_s("name", f->name());
  n->output()->set_type(f->graph()->outputs()[0]->type());
  give(result, n->output());
  return true;
}

// Whether what a call does is recorded instead of the call: under autocast, and of tensors that stand for others (vmap,
// dual numbers), none of which is there when the program runs.
static bool is_looked_into(const Row& row, const torch::Value* arguments) {
  const unsigned keys = keys_of_thread(0);
  if (keys & key(DispatchKey::Autocast)) return true;
  const auto wrapped = [](const TensorImpl* t) { return t && (t->keys & key(DispatchKey::Wrapped)); };
  for (int i = 0; i < row.schema.count; ++i) {
    const torch::Value& v = arguments[i];
    if (row.schema.params[i].kind == Kind::Tensor && wrapped(v.tensor)) return true;
    if (row.schema.params[i].kind == Kind::TensorList)
      for (int64_t k = 0; k < v.size; ++k)
        if (wrapped(static_cast<const torch::Tensor*>(v.data)[k].get())) return true;
  }
  return row.attr.is_random && (keys & key(DispatchKey::Wrapped));
}

// Whether a call would write to memory that is among these.
static bool writes_to(const std::unordered_set<const Storage*>& memory, const Row& row, const torch::Value* arguments) {
  for (int i = 0; i < row.schema.count; ++i) {
    const auto& p = row.schema.params[i];
    if (!p.written) continue;
    if (p.kind == Kind::Tensor && arguments[i].tensor && memory.contains(arguments[i].tensor->storage)) return true;
    if (p.kind == Kind::TensorList)
      for (int64_t k = 0; k < arguments[i].size; ++k)
        if (const auto& each = static_cast<const torch::Tensor*>(arguments[i].data)[k]; memory.contains(each->storage))
          return true;
  }
  return false;
}

// --- copies in the place of tensors ---

void Tracer::lend(const torch::Tensor& t, const torch::Tensor& copy) {
  lent_[t.get()] = {t, copy};
  copies_[t->storage] = copy;
}

torch::Tensor Tracer::lent(const torch::Tensor& t) {
  if (copies_.empty() || !t || !t->storage) return t;
  if (auto at = lent_.find(t.get()); at != lent_.end()) return at->second.copy;
  auto memory = copies_.find(t->storage);
  if (memory == copies_.end()) return t;
  // One that was made past all operators (x.data).
  const torch::Tensor& whole = memory->second;
  TORCH_CHECK(!t.requires_grad() && t.dtype() == whole.dtype(),
              "a tensor shares memory with one that is lent, and is none of a watched call");
  torch::Tensor copy = torch::alias_of(whole, false);
  copy->byte_offset = t->byte_offset;
  copy->set_ndim(int(t.dim()));
  std::copy_n(t.sizes().begin(), t.dim(), copy->sizes());
  std::copy_n(t.strides().begin(), t.dim(), copy->strides());
  copy->refresh_geometry();
  lent_[t.get()] = {t, copy};
  return copy;
}

void Tracer::invoke(const Row& row, const torch::Value* arguments, Result& result) {
  const Keys under = keys_below(DispatchKey::Trace);
  if (copies_.empty()) return row.invoke(arguments, result, under);
  const Schema& s = row.schema;
  std::vector<torch::Value> own(arguments, arguments + s.count);
  std::vector<Lent> used;
  std::vector<std::vector<torch::Tensor>> lists;
  const auto taken = [&](const torch::Tensor& t) {
    torch::Tensor copy = lent(t);
    if (copy.get() != t.get()) used.push_back({t, copy});
    return copy;
  };
  for (int i = 0; i < s.count; ++i) {
    if (s.params[i].kind == Kind::Tensor && own[i].tensor)
      own[i].tensor = taken(reinterpret_cast<const torch::Tensor&>(arguments[i].tensor)).get();
    if (s.params[i].kind == Kind::TensorList && own[i].size) {
      const auto* items = static_cast<const torch::Tensor*>(own[i].data);
      auto& list = lists.emplace_back();
      for (int64_t k = 0; k < own[i].size; ++k) list.push_back(taken(items[k]));
      own[i].data = list.data();
    }
  }
  row.invoke(own.data(), result, under);
  const auto give_back = [&](torch::Tensor& t) {
    for (const Lent& each : used)
      if (t && t.get() == each.copy.get()) {
        TORCH_CHECK(t.sizes() == each.of.sizes() && t.strides() == each.of.strides(),
                    "a tensor that is lent gets another shape in place");
        t = each.of;
        return;
      }
  };
  for (torch::Tensor& t : result.tensors) give_back(t);
  for (torch::Tensor& t : result.list) give_back(t);
}

void Tracer::layer(const Row& row, const torch::Value* arguments, Result& result) {
  Tracer* t = tracer;
  if (Sink* s = Sink::current()) {
    row.invoke(arguments, result, keys_below(DispatchKey::Trace));
    return s->saw(row, arguments, result);
  }
  if (!t) return row.invoke(arguments, result, keys_below(DispatchKey::Trace));
  if (t->muted_) return t->invoke(row, arguments, result);
  TORCH_CHECK(t->protected_.empty() || !writes_to(t->protected_, row, arguments),
              "a tensor would be written to that is not a watched call's own");
  if (is_looked_into(row, arguments)) {
    Readmit inner(DispatchKey::Trace);
    return row.invoke(arguments, result, keys_below(DispatchKey::Trace));
  }
  t->locate();
  // Before the call: what it changes in place was another value then.
  const bool failed = t->failed_;
  std::vector<Value*> inputs = t->inputs_of(row, arguments);
  if (!t->ints_.empty()) t->drop_ints([](const Note& n) { return n.count == kOfIndex; });
  ++t->calls_;
  t->failed_ = true;
  t->invoke(row, arguments, result);
  t->failed_ = failed;
  t->record(row, arguments, std::move(inputs), result);
}

}  // namespace torch::program
