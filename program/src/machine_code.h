// Machine code for loops over 8 floats or 4 doubles at a time, of x86 with AVX, or 16 and 8 with AVX-512: values in
// registers, each operand read once, what is kept written once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace torch::program {

// An instruction over values, which are numbered. Blend takes `b` where `c` says so, else `a`; MulAdd and MulSub add a
// * b to `c`, or take it from there.
struct Instruction {
  enum Kind : uint8_t {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Sqrt,
    And,
    AndNot,
    Xor,
    Equal,  // these give lanes full of ones, or of zeros
    NotEqual,
    Less,
    LessEqual,
    Unordered,
    Blend,
    MulAdd,
    MulSub
  } kind;
  int to, a, b, c = -1;
};
struct Number {
  enum class Kind : uint8_t { Operand, Constant, Made } kind;
  int index = -1;              // of an operand, or of a constant
  int stored = -1;             // the operand that a Made one is written to
  bool is_everywhere = false;  // an operand that is the same number throughout
  std::vector<int> uses = {};  // instructions, in order
};

class MachineCode {
 public:
  static constexpr int kMaxOperands = 12;

  // `constants`: the bits of numbers of the type.
  MachineCode(std::vector<Instruction> program, std::vector<Number> numbers, std::vector<uint64_t> constants,
              int operands, bool is_double, bool is_wide);

  // A Loop (torch/core/loops.h) over the operands; nothing when there are too few registers.
  std::vector<uint8_t> loop();

 private:
  enum class Piece { Whole, Pair, Rest };  // a register, two of them in turns, the lanes of the mask
  struct Body {
    Piece piece;
    std::vector<int> home;  // of numbers, those of the second register behind those of the first; -1
    int holds[32];          // of registers
    uint32_t locked = 0;
  };

  void put(std::initializer_list<int> bytes);
  std::size_t put_place();
  void point(std::size_t place, std::size_t to);
  // `w`: the bit of the prefix that tells doubles, where an instruction asks; `mask`: 1 for the lanes that there are.
  void prefix(int map, int prefix, int opcode, int reg, int second, int base, bool w, int mask = 0,
              bool zeroes = false);
  void with_register(int map, int prefix, int opcode, int reg, int second, int other, bool w = false, int mask = 0);
  void with_memory(int map, int prefix, int opcode, int reg, int second, int base, bool is_indexed, int offset = 0,
                   bool w = false, int mask = 0, bool zeroes = false);
  void push(int r, int opcode);
  void count_bytes(int opcode, int bytes);
  void mask_rest(std::size_t& to_masks);

  int number_of(int id) const { return id % int(numbers_.size()); }
  int id_of(int v, int turn) const;
  void load(const Body& b, int id, int to);
  void store(const Body& b, int id, int from);
  int next_use(int id, int now) const;
  int take(Body& b, int now) const;
  int place(Body& b, int id, int r) const;
  void release(Body& b, int id) const;
  void release_dead(Body& b, std::initializer_list<int> values, int now, int turn) const;
  bool write(Body& b, int now, int turn);
  bool body(Piece piece);
  bool repeat(Piece piece, int bytes);

  std::vector<Instruction> program_;
  std::vector<Number> numbers_;
  std::vector<uint64_t> constants_;
  int operands_;
  bool is_double_, is_wide_;
  int bytes_, registers_;  // of a register; how many there are
  std::vector<std::pair<std::size_t, int>> constant_places_;
  std::vector<uint8_t> code_;
};

}  // namespace torch::program
