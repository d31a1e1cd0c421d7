// Steps, one after the other.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "boxing.h"
#include "code.h"

namespace torch::program {

namespace {

constexpr int kMaxDepth = 1000;
std::atomic<HostCall> host_call{nullptr};
std::atomic<PrintTo> print_to{nullptr};
std::atomic<HostOverride> host_override{nullptr};

struct KnownError {
  const char* name;
  ErrorKind kind;
};
constexpr KnownError kKnownErrors[] = {{"IndexError", ErrorKind::Index},
                                       {"TypeError", ErrorKind::Type},
                                       {"ValueError", ErrorKind::Value},
                                       {"NotImplementedError", ErrorKind::NotImplemented},
                                       {"OverflowError", ErrorKind::Overflow}};
// The class of Python that an error is caught as, besides RuntimeError; null where there is none.
const char* class_of(ErrorKind kind) {
  for (const KnownError& k : kKnownErrors)
    if (k.kind == kind) return k.name;
  return nullptr;
}

constexpr std::string_view kTraced =
    "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):";
// The message of an error with the place that it went through, the outermost first.
std::string traced(std::string text, const std::string& frame, const std::string& name) {
  if (text.starts_with(kTraced)) return text.insert(kTraced.size(), frame);
  return std::string(kTraced) + frame + "\n" + name + ": " + text;
}

[[noreturn]] void raise(const std::vector<Cell>& in) {
  std::string text = in.empty() || in[0].is_none() ? "" : in[0].str(), name = "RuntimeError";
  if (in.size() > 1 && in[1].is(Cell::Tag::String)) name = in[1].to_string();
  if (name.starts_with("builtins.")) name.erase(0, std::string_view("builtins.").size());
  ErrorKind kind = ErrorKind::Runtime;
  for (const KnownError& k : kKnownErrors)
    if (name == k.name) kind = k.kind;
  throw Raised(kind, name, text);
}

void print(const std::vector<Cell>& in) {
  std::string line;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i) line += ' ';
    if (in[i].is(Cell::Tag::Tensor)) {
      std::ostringstream text;
      text << in[i].to_tensor();
      line += text.str();
    } else {
      line += in[i].str();
    }
  }
  line += '\n';
  if (PrintTo f = print_to.load())
    f(line);
  else
    std::fwrite(line.data(), 1, line.size(), stdout);
}

// The object whose attribute a step reads or writes; its own class may have other numbers than the step's.
ObjectHeap& object_of(const Step& s, const Cell& c, size_t& slot) {
  ObjectHeap& o = c.to_object();
  slot = size_t(s.target);
  if (TORCH_UNLIKELY(o.type.get() != s.type.get())) {
    int at = o.type->find_attribute(s.name);
    TORCH_CHECK(at >= 0, o.type->str(), " has no attribute '", s.name, "'");
    slot = size_t(at);
  }
  TORCH_CHECK(slot < o.slots.size(), o.type->str(), ": the attribute '", s.name, "' is not set");
  return o;
}

// What was never set is None, which an attribute of most types cannot be.
void check_set(const ObjectHeap& o, size_t slot) {
  const auto& a = o.type->attributes()[slot];
  Cell none;
  TORCH_CHECK(fit(none, a.type), o.type->str(), ": the attribute '", a.name, "' of type ", a.type->str(),
              " is not set");
}

std::vector<Cell> call_method(const Step& s, std::vector<Cell> in, int depth) {
  FunctionPtr f = in.at(0).to_object().type->find_method(s.name);
  TORCH_CHECK(f, in[0].to_object().type->str(), " has no method '", s.name, "'");
  return f->run(std::move(in), depth + 1);
}

