// A graph that runs.
#pragma once
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "torch/program/graph.h"

namespace torch::program {

class Code;

class TORCH_PROGRAM_API Function {
 public:
  Function(std::string qualified_name, GraphPtr graph);
  ~Function();

  const std::string& qualified_name() const noexcept { return name_; }
  std::string name() const;  // after the last dot
  const GraphPtr& graph() const noexcept { return graph_; }
  void set_graph(GraphPtr g);

  // Values to use for trailing inputs that are not given.
  std::vector<std::pair<std::string, Cell>> defaults;

  // Runs the graph: its outputs, which are several only in a graph that was not made by a front end. The arguments are
  // of the graph's types (bind() makes them so).
  std::vector<Cell> run(std::vector<Cell> arguments, int depth = 0);
  Cell call(std::vector<Cell> arguments);  // the only output; a tuple of several; None of none
  // The same of arguments that are not bound yet, where the program is no more than a region (region.h of its sources)
  // that was planned for such: `results` are the outputs, and `is_tuple` says whether they are a tuple's. How many
  // there are; 0: nothing has happened, and call() does it.
  static constexpr size_t kMostAtOnce = 16;  // arguments, and results
  size_t call_at_once(const Cell* arguments, size_t count, Cell* results, bool& is_tuple);
  // Arguments by position and name to one for each input; ErrorKind::Type names the function and the argument.
  std::vector<Cell> bind(std::vector<Cell> args, std::vector<std::pair<std::string, Cell>> kwargs) const;
  // Whether a run changes nothing but elements of tensors: no object, list or size, and nothing of the host's.
  bool is_quiet();
  void check_graph() const;  // that there is one
  // What of it is planned (plan.h), as text.
  std::string describe();

 private:
  std::shared_ptr<const Code> code();

  std::string name_;
  GraphPtr graph_;
  std::mutex mutex_;
  std::shared_ptr<const Code> code_;
};

// A function as a constant, which prim::CallFunction takes.
struct FunctionHeap final : HostHeap {
  FunctionPtr function;
  explicit FunctionHeap(FunctionPtr f) : function(std::move(f)) {}
  std::string repr() const override { return function->qualified_name(); }
};
inline Cell function_cell(FunctionPtr f) { return Cell::take(Cell::Tag::Host, new FunctionHeap(std::move(f))); }

// A call out of the program, for prim::PythonOp: set by the host.
using HostCall = void (*)(const Node& node, Cell* arguments, Cell* results);
TORCH_PROGRAM_API HostCall set_host_call(HostCall f) noexcept;
// What the host computes in place of an operator whose tensors are of a class of its own: DispatchKey::Python is among
// their keys. False: the operator does it.
using HostOverride = bool (*)(const Node& node, Cell* arguments, size_t count, Cell* results);
TORCH_PROGRAM_API HostOverride set_host_override(HostOverride f) noexcept;
// Where prim::Print writes; stdout unless set.
using PrintTo = void (*)(const std::string& line);
TORCH_PROGRAM_API PrintTo set_print(PrintTo f) noexcept;

// An error that a program raised: `raise ValueError("...")`, whose class has no kind of its own here.
class TORCH_PROGRAM_API Raised : public Error {
 public:
  Raised(ErrorKind kind, std::string class_name, std::string message)
      : Error(kind, std::move(message)), class_name_(std::move(class_name)) {}
  const std::string& class_name() const noexcept { return class_name_; }

 private:
  std::string class_name_;
};

}  // namespace torch::program
