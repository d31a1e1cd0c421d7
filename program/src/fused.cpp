#include "fused.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

#include "machine_code.h"

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
};

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
};

// Turns formulas into instructions.
class Writer {
 public:
  Writer(const std::vector<bool>& is_everywhere, DType type)
      : is_everywhere_(is_everywhere), is_double_(type == DType::Float64) {}

  // False where it has too many operands.
  bool add(const FusedStep& s, bool is_kept) {
    using I = Instruction;
    const uint64_t sign = is_double_ ? uint64_t(1) << 63 : uint64_t(1) << 31;
    int in[2] = {-1, -1};
    for (size_t k = 1; k < s.at.size(); ++k) {
      auto [at, is_new] = current_.try_emplace(s.at[k], -1);
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
    }
    current_[s.at[0]] = made;
    if (is_kept && (numbers_[size_t(made)].stored = operand(s.at[0])) < 0) return false;
    return true;
  }

  std::vector<uint8_t> code() const {
    return MachineCode(program_, numbers_, constants_, int(tiles_.size()), is_double_).loop();
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
  std::vector<int> tiles_;      // by operand
  std::map<uint64_t, int> known_constants_;
  std::vector<uint64_t> constants_;
};

// Whether both give the same for numbers of all kinds, as many as fill no register at the end. Any NaN is a NaN.
template <class T>
bool agrees(const FusedLoop& mine, Loop theirs, const char* scalars) {
  constexpr int kNumbers = 16, n = kNumbers * kNumbers * 2 + 3;
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
  T values[4][n];                       // two results, two operands
  uint64_t state = 88172645463325252u;  // xorshift64: any seed but zero
  // As many bits as a number has: products of fewer may be exact, and show no rounding.
  constexpr int kBits = Limits::digits;
  for (int i = 0; i < n; ++i)
    for (int k : {2, 3}) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      values[k][i] = i < kNumbers * kNumbers ? special[k == 2 ? i / kNumbers : i % kNumbers]
                                             : T(int64_t(state >> (64 - kBits))) / T(int64_t(1) << (kBits - 3)) - T(4);
    }
  char* data[] = {reinterpret_cast<char*>(values[0]), reinterpret_cast<char*>(values[2]),
                  reinterpret_cast<char*>(values[3])};
  theirs(data, n, scalars);
  data[0] = reinterpret_cast<char*>(values[1]);
  char* ordered[std::size(data)];
  for (size_t i = 0; i < mine.registers().size(); ++i) ordered[i] = data[mine.registers()[i]];
  mine.loop()(ordered, n, scalars);
  for (int i = 0; i < n; ++i) {
    const T a = values[0][i], b = values[1][i];
    if (std::memcmp(&a, &b, sizeof(T)) != 0 && (a == a || b == b)) return false;
  }
  return true;
}

}  // namespace

std::optional<int> fusible_formula(std::string_view name, Loop loop, DType type, int inputs, const char* scalars) {
  if (type != DType::Float32 && type != DType::Float64) return {};
  for (const Known& k : kKnown) {
    if (k.formula == kAddScaledOnce || k.formula == kTanhBackwardOnce)
      if (!__builtin_cpu_supports("fma")) continue;
    if (k.name != name || k.inputs != inputs || k.has_scalar != (scalars != nullptr)) continue;
    static std::mutex mutex;
    static std::map<std::tuple<Loop, DType, int>, bool> known;
    std::lock_guard lock(mutex);
    auto [at, is_new] = known.try_emplace({loop, type, k.formula}, false);
    if (is_new) {
      FusedStep step{k.formula, {0}, scalars};
      for (int i = 1; i <= inputs; ++i) step.at.push_back(i);
      const auto fused = FusedLoop::make({step}, {true}, std::vector<bool>(3, false), type);
      at->second = fused && (type == DType::Float32 ? agrees<float>(*fused, loop, scalars)
                                                    : agrees<double>(*fused, loop, scalars));
    }
    if (at->second) return int(k.formula);
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

std::optional<int> fusible_formula(std::string_view, Loop, DType, int, const char*) { return {}; }
bool is_cheap(int) noexcept { return false; }
std::unique_ptr<FusedLoop> FusedLoop::make(const std::vector<FusedStep>&, const std::vector<bool>&,
                                           const std::vector<bool>&, DType) {
  return nullptr;
}
FusedLoop::~FusedLoop() = default;

#endif

}  // namespace torch::program