// The arguments of a row as cells, in the order of its parameters: those that it was boxed with once, too.
template <class Get>
std::vector<Cell> row_arguments(const Step& s, const Get& get) {
  std::vector<Cell> in;
  for (const Value* v : s.node->inputs()) {
    const auto fill = std::find_if(s.row->fills.begin(), s.row->fills.end(),
                                   [&](const RowCall::Fill& f) { return f.parameter == in.size(); });
    if (fill != s.row->fills.end()) {
      in.push_back(get(fill->from));
    } else if (is_constant(v)) {
      in.push_back(constant_value(v));
    } else {  // a list of ints
      std::vector<int64_t> ints;
      for (const Value* item : v->node()->inputs()) ints.push_back(constant_value(item).to_int());
      in.emplace_back(ints);
    }
  }
  return in;
}

}  // namespace

HostCall set_host_call(HostCall f) noexcept { return host_call.exchange(f); }
HostOverride set_host_override(HostOverride f) noexcept { return host_override.exchange(f); }
PrintTo set_print(PrintTo f) noexcept { return print_to.exchange(f); }

bool override_call(const Step& s, Cell* in, size_t count, Cell* out) {
  HostOverride f = host_override.load();
  return f && f(*s.node, in, count, out);
}

void Code::execute(std::vector<Cell>& registers, const Step*& at, int depth, std::vector<Cell>& results) const {
  Boxed boxed;
  Result r;
  auto get = [&](Operand i) -> const Cell& { return i >= 0 ? registers[size_t(i)] : constants_[size_t(~i)]; };
  auto collect = [&](const Step& s) {
    std::vector<Cell> in;
    in.reserve(s.in.size() + 1);
    for (Operand i : s.in) in.push_back(get(i));
    return in;
  };
  auto spread = [&](const Step& s, std::vector<Cell> values) {
    TORCH_CHECK(values.size() == s.out.size(), s.node->kind(), ": expected ", s.out.size(), " values but got ",
                values.size());
    for (size_t i = 0; i < values.size(); ++i) registers[size_t(s.out[i])] = std::move(values[i]);
  };
  auto give = [&](const Step& s, Cell c) {
    if (TORCH_LIKELY(s.out.size() == 1))
      registers[size_t(s.out[0])] = std::move(c);
    else if (!s.out.empty())
      spread(s, c.items());
  };
  auto jump = [&](const Step& s) { at = &steps_[size_t(s.target)] - 1; };

  while (true) {
    if (at->is_quick) quick_code_.run(registers.data(), at);
    const Step& s = *at;
    switch (s.op) {
      case Op::Row: {
        const RowCall& call = *s.row;
        const Schema& schema = call.row->schema;
        std::memcpy(static_cast<void*>(boxed.values), call.ready, sizeof(torch::Value) * schema.count);
        boxed.used = 0;
        boxed.keys = call.keys;
        for (const RowCall::Fill& f : call.fills) box(schema, f.parameter, get(f.from), boxed);
        if (TORCH_UNLIKELY(boxed.keys & kOverridden)) {
          std::vector<Cell> in = row_arguments(s, get), out(s.out.size());
          if (override_call(s, in.data(), in.size(), out.data())) {
            spread(s, std::move(out));
            boxed.reset();
            break;
          }
        }
        call.row->invoke(boxed.values, r);
        if (TORCH_LIKELY(schema.result_count == 1 && schema.results[0].kind == Kind::Tensor)) {
          registers[size_t(s.out[0])] = Cell(std::move(r.tensors[0]));
        } else {
          Cell out[kMaxResults];
          unbox(schema, r, out);
          for (size_t i = 0; i < s.out.size(); ++i) registers[size_t(s.out[i])] = std::move(out[i]);
          r = Result();
        }
        boxed.reset();
        break;
      }
      case Op::Region: {
        constexpr size_t kFew = 24;
        const Cell* few[kFew];
        std::vector<const Cell*> many;
        const Cell** in = few;
        if (s.in.size() > kFew) in = (many.resize(s.in.size()), many.data());
        for (size_t i = 0; i < s.in.size(); ++i) in[i] = &get(s.in[i]);
        Cell first[4];
        std::vector<Cell> more;
        Cell* out = first;
        if (s.out.size() > 4) out = (more.resize(s.out.size()), more.data());
        if (!s.region->run(in, out)) break;
        for (size_t i = 0; i < s.out.size(); ++i) registers[size_t(s.out[i])] = std::move(out[i]);
        for (int32_t dead : s.drop_too) registers[size_t(dead)] = Cell();
        jump(s);
        break;
      }
      case Op::Primitive: {
        std::vector<Cell> in = collect(s), out;
        Keys keys = 0;
        for (const Cell& c : in) keys |= keys_of(c);
        if (TORCH_UNLIKELY(keys & kOverridden)) {
          out.resize(s.out.size());
          if (override_call(s, in.data(), in.size(), out.data())) {
            spread(s, std::move(out));
            break;
          }
        }
        give(s, s.primitive(in.data()));
        break;
      }
      case Op::Moves:
      case Op::Jump:
      case Op::JumpUnless:
      case Op::LoopTest:
      case Op::LoopNext:
        TORCH_CHECK(false, "a step of the quick interpreter");
      case Op::List:
        registers[size_t(s.out[0])] =
            Cell::list(collect(s), s.type->is(TypeKind::List) ? s.type->element() : any_type());
        break;
      case Op::Tuple:
        registers[size_t(s.out[0])] = Cell::tuple(collect(s), s.type->name().empty() ? nullptr : s.type);
        break;
      case Op::Dict: {
        TORCH_CHECK(s.type && s.type->is(TypeKind::Dict) && s.in.size() % 2 == 0,
                    "prim::DictConstruct: not a dictionary");
        Cell d = Cell::dict(s.type->contained()[0], s.type->contained()[1]);
        for (size_t i = 0; i < s.in.size(); i += 2) d.to_dict().set(get(s.in[i]), get(s.in[i + 1]));
        registers[size_t(s.out[0])] = std::move(d);
        break;
      }
      case Op::Unpack: {
        const std::vector<Cell> items = get(s.in[0]).items();
        if (items.size() != s.out.size())
          throw Raised(ErrorKind::Value, "ValueError",
                       message("expected ", s.out.size(), " values to unpack, got ", items.size()));
        spread(s, items);
        break;
      }
      case Op::TupleIndex: {
        const auto& items = get(s.in[0]).items();
        int64_t i = get(s.in[1]).to_int();
        if (i < 0) i += int64_t(items.size());
        TORCH_CHECK_INDEX(i >= 0 && i < int64_t(items.size()), "tuple index out of range");
        registers[size_t(s.out[0])] = Cell(items[size_t(i)]);
        break;
      }
      case Op::TupleSlice: {
        const auto& items = get(s.in[0]).items();
        int64_t from = s.node->i("beg"), to = s.node->i("end");
        TORCH_CHECK_INDEX(0 <= from && from <= to && to <= int64_t(items.size()), "tuple slice out of range");
        registers[size_t(s.out[0])] = Cell::tuple({items.begin() + from, items.begin() + to});
        break;
      }
      case Op::GetAttr: {
        size_t slot;
        const ObjectHeap& from = object_of(s, get(s.in[0]), slot);
        Cell value = from.slots[slot];
        if (TORCH_UNLIKELY(value.is_none())) check_set(from, slot);
        registers[size_t(s.out[0])] = std::move(value);
        break;
      }
      case Op::SetAttr: {
        size_t slot;
        object_of(s, get(s.in[0]), slot).slots[slot] = get(s.in[1]);
        break;
      }
      case Op::Method:
        spread(s, call_method(s, collect(s), depth));
        break;
      case Op::Call:
        spread(s, s.callee->run(collect(s), depth + 1));
        break;
      case Op::Create: {
        TORCH_CHECK(s.type->is(TypeKind::Class), "prim::CreateObject: not a class");
        registers[size_t(s.out[0])] =
            make_object(std::const_pointer_cast<ClassType>(std::static_pointer_cast<const ClassType>(s.type)));
        break;
      }
      case Op::IsInstance: {
        bool is = false;
        const Cell& c = get(s.in[0]);
        for (const TypePtr& t : s.type->contained()) is |= matches(c, *t);
        registers[size_t(s.out[0])] = Cell(is);
        break;
      }
      case Op::Raise:
        raise(collect(s));
      case Op::Print:
        print(collect(s));
        break;
      case Op::Host: {
        HostCall f = host_call.load();
        TORCH_CHECK_IMPLEMENTED(f, "prim::PythonOp: there is no Python here to call");
        std::vector<Cell> in = collect(s), out(s.out.size());
        f(*s.node, in.data(), out.data());
        spread(s, std::move(out));
        break;
      }
      case Op::Fork: {
        std::vector<Cell> out = s.callee->run(collect(s), depth + 1);
        auto* future = new FutureHeap;
        future->element = s.type->is(TypeKind::Future) ? s.type->element() : any_type();
        future->value = out.size() == 1 ? std::move(out[0]) : out.empty() ? Cell() : Cell::tuple(std::move(out));
        registers[size_t(s.out[0])] = Cell::take(Cell::Tag::Future, future);
        break;
      }
      case Op::Wait: {
        Cell value = get(s.in[0]).to_future().value;
        registers[size_t(s.out[0])] = std::move(value);
        break;
      }
      case Op::Return:
        results = collect(s);
        return;
    }
    for (int32_t dead : s.drop) registers[size_t(dead)] = Cell();
    ++at;
  }
}

