// torch-run: runs a program that torch.jit.save has written. No Python.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "inputs.h"
#include "torch/core/init.h"
#include "torch/core/pool.h"
#include "torch/program/archive.h"

namespace {

constexpr const char* kHelp =
    R"(usage: torch-run ARCHIVE [INPUT...] [options]

Runs a method of a program that torch.jit.save has written, without Python.

ARCHIVE  a file of torch.jit.save (scripted, traced or frozen)
INPUT    one for each argument, in their order, or NAME=INPUT:
           x.npy                    an array of NumPy's
           x.pt                     what torch.save has written: a tensor, or a list or dictionary of them
           'randn(1, 3, 224, 224)'  also rand, ones, zeros and 'randint(1000, 1, 16)' (numbers below 1000);
                                    a dtype may follow the sizes: 'ones(2, float64)'
           3  0.5  True  None  '[1, 2]'  text
         Tensors that are left out are random, where the program is a trace, which knows their shapes.

  -m, --method NAME   what to run (default: forward)
  -l, --list          show the methods and their arguments, run nothing
  -o, --output X.npy  store the result in X.npy; the tensors of a tuple in X.0.npy, X.1.npy, ...
  -q, --quiet         do not print the result
  -t, --time [RUNS]   run it so many more times (default: 100) and print how long loading and running took
  -j, --threads N     use N threads (default: the processors that this process may use)
  -h, --help          show this
  --cmake-dir         show where TorchProgramConfig.cmake lies, for -DTorchProgram_DIR=
  --pkgconfig-dir     show where torch-program.pc lies, for PKG_CONFIG_PATH=
  --version           show the versions of the interface and of the archives' form

The exit status is 0, 1 when the program cannot be loaded or raises, 2 when the command line is wrong.
)";

struct Usage {
  std::string text;
};

struct Options {
  std::string archive, method = "forward", output;
  std::vector<std::string> inputs;
  bool list = false, quiet = false;
  int64_t runs = 0, threads = 0;
};

int64_t positive(const std::string& option, const std::string& word) {
  char* end;
  const long long n = std::strtoll(word.c_str(), &end, 10);
  if (word.empty() || *end || n < 1 || n > 1000000000)
    throw Usage{option + " takes a number from 1 on, not '" + word + "'"};
  return n;
}
bool is_number(const std::string& s) { return !s.empty() && s.find_first_not_of("0123456789") == s.npos; }

Options options_of(std::vector<std::string> words) {
  Options o;
  bool only_inputs = false;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i], value;
    const bool is_option =
        !only_inputs && word.size() > 1 && word[0] == '-' && !std::isdigit(word[1]) && word[1] != '.';
    if (!is_option) {
      if (o.archive.empty())
        o.archive = word;
      else
        o.inputs.push_back(word);
      continue;
    }
    const size_t equal = word.find('=');
    bool has_value = word.starts_with("--") && equal != word.npos;
    if (has_value) value = word.substr(equal + 1), word.resize(equal);
    auto is = [&](const char* a, const char* b) { return word == a || word == b; };
    auto take = [&]() -> const std::string& {
      if (!has_value && i + 1 == words.size()) throw Usage{word + " takes a value"};
      if (!has_value) value = words[++i];
      return value;
    };
    if (word == "--")
      only_inputs = true;
    else if (is("-m", "--method"))
      o.method = take();
    else if (is("-l", "--list"))
      o.list = true;
    else if (is("-o", "--output"))
      o.output = take();
    else if (is("-q", "--quiet"))
      o.quiet = true;
    else if (is("-t", "--time"))
      o.runs = has_value || (i + 1 < words.size() && is_number(words[i + 1])) ? positive(word, take()) : 100;
    else if (is("-j", "--threads"))
      o.threads = positive(word, take());
    else
      throw Usage{"there is no option " + word};
  }
  if (o.archive.empty()) throw Usage{"an archive is missing"};
  return o;
}

using torch::program::Cell;
using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

void print(const Cell& c) {
  if (c.is(Cell::Tag::Tensor)) {
    std::cout << c.to_tensor() << '\n';
  } else if (c.is(Cell::Tag::Tuple) || c.is(Cell::Tag::List)) {
    for (const Cell& each : c.items()) print(each);
  } else {
    std::cout << c.repr() << '\n';
  }
}

