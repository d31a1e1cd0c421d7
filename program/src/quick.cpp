#include "quick.h"

#include <algorithm>
#include <cstring>

#include "arithmetic.h"
#include "code.h"

namespace torch::program {

#define ARITHMETIC(EACH) \
  EACH(Add)              \
  EACH(Sub)              \
  EACH(Mul)              \
  EACH(Div)              \
  EACH(FloorDiv)         \
  EACH(Remainder)        \
  EACH(And)              \
  EACH(Or)               \
  EACH(Xor)
#define COMPARISONS(EACH) EACH(Lt) EACH(Le) EACH(Gt) EACH(Ge) EACH(Eq) EACH(Ne)
// `Float` is of an int, `GetItemOfItem` this step and the next: an item of a list that nothing else asks for.
#define OTHERS(EACH)  \
  EACH(Not)           \
  EACH(Float)         \
  EACH(Truth)         \
  EACH(GetItem)       \
  EACH(GetItemOfItem) \
  EACH(SetItem)       \
  EACH(Append)        \
  EACH(Call)          \
  EACH(Move)          \
  EACH(Take)          \
  EACH(Drop)          \
  EACH(Jump)          \
  EACH(JumpUnless)    \
  EACH(LoopTest)      \
  EACH(LoopNext)

// Arithmetic comes first, with its own numbers.
enum class QuickCode::What : uint8_t {
  Leave,
#define EACH(NAME) NAME,
  ARITHMETIC(EACH) COMPARISONS(EACH)
#undef EACH
#define EACH(NAME) JumpUnless##NAME,  // a comparison, and the jump behind it
      COMPARISONS(EACH)
#undef EACH
#define EACH(NAME) NAME,
          OTHERS(EACH)
#undef EACH
};

namespace {

constexpr size_t kMaxArguments = 8;

bool is(const Step& s, std::string_view kind, std::string_view overload) {
  const Signature& f = *s.node->signature();
  return f.kind == kind && f.overload == overload;
}

// A comparison for the jump behind it.
bool is_for(const Step& s, const Step* next) {
  return next && next->op == Op::JumpUnless && next->drop.empty() && s.drop.empty() && next->in[0] == s.out[0] &&
         s.node->output()->uses().size() == 1;
}

// Whether a move is from a register that holds nothing needed after it.
bool is_last_use(const Step& s, size_t move) {
  const int32_t from = s.in[move];
  return std::find(s.drop.begin(), s.drop.end(), from) != s.drop.end() &&
         std::find(s.out.begin(), s.out.end(), from) == s.out.end() &&
         std::find(s.in.begin() + ptrdiff_t(move) + 1, s.in.end(), from) == s.in.end();
}

// Whether a step takes an item of the list that the one before it has taken, and nobody else has use for that list.
bool is_of(const Step& next, const Step& s) {
  return s.drop.empty() && next.op == Op::Primitive && is(next, "aten::__getitem__", "t") && next.in[0] == s.out[0] &&
         next.in[1] != s.out[0] && next.drop.size() == 1 && next.drop[0] == s.out[0];
}

// The item of a list, or null where it is no list, or has no such item.
Cell* item(const Cell& list, const Cell& index) {
  if (TORCH_UNLIKELY(!list.is(Cell::Tag::List) || !index.is(Cell::Tag::Int))) return nullptr;
  std::vector<Cell>& items = static_cast<ListHeap*>(list.heap())->items;
  const uint64_t i = uint64_t(index.to_int() < 0 ? index.to_int() + int64_t(items.size()) : index.to_int());
  return TORCH_LIKELY(i < items.size()) ? &items[i] : nullptr;
}

bool is_plain(const Cell& c) { return c.tag() < Cell::Tag::Tensor; }

// out = from
void assign(Cell& out, const Cell& from) {
  if (TORCH_LIKELY(is_plain(from) && is_plain(out)))
    std::memcpy(static_cast<void*>(&out), static_cast<const void*>(&from), sizeof(Cell));
  else
    out = from;
}

}  // namespace

bool QuickCode::is_one(int32_t operand) const {
  if (operand >= 0) return false;
  const Cell& c = constants_[constants_.size() - size_t(-operand)];
  return c.is(Cell::Tag::Int) && c.to_int() == 1;
}

bool QuickCode::jumps(What what) {
  return what >= What::Jump || (what >= What::JumpUnlessLt && what <= What::JumpUnlessNe);
}

void QuickCode::add(What what, int32_t a, int32_t b, int32_t out, int32_t target, size_t step) {
  words_.push_back({what, a, b, out, target, int32_t(step)});
}

void QuickCode::encode(const Step& s, size_t number, const Step* next) {
  bool drops = true;
  switch (s.op) {
    case Op::Primitive: {
      if (s.in.size() > kMaxArguments || s.out.size() > 1) return add(What::Leave, 0, 0, 0, 0, number);
      const int32_t out = s.out.empty() ? -1 : s.out[0];
      const bool unused = out >= 0 && s.drop.size() == 1 && s.drop[0] == out;
      const Arithmetic arithmetic = out >= 0 ? arithmetic_of(*s.node->signature()) : Arithmetic::None;
      if (is_comparison(arithmetic) && is_for(s, next)) {
        const int jump = int(What::JumpUnlessLt) + int(arithmetic) - int(Arithmetic::Lt);
        return add(What(jump), s.in[0], s.in[1], out, next->target, number);
      }
      if (arithmetic != Arithmetic::None)
        add(What(int(arithmetic)), s.in[0], s.in[1], out, 0, number);
      else if (out >= 0 && is(s, "aten::__not__", ""))
        add(What::Not, s.in[0], 0, out, 0, number);
      else if (out >= 0 && is(s, "aten::Float", "int"))
        add(What::Float, s.in[0], 0, out, 0, number);
      else if (out >= 0 && is(s, "aten::Bool", "int"))
        add(What::Truth, s.in[0], 0, out, 0, number);
      else if (out >= 0 && is(s, "aten::__derive_index", "") && is_one(s.in[2]))
        add(What::Add, s.in[1], s.in[0], out, 0, number);
      else if (out >= 0 && is(s, "aten::__getitem__", "t") && next && is_of(*next, s))
        return add(What::GetItemOfItem, s.in[0], s.in[1], next->out[0], next->in[1], number);
      else if (out >= 0 && is(s, "aten::__getitem__", "t"))
        add(What::GetItem, s.in[0], s.in[1], out, 0, number);
      else if (unused && is(s, "aten::append", "t"))
        add(What::Append, s.in[0], s.in[1], 0, 0, number), drops = false;
      else if (unused && is(s, "aten::_set_item", "t"))
        add(What::SetItem, s.in[0], s.in[1], s.in[2], 0, number), drops = false;
      else
        add(What::Call, 0, 0, out, 0, number);
      break;
    }
    case Op::Moves:
      for (size_t i = 0; i < s.in.size(); ++i)
        add(is_last_use(s, i) ? What::Take : What::Move, s.in[i], 0, s.out[i], 0, number);
      break;
    case Op::Jump:
      add(What::Jump, 0, 0, 0, s.target, number);
      break;
    case Op::JumpUnless:
      add(What::JumpUnless, s.in[0], 0, 0, s.target, number);
      break;
    case Op::LoopTest:
      add(What::LoopTest, s.in[0], s.in[1], s.in[2], s.target, number);
      break;
    case Op::LoopNext: {
      // Back to behind the test, which it does too; out of the loop is what comes next.
      const Step& head = steps_[size_t(s.target)];
      add(What::LoopNext, head.in[0], head.in[1], head.in[2], s.target + 1, number);
      break;
    }
    default:
      return add(What::Leave, 0, 0, 0, 0, number);
  }
  if (drops)
    for (int32_t dead : s.drop) {
      const auto last = std::find(s.in.rbegin(), s.in.rend(), dead);
      const bool taken = s.op == Op::Moves && last != s.in.rend() && is_last_use(s, size_t(s.in.rend() - last) - 1);
      if (!taken) add(What::Drop, 0, 0, dead, 0, number);
    }
}

QuickCode::QuickCode(const std::vector<Step>& steps, const std::vector<Cell>& constants)
    : steps_(steps.data()), constants_(constants.rbegin(), constants.rend()) {
  for (size_t i = 0; i < steps.size(); ++i) {
    entries_.push_back(int32_t(words_.size()));
    encode(steps[i], i, i + 1 < steps.size() ? &steps[i + 1] : nullptr);
  }
  for (Word& w : words_)
    if (jumps(w.what)) w.target = entries_[size_t(w.target)];
  for (Word& w : words_)  // a jump to a jump
    for (int turns = 0; jumps(w.what) && words_[size_t(w.target)].what == What::Jump && turns < 100; ++turns)
      w.target = words_[size_t(w.target)].target;
}

bool QuickCode::takes(size_t step) const noexcept {
  const Word& w = words_[size_t(entries_[step])];
  return w.what != What::Leave || size_t(w.step) != step;  // a step without work is the next one
}

TORCH_NOINLINE void QuickCode::call(Cell* registers, const Step& s) const {
  // Not counted: registers hold what they lend.
  alignas(Cell) unsigned char lent[kMaxArguments * sizeof(Cell)];
  const Cell* constants = constants_.data() + constants_.size();
  Keys keys = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    const Cell& c = (s.in[i] >= 0 ? registers : constants)[s.in[i]];
    keys |= keys_of(c);
    std::memcpy(lent + i * sizeof(Cell), static_cast<const void*>(&c), sizeof(Cell));
  }
  Cell out;
  if (TORCH_LIKELY(!(keys & kOverridden)) || !override_call(s, reinterpret_cast<Cell*>(lent), s.in.size(), &out))
    out = s.primitive(reinterpret_cast<Cell*>(lent));
  if (!s.out.empty()) registers[size_t(s.out[0])] = std::move(out);
}

