#include "fused.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "machine_code.h"
#include "torch/core/cpu.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#define TORCH_FUSES 1
#endif

namespace torch::program {

#ifdef TORCH_FUSES

namespace {

enum Formula : int {
  kAdd,
  kAddScaled,
  kAddScaledOnce,  // rounded once, as compilers make it where there are such instructions
  kSub,
  kMul,
  kDivide,
  kMaximum,
  kMinimum,
  kNeg,
  kAbs,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSquare,
  kRelu,
  kThresholdBackward,
  kSigmoidBackward,
  kTanhBackward,
  kTanhBackwardOnce,
  kEqual,  // these give lanes, which no memory holds: a loop that writes them for others stays a loop
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kOfTruth,  // and these take them: the numbers 1 and 0
  kWhere,
};
bool gives_lanes(int formula) { return formula >= kEqual && formula <= kGreaterEqual; }
bool takes_lanes(int formula) { return formula >= kOfTruth; }

struct Known {
  std::string_view name;  // of the operator
  Formula formula;
  int inputs;
  bool has_scalar;
};
constexpr Known kKnown[] = {
    {"add", kAdd, 2, false},
    {"add", kAddScaled, 2, true},
    {"add", kAddScaledOnce, 2, true},
    {"sub", kSub, 2, false},
    {"sub", kAddScaled, 2, true},
    {"sub", kAddScaledOnce, 2, true},
    {"mul", kMul, 2, false},
    {"div", kDivide, 2, false},
    {"true_divide", kDivide, 2, false},
    {"maximum", kMaximum, 2, false},
    {"minimum", kMinimum, 2, false},
    {"neg", kNeg, 1, false},
    {"abs", kAbs, 1, false},
    {"sqrt", kSqrt, 1, false},
    {"rsqrt", kRsqrt, 1, false},
    {"reciprocal", kReciprocal, 1, false},
    {"square", kSquare, 1, false},
    {"pow", kSquare, 1, false},
    {"relu", kRelu, 1, false},
    {"threshold_backward", kThresholdBackward, 2, true},
    {"sigmoid_backward", kSigmoidBackward, 2, false},
    {"tanh_backward", kTanhBackward, 2, false},
    {"tanh_backward", kTanhBackwardOnce, 2, false},
    {"eq", kEqual, 2, false},
    {"ne", kNotEqual, 2, false},
    {"lt", kLess, 2, false},
    {"le", kLessEqual, 2, false},
    {"gt", kGreater, 2, false},
    {"ge", kGreaterEqual, 2, false},
    {"_to_copy", kOfTruth, 1, false},
    {"where", kWhere, 3, false},
};

bool has_wide_registers() {
  static const bool has = cpu_level() >= CpuLevel::V4 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
  return has;
}

// Turns formulas into instructions.
class Writer {
 public:
  Writer(const std::vector<bool>& is_everywhere, DType type)
      : is_everywhere_(is_everywhere), is_double_(type == DType::Float64) {}

