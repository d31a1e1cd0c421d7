// Programs in files: what torch.jit.save writes, run without Python.
//
//   torch::program::Module net = torch::program::load("net.pt");
//   torch::program::Cell y = net.run("forward", {x});            // y.to_tensor()
//
// An archive is a zip of stored members: program.txt, with operators, classes, objects and graphs as text, and the
// bytes of each tensor. Files of torch.jit.save have them beside what PyTorch reads. An operator is stored with its
// schema: the same one loads, so does one that has got arguments with defaults at its end; any other is an error that
// shows both. Loading runs nothing.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "torch/program/function.h"

namespace torch::program {

// A loaded program: an object with methods, or a function, whose only method is `forward`. Copies share it. Values that
// it has given may outlive it, functions may not. Threads may run it at once, where its methods change no attributes.
class TORCH_PROGRAM_API Module {
 public:
  Module() = default;
  explicit operator bool() const noexcept { return held_ != nullptr; }

  std::vector<std::string> methods() const;
  bool has_method(std::string_view name) const noexcept;
  // ErrorKind::Value names the methods that there are.
  const FunctionPtr& method(std::string_view name) const;
  // "forward(Tensor input, int n=1) -> Tensor"
  std::string signature(std::string_view method) const;
  // The types of a method's arguments, without the object.
  std::vector<std::pair<std::string, TypePtr>> arguments(std::string_view method) const;
  bool has_default(std::string_view method, std::string_view argument) const;
  // Arguments are checked, and made to fit: an int for a float; what is left out has its default.
  Cell run(std::string_view method, std::vector<Cell> arguments,
           std::vector<std::pair<std::string, Cell>> named = {}) const;

  // The object, or the function as a cell.
  const Cell& root() const;

  struct Held;
  explicit Module(std::shared_ptr<const Held> held) : held_(std::move(held)) {}

 private:
  std::shared_ptr<const Held> held_;
};

// ErrorKind::Runtime names the file and what is wrong with it.
TORCH_PROGRAM_API Module load(const std::string& path);
// From memory, which is copied; `name` stands in messages.
TORCH_PROGRAM_API Module load(const void* bytes, size_t size, const std::string& name);

// Writes an object with its class and methods, or a function, in a form that load() reads.
TORCH_PROGRAM_API void save(const Cell& root, const std::string& path);
// A graph that takes the inputs of a call of Python and gives what it gives, or null: what is written in its place.
using StandIn = std::function<GraphPtr(const Node& call)>;
// The text of a program, in which tensors are numbers; `tensors` takes them. Without the lines that say where these
// are (tensor_line). ErrorKind::NotImplemented says what cannot be written.
TORCH_PROGRAM_API std::string program_text(const Cell& root, std::vector<Tensor>& tensors,
                                           const StandIn& stand_in = nullptr);
// "tensor 0 float32 (2, 3) (3, 1) 0 data/4": sizes, strides and offset in elements, and the member with the memory.
TORCH_PROGRAM_API std::string tensor_line(size_t number, const Tensor& t, int64_t offset, const std::string& member);
// What stands in place of a program that cannot be written: load() tells the reason.
TORCH_PROGRAM_API std::string refusal_text(const std::string& reason);

}  // namespace torch::program