void QuickCode::run(Cell* registers, const Step*& at) const {
  using Tag = Cell::Tag;
  // A jump of its own behind each word: processors foresee the next one by it (Collatz: 400 us, so 309).
  static const void* const kLabels[] = {&&Leave,
#define EACH(NAME) &&NAME,
                                        ARITHMETIC(EACH) COMPARISONS(EACH)
#undef EACH
#define EACH(NAME) &&JumpUnless##NAME,
                                            COMPARISONS(EACH)
#undef EACH
#define EACH(NAME) &&NAME,
                                                OTHERS(EACH)
#undef EACH
  };
#define GO goto* kLabels[size_t(w->what)]
#define NEXT \
  ++w;       \
  GO
#define GET(OPERAND) (w->OPERAND >= 0 ? registers : constants)[w->OPERAND]

  const Cell* const constants = constants_.data() + constants_.size();
  const Word* const words = words_.data();
  const Word* w = words + entries_[size_t(at - steps_)];
  GO;

#define EACH(NAME)                                                                                    \
  NAME:                                                                                               \
  if (TORCH_UNLIKELY(!do_arithmetic<Arithmetic::NAME>(GET(a), GET(b), registers[w->out]))) goto Call; \
  NEXT;
  ARITHMETIC(EACH)
  COMPARISONS(EACH)
#undef EACH
#define EACH(NAME)                                                                       \
  JumpUnless##NAME : {                                                                   \
    bool is;                                                                             \
    if (TORCH_UNLIKELY(!do_comparison<Arithmetic::NAME>(GET(a), GET(b), is))) goto Call; \
    w = is ? w + 2 : words + w->target;                                                  \
    GO;                                                                                  \
  }
  COMPARISONS(EACH)
