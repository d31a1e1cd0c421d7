#include "machine_code.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace torch::program {

namespace {
constexpr int kMask = 15;     // with AVX, the register that says which lanes of the last piece there are
constexpr int kLanes = 1;     // with AVX-512, the mask register that does
constexpr int kCompared = 2;  // and one for what is compared
constexpr int kNever = std::numeric_limits<int>::max();
// Those that a loop may change come first; it brings the others back.
constexpr int kPointers[MachineCode::kMaxOperands] = {1, 2, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};
constexpr int kFirstSaved = 6;
}  // namespace

MachineCode::MachineCode(std::vector<Instruction> program, std::vector<Number> numbers, std::vector<uint64_t> constants,
                         int operands, bool is_double, bool is_wide)
    : program_(std::move(program)),
      numbers_(std::move(numbers)),
      constants_(std::move(constants)),
      operands_(operands),
      is_double_(is_double),
      is_wide_(is_wide),
      bytes_(is_wide ? 64 : 32),
      registers_(is_wide ? 32 : kMask) {
  for (size_t i = 0; i < program_.size(); ++i)
    for (int v : {program_[i].a, program_[i].b, program_[i].c})
      if (v >= 0) numbers_[size_t(v)].uses.push_back(int(i));
}

// --- bytes ---

void MachineCode::put(std::initializer_list<int> bytes) {
  for (int b : bytes) code_.push_back(uint8_t(b));
}
// 32 bits that are to say how far something is.
size_t MachineCode::put_place() {
  put({0, 0, 0, 0});
  return code_.size() - 4;
}
void MachineCode::point(size_t place, size_t to) {
  const int32_t distance = int32_t(int64_t(to) - int64_t(place) - 4);
  std::memcpy(&code_[place], &distance, 4);
}
// Three or four bytes of prefix: map, prefix, the upper bits of registers; `second` is the operand in between.
void MachineCode::prefix(int map, int prefix, int opcode, int reg, int second, int base, bool w, int mask,
                         bool zeroes) {
  if (!is_wide_) {
    put({0xC4, (~reg >> 3 & 1) << 7 | 1 << 6 | (~base >> 3 & 1) << 5 | map,
         int(w) << 7 | (~second & 15) << 3 | 1 << 2 | prefix, opcode});
    return;
  }
  put({0x62, (~reg >> 3 & 1) << 7 | (~base >> 4 & 1) << 6 | (~base >> 3 & 1) << 5 | (~reg >> 4 & 1) << 4 | map,
       int(w) << 7 | (~second & 15) << 3 | 1 << 2 | prefix, int(zeroes) << 7 | 2 << 5 | (~second >> 4 & 1) << 3 | mask,
       opcode});
}
void MachineCode::with_register(int map, int prefix, int opcode, int reg, int second, int other, bool w, int mask) {
  this->prefix(map, prefix, opcode, reg, second, other, w, mask);
  put({0xC0 | (reg & 7) << 3 | (other & 7)});
}
// [base + rax + offset], or without rax. With AVX-512 an offset is counted in registers.
void MachineCode::with_memory(int map, int prefix, int opcode, int reg, int second, int base, bool is_indexed,
                              int offset, bool w, int mask, bool zeroes) {
  this->prefix(map, prefix, opcode, reg, second, base, w, mask, zeroes);
  put({0x44 | (reg & 7) << 3, (is_indexed ? 0 : 4) << 3 | (base & 7), is_wide_ ? offset / bytes_ : offset});
}
void MachineCode::push(int r, int opcode) {
  if (r >= 8) put({0x41});
  put({opcode | (r & 7)});
}

// --- registers ---

