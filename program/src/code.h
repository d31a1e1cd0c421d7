// A graph made ready to run: steps over registers, everything looked up once.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "forms.h"
#include "quick.h"
#include "region.h"
#include "torch/program/function.h"
#include "torch/program/signature.h"

namespace torch::program {

enum class Op : uint8_t {
  Row,
  Region,
  Primitive,
  Moves,  // in order
  Jump,
  JumpUnless,
  LoopTest,
  LoopNext,
  List,
  Tuple,
  Dict,
  Unpack,
  TupleIndex,
  TupleSlice,
  GetAttr,
  SetAttr,
  Method,
  Call,
  Create,
  IsInstance,
  Raise,
  Print,
  Host,
  Fork,
  Wait,
  Return,
};

// A register, or ~number of a constant.
using Operand = int32_t;

// A call of a row: arguments that are constants lie boxed in `ready`, the others are filled in.
struct RowCall {
  struct Fill {
    uint8_t parameter;
    Operand from;
  };
  const torch::Row* row;
  torch::Value ready[kMaxParameters];
  std::vector<Fill> fills;
  Keys keys = 0;  // of the tensors in `ready`
  // what `ready` points to
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<Tensor>> lists;
  std::vector<Tensor> tensors;
};

struct Step {
  Op op;
  bool is_quick = false;  // done by the quick interpreter
  int target = -1;        // of jumps; the slot of an attribute
  std::vector<Operand> in;
  std::vector<int32_t> out, drop;  // `drop`: registers that nothing needs after this step
  const Node* node = nullptr;
  std::unique_ptr<RowCall> row;
  std::unique_ptr<Region> region;  // which stands for the steps up to `target`
  std::vector<int32_t> drop_too;   // where it ran in place of them
  Primitive primitive = nullptr;
  TypePtr type;
  std::string name;
  FunctionPtr callee;
};

constexpr Keys kOverridden = key(DispatchKey::Python);  // of tensors of a class of the host's
inline Keys keys_of(const Cell& c) { return c.is(Cell::Tag::Tensor) && c.to_tensor() ? c.to_tensor().keys() : Keys(0); }
// What the host computes in place of a step, for such tensors; false: the step does it.
bool override_call(const Step& s, Cell* in, size_t count, Cell* out);

void check_counts(const Node* n);  // of inputs and outputs

// The steps between what enters a `with` block and what leaves it, which is step `last`: after an error it is run too.
struct Scope {
  int first, last;
};

// A program that is one region and gives what comes of it, in this order: run over its arguments, without registers.
// LSTM cell of 1 x 64: 2.26 -> 1.83 us (one thread of an AMD EPYC, Zen 4).
struct AtOnce {
  static constexpr size_t kMost = Function::kMostAtOnce;
  const Region* region;
  std::vector<Operand> in;     // of the region: numbers of arguments, or of constants
  std::vector<TypePtr> types;  // of the arguments; null: a tensor
  size_t count;                // of results
  bool is_tuple;
};

class Code {
 public:
  // Throws ErrorKind::NotImplemented for nodes that have no meaning here.
  Code(GraphPtr graph, std::string name);
  std::vector<Cell> run(std::vector<Cell> arguments, int depth) const;
  size_t version() const noexcept { return version_; }
  bool is_quiet() const noexcept { return quiet_; }
  std::string describe() const;  // its regions
  const AtOnce* at_once() const noexcept { return at_once_ ? &*at_once_ : nullptr; }
  const Cell& constant(Operand i) const noexcept { return constants_[size_t(~i)]; }
  // For the time of a run.
  ConstantForms::Use forms() const { return {forms_, constants_}; }

 private:
  friend class Compiler;
  void execute(std::vector<Cell>& registers, const Step*& at, int depth, std::vector<Cell>& results) const;
  void leave_all(const std::vector<Cell>& registers, const Step* at, int depth) const;
  [[noreturn]] void rethrow(const Step& at) const;
  std::optional<AtOnce> find_at_once();

  GraphPtr graph_;
  std::string name_;
  std::vector<Step> steps_;
  std::vector<Scope> scopes_;  // the inner ones first
  std::vector<Cell> constants_;
  ConstantForms forms_;
  QuickCode quick_code_;
  std::optional<AtOnce> at_once_;
  size_t registers_ = 0, version_ = 0;
  bool quiet_ = false;
};

}  // namespace torch::program