// A folder of the installation that this program belongs to, in a wheel or under a prefix.
int show_folder(std::initializer_list<const char*> choices) {
  const auto prefix = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const char* each : choices)
    if (std::filesystem::exists(prefix / each)) return std::puts((prefix / each).c_str()), 0;
  throw_error(torch::ErrorKind::Runtime, prefix.string() + " has no such folder");
}

// "NAME=INPUT" where there is an argument of that name.
bool split(const std::string& word, const std::vector<std::pair<std::string, torch::program::TypePtr>>& arguments,
           size_t& at, std::string& value) {
  const size_t equal = word.find('=');
  if (equal == word.npos) return false;
  for (at = 0; at < arguments.size(); ++at)
    if (arguments[at].first == word.substr(0, equal)) return value = word.substr(equal + 1), true;
  return false;
}

int run(const Options& o) {
  const auto start = Clock::now();
  if (o.threads) torch::set_num_threads(int(std::min<int64_t>(o.threads, 1024)));
  const torch::program::Module module = torch::program::load(o.archive);
  const auto loaded = Clock::now();
  if (o.list) {
    for (const std::string& name : module.methods()) std::cout << module.signature(name) << '\n';
    return 0;
  }
  const auto arguments = module.arguments(o.method);
  std::vector<Cell> values;
  std::vector<std::pair<std::string, Cell>> named;
  for (const std::string& word : o.inputs) {
    size_t at;
    std::string value;
    if (split(word, arguments, at, value)) {
      named.emplace_back(arguments[at].first, torch::program::input_of(value, arguments[at].second));
      continue;
    }
    if (values.size() >= arguments.size())
      throw Usage{"the method takes " + std::to_string(arguments.size()) + " inputs: " + module.signature(o.method)};
    const auto& type = arguments[values.size()].second;
    values.push_back(torch::program::input_of(word, type));
  }
  auto is_given = [&](const std::string& name) {
    return module.has_default(o.method, name) ||
           std::any_of(named.begin(), named.end(), [&](const auto& pair) { return pair.first == name; });
  };
  for (size_t i = values.size(); i < arguments.size(); ++i)
    if (!is_given(arguments[i].first))
      named.emplace_back(arguments[i].first, torch::program::random_of(arguments[i].first, arguments[i].second));
  const auto ready = Clock::now();
  const Cell result = module.run(o.method, values, named);
  const auto first = Clock::now();
  if (!o.output.empty())
    for (const std::string& path : torch::program::store(result, o.output)) std::fprintf(stderr, "%s\n", path.c_str());
  else if (!o.quiet)
    print(result);
  if (!o.runs) return 0;
  std::vector<double> times;
  for (int64_t i = 0; i < o.runs; ++i) {
    const auto before = Clock::now();
    module.run(o.method, values, named);
    times.push_back(milliseconds(before, Clock::now()));
  }
  std::sort(times.begin(), times.end());
  std::printf("load %.3f ms, first run %.3f ms, then %.4f ms (median of %lld; least %.4f), threads %d\n",
              milliseconds(start, loaded), milliseconds(ready, first), times[times.size() / 2],
              static_cast<long long>(o.runs), times[0], torch::num_threads());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const std::string& w : words) {
    if (w == "--") break;
    if (w == "-h" || w == "--help") return std::fputs(kHelp, stdout), 0;
    if (w == "--cmake-dir") return show_folder({"cmake/TorchProgram", "lib/cmake/TorchProgram"});
    if (w == "--pkgconfig-dir") return show_folder({"pkgconfig", "lib/pkgconfig"});
    if (w == "--version") return std::printf("torch-run: interface %d, form 1\n", torch::interface_number()), 0;
  }
  if (words.empty()) return std::fputs(kHelp, stderr), 2;
  return run(options_of(words));
} catch (const Usage& u) {
  std::fprintf(stderr, "torch-run: %s (torch-run --help)\n", u.text.c_str());
  return 2;
} catch (const torch::program::Raised& e) {
  std::fprintf(stderr, "torch-run: the program raised %s: %s\n", e.class_name().c_str(), e.what());
  return 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "torch-run: %s\n", e.what());
  return 1;
}