// Of two registers in turns each has its own numbers, but for those that are the same throughout.
int MachineCode::id_of(int v, int turn) const {
  const Number& n = numbers_[size_t(v)];
  return n.kind == Number::Kind::Constant || n.is_everywhere ? v : v + turn * int(numbers_.size());
}
void MachineCode::load(const Body& b, int id, int to) {
  const Number& n = numbers_[size_t(number_of(id))];
  const int packed = is_double_ && is_wide_ ? 1 : 0;  // what a masked move counts
  if (n.kind == Number::Kind::Constant) {
    prefix(1, 0, 0x10, to, 0, 5, false);
    put({0x05 | (to & 7) << 3});
    constant_places_.push_back({put_place(), n.index});
    return;
  }
  const int base = kPointers[n.kind == Number::Kind::Operand ? n.index : n.stored];
  if (n.is_everywhere)
    with_memory(2, 1, is_double_ ? 0x19 : 0x18, to, 0, base, false, 0, packed);  // broadcast
  else if (b.piece == Piece::Rest && is_wide_)
    with_memory(1, packed, 0x10, to, 0, base, true, 0, packed, kLanes, true);
  else if (b.piece == Piece::Rest)
    with_memory(2, 1, 0x2C, to, kMask, base, true);
  else
    with_memory(1, 0, 0x10, to, 0, base, true, id == number_of(id) ? 0 : bytes_);
}
void MachineCode::store(const Body& b, int id, int from) {
  const int base = kPointers[numbers_[size_t(number_of(id))].stored];
  const int packed = is_double_ ? 1 : 0;
  if (b.piece == Piece::Rest && is_wide_)
    with_memory(1, packed, 0x11, from, 0, base, true, 0, packed, kLanes);
  else if (b.piece == Piece::Rest)
    with_memory(2, 1, 0x2E, from, kMask, base, true);
  else
    with_memory(1, 0, 0x11, from, 0, base, true, id == number_of(id) ? 0 : bytes_);
}
// The first instruction from `now` on that reads it.
int MachineCode::next_use(int id, int now) const {
  const auto& uses = numbers_[size_t(number_of(id))].uses;
  auto at = std::lower_bound(uses.begin(), uses.end(), now);
  return at == uses.end() ? kNever : *at;
}
// A free one, or that of what is read last of all that lies in memory as well; -1 when there is none.
int MachineCode::take(Body& b, int now) const {
  int best = -1, latest = -1;
  for (int r = 0; r < registers_; ++r) {
    if (b.locked >> r & 1) continue;
    if (b.holds[r] < 0) return r;
    const Number& n = numbers_[size_t(number_of(b.holds[r]))];
    if (n.kind == Number::Kind::Made && n.stored < 0) continue;
    if (const int use = next_use(b.holds[r], now); use > latest) best = r, latest = use;
  }
  if (best >= 0) release(b, b.holds[best]);
  return best;
}
int MachineCode::place(Body& b, int id, int r) const {
  b.home[size_t(id)] = r;
  return b.holds[r] = id, r;
}
void MachineCode::release(Body& b, int id) const {
  if (b.home[size_t(id)] < 0) return;
  b.holds[b.home[size_t(id)]] = -1;
  b.home[size_t(id)] = -1;
}
// Gives back the registers of what instruction `now` reads last.
void MachineCode::release_dead(Body& b, std::initializer_list<int> values, int now, int turn) const {
  const bool is_last_turn = b.piece != Piece::Pair || turn == 1;
  for (int v : values) {
    if (v < 0) continue;
    const int id = id_of(v, turn);
    if (b.home[size_t(id)] < 0 || next_use(id, now + 1) != kNever) continue;
    if (!is_last_turn && id_of(v, 1) == id) continue;
    b.locked &= ~(1u << b.home[size_t(id)]);
    release(b, id);
  }
}

bool MachineCode::write(Body& b, int now, int turn) {
  const Instruction& i = program_[size_t(now)];
  int at[3] = {0, 0, 0};
  b.locked = 0;
  for (int k = 0; k < 3; ++k) {
    const int v = k == 0 ? i.a : k == 1 ? i.b : i.c;
    if (v < 0) continue;
    const int id = id_of(v, turn);
    if (b.home[size_t(id)] < 0) {
      const int r = take(b, now);
      if (r < 0) return false;
      load(b, id, place(b, id, r));
    }
    at[k] = b.home[size_t(id)];
    b.locked |= 1u << at[k];
  }
  // Factors are read after the result is begun: their registers cannot be its own.
  const bool adds = i.kind == Instruction::MulAdd || i.kind == Instruction::MulSub;
  if (!adds) release_dead(b, {i.a, i.b, i.c}, now, turn);
  const int to = take(b, now + 1), id = id_of(i.to, turn), packed = is_double_ ? 1 : 0;
  const bool w = is_double_ && is_wide_;
  if (to < 0) return false;
  place(b, id, to);
  static constexpr int kOpcodes[] = {0x58, 0x5C, 0x59, 0x5E, 0x5D, 0x5F, 0x51, 0x54, 0x55, 0x57};
  switch (i.kind) {
    case Instruction::Equal:
    case Instruction::NotEqual:
    case Instruction::Less:
    case Instruction::LessEqual:
    case Instruction::Unordered: {
      static constexpr int kPredicates[] = {0, 4, 1, 2, 3};
      with_register(1, packed, 0xC2, is_wide_ ? kCompared : to, at[0], at[1], w);
      put({kPredicates[i.kind - Instruction::Equal]});
      if (is_wide_) with_register(2, 2, 0x38, to, 0, kCompared, w);
      break;
    }
    case Instruction::Blend:
      if (is_wide_) {
        with_register(2, 2, 0x39, kCompared, 0, at[2], w);
        with_register(2, 1, 0x65, to, at[0], at[1], w, kCompared);
      } else {
        with_register(3, 1, is_double_ ? 0x4B : 0x4A, to, at[0], at[1]);
        put({at[2] << 4});
      }
      break;
    case Instruction::MulAdd:
    case Instruction::MulSub:
      with_register(1, 0, 0x28, to, 0, at[2]);
      with_register(2, 1, i.kind == Instruction::MulAdd ? 0xB8 : 0xBC, to, at[0], at[1], is_double_);
      release_dead(b, {i.a, i.b, i.c}, now, turn);
      break;
    default:
      with_register(1, packed, kOpcodes[i.kind], to, at[0], at[1], w);
  }
  if (numbers_[size_t(i.to)].stored >= 0) store(b, id, to);
  if (next_use(id, now + 1) == kNever) release(b, id);
  return true;
}