void Code::rethrow(const Step& at) const {
  const Location& l = at.node->location();
  if (!l) throw;
  std::string frame = "\n  File \"" + l.file + "\", line " + std::to_string(l.line) + ", in " + name_;
  if (!l.text.empty()) {
    const int width = std::min(l.end, int(l.text.size())) - l.column;
    frame += "\n    " + l.text + "\n    " + std::string(size_t(std::max(0, l.column)), ' ') +
             (width > 0 ? std::string(size_t(width), '~') : "^") + " <--- HERE";
  }
  try {
    throw;
  } catch (const Raised& e) {
    throw Raised(e.kind(), e.class_name(), traced(e.what(), frame, e.class_name()));
  } catch (const Error& e) {
    const char* name = class_of(e.kind());
    std::string text = traced(e.what(), frame, name ? name : "RuntimeError");
    if (name) throw Raised(e.kind(), name, std::move(text));
    throw Error(e.kind(), std::move(text));
  }
}

// Leave the `with` blocks around a step that has failed. What fails there gives way to the error that is on its way.
void Code::leave_all(const std::vector<Cell>& registers, const Step* at, int depth) const {
  const int here = int(at - steps_.data());
  for (const Scope& scope : scopes_) {
    if (here < scope.first || here >= scope.last) continue;
    const Step& s = steps_[size_t(scope.last)];
    std::vector<Cell> in;
    for (Operand i : s.in) in.push_back(i >= 0 ? registers[size_t(i)] : constants_[size_t(~i)]);
    try {
      if (s.op == Op::Method)
        call_method(s, std::move(in), depth);
      else
        s.primitive(in.data());
    } catch (const Error&) {
    }
  }
}

std::vector<Cell> Code::run(std::vector<Cell> arguments, int depth) const {
  if (depth > kMaxDepth) throw Raised(ErrorKind::Runtime, "RecursionError", name_ + ": the program calls too deeply");
  TORCH_CHECK_TYPE(arguments.size() == graph_->inputs().size(), name_, "() takes ", graph_->inputs().size(),
                   " arguments but ", arguments.size(), " were given");
  std::vector<Cell> registers = std::move(arguments), results;
  registers.resize(registers_);
  const Step* at = steps_.data();
  const ConstantForms::Use use = forms();
  try {
    execute(registers, at, depth, results);
  } catch (const Error&) {
    leave_all(registers, at, depth);
    rethrow(*at);
  } catch (...) {
    leave_all(registers, at, depth);
    throw;
  }
  return results;
}

}  // namespace torch::program
