// Reads the words that types, schemas and graphs are made of.
#pragma once
#include <string>

#include "torch/program/text.h"

namespace torch::program {

class Reader {
 public:
  explicit Reader(const std::string& text, Classes* classes = nullptr) : text_(text), classes_(classes) {}
  bool variables = false;  // a word that is no type stands for any, as in schemas

  [[noreturn]] void fail(const std::string& expected) const;
  const std::string& text() const noexcept { return text_; }
  size_t at() const noexcept { return at_; }
  void go_to(size_t at) noexcept { at_ = at; }
  bool at_end();
  void skip_space();  // and comments, which go from # to the end of the line
  bool peeks(char c);
  bool peeks(const char* text);
  bool peeks_word();
  bool accept(char c);
  bool accept(const char* text);
  void expect(char c);
  void expect(const char* text);
  std::string word(const char* what);  // letters, digits, `_`, `.` and `::`
  std::string quoted();
  std::string rest_of_line();

  // `size` and `written`, where they are given, take the 2 of int[2] and the (a!) of a schema.
  TypePtr type(int* size = nullptr, bool* written = nullptr);
  // A value as Python writes it; where a type is given, as one of that type.
  Cell literal(const TypePtr& type = nullptr);

 private:
  TypePtr plain_type();
  TypePtr tensor_with_info(DType const* dtype);
  std::vector<TypePtr> types_until(char close);
  Cell number();
  struct Deeper {
    Reader& r;
    explicit Deeper(Reader& reader) : r(reader) {
      if (++r.depth_ > 200) r.fail("less nesting");
    }
    ~Deeper() { --r.depth_; }
  };

  const std::string& text_;
  Classes* classes_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace torch::program