bool MachineCode::body(Piece piece) {
  const int turns = piece == Piece::Pair ? 2 : 1;
  Body b{piece, std::vector<int>(numbers_.size() * size_t(turns), -1), {}};
  std::fill(std::begin(b.holds), std::end(b.holds), -1);
  for (int now = 0; now < int(program_.size()); ++now)
    for (int turn = 0; turn < turns; ++turn)
      if (!write(b, now, turn)) return false;
  return true;
}

// --- the loop ---

// add or sub of a register and a number.
void MachineCode::count_bytes(int opcode, int bytes) { put({0x48, 0x81, opcode, bytes, 0, 0, 0}); }
// Runs a body while there are that many bytes left. rax counts bytes, rsi is where the last piece begins.
bool MachineCode::repeat(Piece piece, int bytes) {
  count_bytes(0xEE, bytes);  // sub rsi, bytes
  put({0x48, 0x39, 0xF0});   // cmp rax, rsi
  put({0x0F, 0x8F});         // jg past
  const size_t to_past = put_place(), again = code_.size();
  if (!body(piece)) return false;
  count_bytes(0xC0, bytes);  // add rax, bytes
  put({0x48, 0x39, 0xF0});   // cmp rax, rsi
  put({0x0F, 0x8E});         // jle again
  point(put_place(), again);
  point(to_past, code_.size());
  count_bytes(0xC6, bytes);  // past: add rsi, bytes
  return true;
}
// Of rsi bytes that are left, which lanes there are.
void MachineCode::mask_rest(size_t& to_masks) {
  if (is_wide_) {
    put({0xC1, 0xEE, is_double_ ? 3 : 2});            // shr esi, 2
    put({0xBF, 0xFF, 0xFF, 0xFF, 0xFF});              // mov edi, -1
    put({0xC4, 0xE2, 0x48, 0xF5, 0xFF});              // bzhi edi, edi, esi
    put({0xC5, 0xF8, 0x92, 0xC0 | kLanes << 3 | 7});  // kmovw k1, edi
    return;
  }
  put({0x48, 0x8D, 0x3D});  // lea rdi, [the middle of the masks]
  to_masks = put_place();
  put({0x48, 0x29, 0xF7});  // sub rdi, rsi
  with_memory(1, 0, 0x10, kMask, 0, 7, false);
}

// void loop(rdi: char* const* data, rsi: int64_t n, rdx)
std::vector<uint8_t> MachineCode::loop() {
  put({0xF3, 0x0F, 0x1E, 0xFA});  // endbr64
  for (int k = kFirstSaved; k < operands_; ++k) push(kPointers[k], 0x50);
  for (int k = 0; k < operands_; ++k) {  // mov pointer, [rdi + 8 * k]
    const int r = kPointers[k];
    put({0x48 | (r >> 3) << 2, 0x8B, 0x47 | (r & 7) << 3, 8 * k});
  }
  put({0x31, 0xC0});                            // xor eax, eax
  put({0x48, 0xC1, 0xE6, is_double_ ? 3 : 2});  // shl rsi, 2
  // Two registers in turns, where there are as many: neither waits for itself.
  const size_t size = code_.size(), places = constant_places_.size();
  if (!repeat(Piece::Pair, 2 * bytes_)) code_.resize(size), constant_places_.resize(places);
  if (!repeat(Piece::Whole, bytes_)) return {};
  put({0x48, 0x29, 0xC6});  // sub rsi, rax
  put({0x0F, 0x84});        // je done
  const size_t to_done = put_place();
  size_t to_masks = 0;
  mask_rest(to_masks);
  if (!body(Piece::Rest)) return {};
  point(to_done, code_.size());
  put({0xC5, 0xF8, 0x77});  // done: vzeroupper
  for (int k = operands_ - 1; k >= kFirstSaved; --k) push(kPointers[k], 0x58);
  put({0xC3});

  while (code_.size() % size_t(bytes_)) put({0xCC});
  if (to_masks) {
    code_.insert(code_.end(), size_t(bytes_), 0xFF);
    point(to_masks, code_.size());
    code_.insert(code_.end(), size_t(bytes_), 0);
  }
  const size_t first = code_.size();
  for (uint64_t bits : constants_)
    for (int k = 0; k < bytes_; ++k) code_.push_back(uint8_t(bits >> 8 * (k % (is_double_ ? 8 : 4))));
  for (auto [at, index] : constant_places_) point(at, first + size_t(index * bytes_));
  return std::move(code_);
}

}  // namespace torch::program
