// From values and calls (torch/core/chain.h) to steps over slots: a slot is given to another value when the one that it
// had was read for the last time.
#include "cuda/chain.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/runtime.h"
#include "cuda/tables.h"
#include "iterate/chain.h"
#include "torch/core/arithmetic.h"
#include "torch/core/error.h"

namespace torch::cuda {

namespace {

bool is_stored_by_chains(DType t, bool is_wide) {
  if (is_wide) return t == DType::Float64 || t == DType::Bool;
  return t == DType::Float32 || t == DType::Float16 || t == DType::BFloat16 || t == DType::Bool;
}

bool takes(const ChainCall& c) {
  const bool is_wide = c.compute == DType::Float64;
  return (is_wide || c.compute == DType::Float32) && (c.gives == c.compute || c.gives == DType::Bool) &&
         c.scalar_bytes <= int(sizeof ChainStep::scalars) && has_chain_formula(c.formula, c.inputs, is_wide);
}

class CudaChain final : public Chain {
 public:
  CudaChain(Device device, const ChainProgram& program) : device_(device), program_(program) {}

  void run(TensorImpl* const* operands) const override {
    ChainProgram p = program_;
    p.n = uint32_t(operands[0]->numel);
    if (p.n == 0) return;
    int kept = p.outputs;  // operands that lie on the device; numbers of the CPU go along
    for (int k = 0; k < program_.operands; ++k) {
      TensorImpl* const t = operands[k];
      if (k >= p.outputs && t->device.type == DeviceType::CPU) {
        p.number[p.numbers++] = {number_of(Tensor(Ref<TensorImpl>::share(t))).to<double>(), program_.operand[k].slot};
        continue;
      }
      ChainOperand& to = p.operand[k < p.outputs ? k : kept++];
      to = program_.operand[k];
      to.data = static_cast<char*>(t->data());
    }
    p.operands = kept;
    const DeviceGuard guard(device_.index);
    launch_chain(p, current_stream(device_.index).handle);
  }

 private:
  const Device device_;
  const ChainProgram program_;
};

class Builder {
 public:
  Builder(ArrayRef<ChainValue> values, ArrayRef<ChainCall> calls) : values_(values), calls_(calls) {}

  bool build(int64_t columns) {
    using Role = ChainValue::Role;
    if (calls_.size() > size_t(ChainProgram::kSteps) || columns >= int64_t(1) << 31) return false;
    p_.columns = Divider(uint32_t(std::max<int64_t>(columns, 1)));
    p_.is_wide = calls_[0].compute == DType::Float64;
    slot_.assign(values_.size(), -1);
    last_.assign(values_.size(), -1);
    operand_.assign(values_.size(), -1);
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (!takes(calls_[i]) || calls_[i].compute != calls_[0].compute) return false;
      for (int k = 0; k < calls_[i].inputs; ++k) last_[size_t(calls_[i].values[k])] = int(i);
    }
    for (const bool outputs : {true, false})
      for (size_t v = 0; v < values_.size(); ++v) {
        const ChainValue& value = values_[v];
        if (outputs ? !value.is_output : value.role != Role::Input) continue;
        if (!is_stored_by_chains(value.type, p_.is_wide) || p_.operands == ChainProgram::kOperandsOfChain) return false;
        operand_[v] = p_.operands;
        p_.operand[p_.operands++] = {nullptr, value.type, value.along, uint8_t(outputs ? 0 : take(v))};
        p_.outputs += outputs;
      }
    int numbers = 0;
    for (size_t v = 0; v < values_.size(); ++v)
      if (values_[v].role == Role::Number && last_[v] >= 0) {
        if (numbers == ChainProgram::kOperandsOfChain) return false;
        last_[v] = int(calls_.size());  // it is written once, and stays
        p_.number[numbers++] = {values_[v].number, uint8_t(take(v))};
      } else if (values_[v].role == Role::Input) {
        last_[v] = std::max(last_[v], 0);
      }
    p_.numbers = numbers;
    // A number of the CPU may stand in for any input (CudaChain::run).
    if (numbers + (p_.operands - p_.outputs) > ChainProgram::kOperandsOfChain) return false;
    keep_inputs_of_one_element();
    for (size_t i = 0; i < calls_.size(); ++i) call(int(i));
    return p_.slots <= ChainProgram::kSlots;
  }
  const ChainProgram& program() const { return p_; }

 private:
  int take(size_t v) {
    int s;
    if (free_.empty()) {
      s = p_.slots++;
    } else {
      s = free_.back();
      free_.pop_back();
    }
    return slot_[v] = s;
  }
  // They may turn out to be numbers of the CPU, which are written once.
  void keep_inputs_of_one_element() {
    for (size_t v = 0; v < values_.size(); ++v)
      if (values_[v].role == ChainValue::Role::Input && values_[v].along == ChainValue::Along::Nothing)
        last_[v] = int(calls_.size());
  }
  void call(int index) {
    const ChainCall& c = calls_[size_t(index)];
    ChainStep s{.formula = uint16_t(c.formula),
                .to = 0,
                .from = {},
                .rounds = 0,
                .store = ChainProgram::kNowhere,
                .scalars = {}};
    std::vector<size_t> read;
    for (int k = 0; k < c.inputs; ++k) {
      const auto v = size_t(c.values[k]);
      s.from[k] = uint8_t(slot_[v]);
      if (last_[v] == index && std::find(read.begin(), read.end(), v) == read.end()) read.push_back(v);
    }
    for (size_t v : read) free_.push_back(slot_[v]);  // a step reads all before it writes
    const auto made = size_t(c.made);
    s.to = uint8_t(take(made));
    s.rounds = uint8_t(values_[made].type == DType::Bool ? c.compute : values_[made].type);
    if (operand_[made] >= 0) s.store = uint8_t(operand_[made]);
    if (last_[made] < 0) free_.push_back(slot_[made]);  // only stored
    if (c.scalar_bytes) std::memcpy(s.scalars, c.scalars, size_t(c.scalar_bytes));
    p_.step[p_.steps++] = s;
  }

  ArrayRef<ChainValue> values_;
  ArrayRef<ChainCall> calls_;
  ChainProgram p_;
  std::vector<int> slot_, last_, operand_, free_;  // by value; `last_`: the call that reads it last
};

std::unique_ptr<Chain> make(Device device, ArrayRef<ChainValue> values, ArrayRef<ChainCall> calls, int64_t columns) {
  Builder builder(values, calls);
  if (!builder.build(columns)) return nullptr;
  return std::make_unique<CudaChain>(device, builder.program());
}

}  // namespace

const ChainWork chains{.takes = takes, .make = make};

}  // namespace torch::cuda