#undef EACH

Not:
  {
    const Cell& a = GET(a);
    if (TORCH_UNLIKELY(!a.is(Tag::Bool))) goto Call;
    registers[w->out].set(!a.to_bool());
    NEXT;
  }
Float:
  {
    const Cell& a = GET(a);
    if (TORCH_UNLIKELY(!a.is(Tag::Int))) goto Call;
    registers[w->out].set(double(a.to_int()));
    NEXT;
  }
Truth:
  {
    const Cell& a = GET(a);
    if (TORCH_UNLIKELY(!a.is(Tag::Int))) goto Call;
    registers[w->out].set(a.to_int() != 0);
    NEXT;
  }
GetItem:
  {
    const Cell* c = item(GET(a), GET(b));
    if (TORCH_UNLIKELY(!c)) goto Call;
    assign(registers[w->out], *c);
    NEXT;
  }
GetItemOfItem:
  {
    const Cell *list = item(GET(a), GET(b)), *c = list ? item(*list, GET(target)) : nullptr;
    if (TORCH_UNLIKELY(!c)) goto Call;
    assign(registers[w->out], *c);
    w = words + entries_[size_t(w->step) + 2];
    GO;
  }
SetItem:
  {
    Cell* c = item(GET(a), GET(b));
    if (TORCH_UNLIKELY(!c)) goto Call;
    assign(*c, GET(out));
    NEXT;
  }
Append:
  {
    const Cell& list = GET(a);
    if (TORCH_UNLIKELY(!list.is(Tag::List))) goto Call;
    static_cast<ListHeap*>(list.heap())->items.push_back(GET(b));
    NEXT;
  }
Move:
  assign(registers[w->out], GET(a));
  NEXT;
Take:
  registers[w->out] = std::move(registers[w->a]);
  NEXT;
Drop:
  registers[w->out] = Cell();
  NEXT;
Jump:
  w = words + w->target;
  GO;
JumpUnless:
  {
    const Cell& a = GET(a);
    if (TORCH_UNLIKELY(!a.is(Tag::Bool))) at = steps_ + w->step;
    w = a.to_bool() ? w + 1 : words + w->target;
    GO;
  }
LoopTest:
  at = steps_ + w->step;
  w = registers[w->a].to_int() < registers[w->b].to_int() && registers[w->out].to_bool() ? w + 1 : words + w->target;
  GO;
LoopNext:
  {
    Cell& turn = registers[w->a];
    turn.set(turn.to_int() + 1);
    if (TORCH_UNLIKELY(!registers[w->out].is(Tag::Bool))) at = steps_ + w->step;
    w = turn.to_int() < registers[w->b].to_int() && registers[w->out].to_bool() ? words + w->target : w + 1;
    GO;
  }
Call:
  at = steps_ + w->step;
  call(registers, *at);
  NEXT;
Leave:
  at = steps_ + w->step;
#undef GET
#undef NEXT
#undef GO
}

}  // namespace torch::program