  // False where it has too many operands.
  bool add(const FusedStep& s, bool is_kept) {
    using I = Instruction;
    const uint64_t sign = is_double_ ? uint64_t(1) << 63 : uint64_t(1) << 31;
    int in[3] = {-1, -1, -1};
    for (size_t k = 1; k < s.at.size(); ++k) {
      auto [at, is_new] = current_.try_emplace(s.at[k], -1);
      const bool wants_lanes = takes_lanes(s.formula) && k == 1;
      if (is_new ? wants_lanes : lanes_.count(at->second) != size_t(wants_lanes)) return false;
      if (is_new) {
        const int p = operand(s.at[k]);
        if (p < 0) return false;
        at->second = new_number({Number::Kind::Operand, p, -1, bool(is_everywhere_[size_t(s.at[k])])});
      }
      in[k - 1] = at->second;
    }
    const int a = in[0], b = in[1];
    int made = -1;
    switch (Formula(s.formula)) {
      case kAdd:
        made = make(I::Add, a, b);
        break;
      case kAddScaled:
        made = make(I::Add, a, make(I::Mul, b, scalar(s)));
        break;
      case kAddScaledOnce:
        made = make(I::MulAdd, b, scalar(s), a);
        break;
      case kSub:
        made = make(I::Sub, a, b);
        break;
      case kMul:
        made = make(I::Mul, a, b);
        break;
      case kDivide:
        made = make(I::Div, a, b);
        break;
      case kMaximum:
      case kMinimum:
        made = make(s.formula == kMaximum ? I::Max : I::Min, a, b);  // gives b where one of them is NaN
        made = make(I::Blend, made, a, make(I::Unordered, a, a));
        break;
      case kNeg:
        made = make(I::Xor, a, constant(sign));
        break;
      case kAbs:
        made = make(I::AndNot, constant(sign), a);
        break;
      case kSqrt:
        made = make(I::Sqrt, -1, a);
        break;
      case kRsqrt:
        made = make(I::Div, constant_of(1), make(I::Sqrt, -1, a));
        break;
      case kReciprocal:
        made = make(I::Div, constant_of(1), a);
        break;
      case kSquare:
        made = make(I::Mul, a, a);
        break;
      case kRelu:
        made = make(I::AndNot, make(I::LessEqual, a, constant_of(0)), a);
        break;
      case kThresholdBackward:
        made = make(I::AndNot, make(I::LessEqual, b, scalar(s)), a);
        break;
      case kSigmoidBackward:
        made = make(I::Mul, make(I::Mul, a, make(I::Sub, constant_of(1), b)), b);
        break;
      case kTanhBackward:
        made = make(I::Mul, a, make(I::Sub, constant_of(1), make(I::Mul, b, b)));
        break;
      case kTanhBackwardOnce:
        made = make(I::Mul, a, make(I::MulSub, b, b, constant_of(1)));
        break;
      case kEqual:
        made = make(I::Equal, a, b);
        break;
      case kNotEqual:
        made = make(I::NotEqual, a, b);
        break;
      case kLess:
        made = make(I::Less, a, b);
        break;
      case kLessEqual:
        made = make(I::LessEqual, a, b);
        break;
      case kGreater:
        made = make(I::Less, b, a);
        break;
      case kGreaterEqual:
        made = make(I::LessEqual, b, a);
        break;
      case kOfTruth:
        made = make(I::And, a, constant_of(1));
        break;
      case kWhere:
        made = make(I::Blend, in[2], b, a);
        break;
    }
    if (gives_lanes(s.formula)) {
      if (is_kept) return false;
      lanes_.insert(made);
    }
    current_[s.at[0]] = made;
    if (is_kept && (numbers_[size_t(made)].stored = operand(s.at[0])) < 0) return false;
    return true;
  }

  std::vector<uint8_t> code() const {
    // Twice as wide where the kernels are, too: ten operations on 1e4 floats 1.4 -> 1.0 us, with backward 6.8 -> 4.5,
    // layer norm of 512 x 768 with backward 251 -> 218 (one thread of an AMD EPYC, Zen 5).
    return MachineCode(program_, numbers_, constants_, int(tiles_.size()), is_double_, has_wide_registers()).loop();
  }
  const std::vector<int>& tiles() const { return tiles_; }

 private:
  int operand(int tile) {
    auto at = std::find(tiles_.begin(), tiles_.end(), tile);
    if (at == tiles_.end()) {
      if (tiles_.size() == MachineCode::kMaxOperands) return -1;
      at = tiles_.insert(at, tile);
    }
    return int(at - tiles_.begin());
  }
  int new_number(Number n) {
    numbers_.push_back(std::move(n));
    return int(numbers_.size()) - 1;
  }
  int constant(uint64_t bits) {
    auto [at, is_new] = known_constants_.try_emplace(bits, -1);
    if (is_new) {
      at->second = new_number({Number::Kind::Constant, int(constants_.size())});
      constants_.push_back(bits);
    }
    return at->second;
  }
  int constant_of(double x) {
    uint64_t bits = 0;
    const float f = float(x);
    is_double_ ? std::memcpy(&bits, &x, 8) : std::memcpy(&bits, &f, 4);
    return constant(bits);
  }
  int scalar(const FusedStep& s) {
    uint64_t bits = 0;
    std::memcpy(&bits, s.scalars, is_double_ ? 8 : 4);
    return constant(bits);
  }
  int make(Instruction::Kind kind, int a, int b, int c = -1) {
    const int to = new_number({Number::Kind::Made});
    program_.push_back({kind, to, a, b, c});
    return to;
  }

  const std::vector<bool>& is_everywhere_;
  const bool is_double_;
  std::vector<Number> numbers_;
  std::vector<Instruction> program_;
  std::map<int, int> current_;  // by tile, the number that it holds
  std::set<int> lanes_;         // numbers that are lanes
  std::vector<int> tiles_;      // by operand
  std::map<uint64_t, int> known_constants_;
  std::vector<uint64_t> constants_;
};

// Numbers of all kinds, as many as fill no register at the end, and what loops make of them.
template <class T>
struct Trial {
  static constexpr int kNumbers = 16, n = kNumbers * kNumbers * 2 + 3;
  T values[4][n];  // two results, two operands
  uint8_t truth[n];

  Trial() {
    using Limits = std::numeric_limits<T>;
    const T special[kNumbers] = {0,
                                 -T(0),
                                 1,
                                 -1,
                                 T(0.5),
                                 -2,
                                 3,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::max(),
                                 Limits::denorm_min(),
                                 -Limits::min(),
                                 Limits::quiet_NaN(),
                                 T(1e-20),
                                 T(-1e20),
                                 T(0.3)};
    uint64_t state = 88172645463325252u;  // xorshift64: any seed but zero
    // As many bits as a number has: products of fewer may be exact, and show no rounding.
    constexpr int kBits = Limits::digits;
    for (int i = 0; i < n; ++i)
      for (int k : {2, 3}) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        values[k][i] = i < kNumbers * kNumbers
                           ? special[k == 2 ? i / kNumbers : i % kNumbers]
                           : T(int64_t(state >> (64 - kBits))) / T(int64_t(1) << (kBits - 3)) - T(4);
      }
  }
  char* at(int k) { return reinterpret_cast<char*>(values[k]); }
  // Whether both give the same. Any NaN is a NaN.
  bool agrees(const FusedLoop& mine, const char* scalars) {
    char* data[] = {at(1), at(2), at(3)};
    char* ordered[std::size(data)];
    for (size_t i = 0; i < mine.registers().size(); ++i) ordered[i] = data[mine.registers()[i]];
    mine.loop()(ordered, n, scalars);
    for (int i = 0; i < n; ++i) {
      const T a = values[0][i], b = values[1][i];
      if (std::memcmp(&a, &b, sizeof(T)) != 0 && (a == a || b == b)) return false;
    }
    return true;
  }
};

// Whether a formula gives what the loop gives. Lanes are shown as numbers, or made by a comparison.
template <class T>
bool agrees(const Known& k, Loop theirs, const char* scalars, DType type) {
  const auto fused = [&](const std::vector<FusedStep>& steps, const std::vector<bool>& keeps) {
    return FusedLoop::make(steps, keeps, std::vector<bool>(4, false), type);
  };
  const auto t = std::make_unique<Trial<T>>();
  constexpr int n = Trial<T>::n;
  if (takes_lanes(k.formula)) {
    const bool chooses = k.formula == kWhere;
    const auto mine = fused({{kLess, {3, 1, 2}, nullptr},
                             {k.formula, chooses ? std::vector<int>{0, 3, 1, 2} : std::vector<int>{0, 3}, nullptr}},
                            {false, true});
    if (!mine) return false;
    for (int i = 0; i < n; ++i) t->truth[i] = t->values[2][i] < t->values[3][i];
    char* data[] = {t->at(0), reinterpret_cast<char*>(t->truth), t->at(2), t->at(3)};
    theirs(data, n, scalars);
    return t->agrees(*mine, scalars);
  }
  if (gives_lanes(k.formula)) {
    const auto mine = fused({{k.formula, {3, 1, 2}, nullptr}, {kOfTruth, {0, 3}, nullptr}}, {false, true});
    if (!mine) return false;
    char* data[] = {reinterpret_cast<char*>(t->truth), t->at(2), t->at(3)};
    theirs(data, n, scalars);
    for (int i = 0; i < n; ++i) t->values[0][i] = t->truth[i];
    return t->agrees(*mine, scalars);
  }
  FusedStep step{k.formula, {0}, scalars};
  for (int i = 1; i <= k.inputs; ++i) step.at.push_back(i);
  const auto mine = fused({step}, {true});
  char* data[] = {t->at(0), t->at(2), t->at(3)};
  theirs(data, n, scalars);
  return mine && t->agrees(*mine, scalars);
}

// The type in which a formula computes, where the loop has its types.
std::optional<DType> type_of(const Known& k, const DType* types) {
  const DType* const first = types + 1 + takes_lanes(k.formula);
  const DType type = k.formula == kOfTruth ? types[0] : *first;
  if (type != DType::Float32 && type != DType::Float64) return {};
  if ((takes_lanes(k.formula) && types[1] != DType::Bool) || types[0] != (gives_lanes(k.formula) ? DType::Bool : type))
    return {};
  if (!std::all_of(first, types + 1 + k.inputs, [&](DType t) { return t == type; })) return {};
  return type;
}

}  // namespace

std::optional<Fusible> fusible(std::string_view name, Loop loop, const DType* types, int inputs, const char* scalars) {
  for (const Known& k : kKnown) {
    if (k.formula == kAddScaledOnce || k.formula == kTanhBackwardOnce)
      if (!__builtin_cpu_supports("fma")) continue;
    if (k.name != name || k.inputs != inputs || k.has_scalar != (scalars != nullptr)) continue;
    const std::optional<DType> type = type_of(k, types);
    if (!type) continue;
    static std::mutex mutex;
    static std::map<std::tuple<Loop, DType, int>, bool> known;
    std::lock_guard lock(mutex);
    auto [at, is_new] = known.try_emplace({loop, *type, k.formula}, false);
    if (is_new)
      at->second =
          *type == DType::Float32 ? agrees<float>(k, loop, scalars, *type) : agrees<double>(k, loop, scalars, *type);
    if (at->second) return Fusible{int(k.formula), *type};
  }
  return {};
}

bool is_cheap(int formula) noexcept {
  for (int dear : {kDivide, kSqrt, kRsqrt, kReciprocal})
    if (formula == dear) return false;
  return true;
}

std::unique_ptr<FusedLoop> FusedLoop::make(const std::vector<FusedStep>& steps, const std::vector<bool>& keeps,
                                           const std::vector<bool>& is_everywhere, DType type) {
  if (!__builtin_cpu_supports("avx")) return nullptr;
  Writer writer(is_everywhere, type);
  for (size_t i = 0; i < steps.size(); ++i)
    if (!writer.add(steps[i], keeps[i])) return nullptr;
  const std::vector<uint8_t> code = writer.code();
  if (code.empty()) return nullptr;
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes = (code.size() + page - 1) / page * page;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, code.data(), code.size());
  if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0) {  // never writable and executable at once
    munmap(pages, bytes);
    return nullptr;
  }
  std::unique_ptr<FusedLoop> made(new FusedLoop);
  made->pages_ = pages;
  made->bytes_ = bytes;
  std::memcpy(&made->loop_, &pages, sizeof pages);
  made->registers_ = writer.tiles();
  return made;
}

FusedLoop::~FusedLoop() {
  if (pages_) munmap(pages_, bytes_);
}

#else

std::optional<Fusible> fusible(std::string_view, Loop, const DType*, int, const char*) { return {}; }
bool is_cheap(int) noexcept { return false; }
std::unique_ptr<FusedLoop> FusedLoop::make(const std::vector<FusedStep>&, const std::vector<bool>&,
                                           const std::vector<bool>&, DType) {
  return nullptr;
}
FusedLoop::~FusedLoop() = default;

#endif

}  // namespace torch::program
