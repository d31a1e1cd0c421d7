#include "torch/program/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "archive.h"
#include "torch/core/dlpack.h"
#include "torch/core/init.h"
#include "torch/program/text.h"
#include "zip.h"

namespace torch::program {

namespace {

constexpr const char* kText = "program.txt";

struct OpenFile {
  int fd;
  explicit OpenFile(int f) : fd(f) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

// Reads a file whole, rather than mapping it: who shortens it meanwhile gets an error here and no signal later.
StorageRef read_file(const std::string& path) {
  auto failed = [&](const char* what) {
    throw_error(ErrorKind::Runtime, path + ": " + what + ": " + std::strerror(errno));
  };
  OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0) failed("cannot be opened");
  struct stat facts;
  if (fstat(file.fd, &facts)) failed("cannot be read");
  TORCH_CHECK(S_ISREG(facts.st_mode), path, ": not a file");
  StorageRef storage = StorageRef::steal(Storage::make(size_t(facts.st_size)));
  for (size_t have = 0; have < storage->nbytes;) {
    const ssize_t got = read(file.fd, static_cast<char*>(storage->data) + have, storage->nbytes - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) failed("cannot be read");
    TORCH_CHECK(got > 0, path, ": became shorter while it was read");
    have += size_t(got);
  }
  return storage;
}

// Tensors over the memory that the archive was read into.
class Members final : public TensorSource {
 public:
  Members(StorageRef memory, const ZipReader& zip, std::string folder)
      : memory_(std::move(memory)), zip_(zip), folder_(std::move(folder)) {}

  Tensor tensor(DType dtype, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                const std::string& name) override {
    const ZipReader::Member* m = zip_.find(folder_ + name);
    TORCH_CHECK(m, "the archive has no member '", folder_, name, "'");
    if (checked_.insert(name).second) zip_.check_sum(name, *m);
    TORCH_CHECK(sizes.size() == strides.size() && sizes.size() <= size_t(kMaxDims) && offset >= 0,
                "a tensor of impossible geometry");
    const int64_t numel = checked_numel("load", sizes), item = item_size(dtype);
    int64_t last = offset;  // the last element
    for (size_t i = 0; numel && i < sizes.size(); ++i) {
      int64_t reach;
      TORCH_CHECK(strides[i] >= 0 && !__builtin_mul_overflow(strides[i], sizes[i] - 1, &reach) &&
                      !__builtin_add_overflow(last, reach, &last),
                  "a tensor of impossible geometry");
    }
    TORCH_CHECK(numel == 0 || last < int64_t(m->size) / item, "a tensor of ", torch::name(dtype),
                " reaches beyond member '", name, "', which has ", m->size, " bytes");
    if (numel == 0) return empty_tensor(sizes, dtype);
    char* first = static_cast<char*>(memory_->data) + m->offset + offset * item;
    StorageRef holder = memory_;
    auto release = [](Storage* s) noexcept { StorageRef::steal(static_cast<Storage*>(s->context)).reset(); };
    if (reinterpret_cast<uintptr_t>(first) % 16) {  // members that others have written may lie anywhere
      const size_t bytes = size_t(last - offset + 1) * size_t(item);
      holder = StorageRef::steal(Storage::make(bytes));
      first = static_cast<char*>(std::memcpy(holder->data, first, bytes));
    }
    return tensor_over(first, sizes, strides, dtype, release, holder.release());
  }

 private:
  StorageRef memory_;
  const ZipReader& zip_;
  std::string folder_;
  std::set<std::string> checked_;
};

Module load(StorageRef memory, const std::string& name) try {
  torch::init();
  const ZipReader zip(memory->data, memory->nbytes, name);
  std::string folder;  // of PyTorch's archives: all is in one
  const ZipReader::Member* text = zip.find(kText);
  if (!text && !zip.members().empty()) {
    const std::string& first = zip.members().begin()->first;
    folder = first.substr(0, first.find('/') + 1);
    text = zip.find(folder + kText);
  }
  if (!text)
    throw_error(ErrorKind::Runtime,
                zip.find(folder + "data.pkl")
                    ? "the archive has no " + std::string(kText) +
                          ", the form that runs without Python: read it with torch.jit.load and write it with "
                          "torch.jit.save, which adds it"
                    : "the archive holds no program: write one with torch.jit.save");
  zip.check_sum(folder + kText, *text);
  if (const ZipReader::Member* order = zip.find(folder + "byteorder"))
    TORCH_CHECK(zip.bytes(*order) == "little", "its numbers are of byte order ", zip.bytes(*order));
  Members tensors(memory, zip, folder);
  return Module(read_program(std::string(zip.bytes(*text)), name, tensors));
} catch (const Error& e) {
  if (std::string_view(e.what()).starts_with(name + ": ")) throw;
  throw Error(e.kind(), name + ": " + e.what());
}

}  // namespace

Module load(const std::string& path) { return load(read_file(path), path); }

Module load(const void* bytes, size_t size, const std::string& name) {
  StorageRef memory = StorageRef::steal(Storage::make(size));
  if (size) std::memcpy(memory->data, bytes, size);
  return load(std::move(memory), name);
}

void save(const Cell& root, const std::string& path) {
  std::vector<Tensor> tensors;
  std::string text = program_text(root, tensors);
  const std::string folder = "archive/";
  ZipWriter zip;
  std::string lines;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    const std::string member = "data/" + std::to_string(i);
    const Extent extent = extent_of(t.sizes(), t.strides());
    lines += tensor_line(i, t, -extent.low, member);
    const char* first = static_cast<const char*>(t.data()) + extent.low * t.item_size();
    zip.add(folder + member, first, t.numel() ? size_t((extent.high - extent.low) * t.item_size()) : 0);
  }
  text.insert(text.find('\n') + 1, lines);  // before what names them
  zip.add(folder + kText, text.data(), text.size());
  const std::string bytes = zip.finish(), partial = path + ".part";
  auto failed = [&] { throw_error(ErrorKind::Runtime, path + ": cannot be written: " + std::strerror(errno)); };
  {
    OpenFile file(open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.fd < 0) failed();
    for (size_t have = 0; have < bytes.size();) {
      const ssize_t put = write(file.fd, bytes.data() + have, bytes.size() - have);
      if (put < 0 && errno != EINTR) unlink(partial.c_str()), failed();
      if (put > 0) have += size_t(put);
    }
  }
  if (rename(partial.c_str(), path.c_str())) failed();
}

// --- modules ---

Module::Held::~Held() {
  for (const FunctionPtr& f : functions) f->set_graph(nullptr);
}

namespace {
const Module::Held& of(const std::shared_ptr<const Module::Held>& held) {
  TORCH_CHECK(held, "the module is empty: nothing was loaded into it");
  return *held;
}
}  // namespace

const Cell& Module::root() const { return of(held_).root; }

std::vector<std::string> Module::methods() const {
  std::vector<std::string> out;
  for (const auto& [name, f] : of(held_).methods) out.push_back(name);
  return out;
}
bool Module::has_method(std::string_view name) const noexcept {
  return held_ && held_->methods.find(name) != held_->methods.end();
}
const FunctionPtr& Module::method(std::string_view name) const {
  const auto& methods = of(held_).methods;
  auto at = methods.find(name);
  if (at != methods.end()) return at->second;
  std::string there;
  for (const auto& [each, f] : methods) there += (there.empty() ? "" : ", ") + each;
  throw_error(ErrorKind::Value, held_->name + " has no method '" + std::string(name) + "'; it has: " + there);
}

std::vector<std::pair<std::string, TypePtr>> Module::arguments(std::string_view name) const {
  std::vector<std::pair<std::string, TypePtr>> out;
  for (const Value* v : method(name)->graph()->inputs()) {
    const std::string name = v->debug_name();
    out.emplace_back(name.substr(0, name.find('.')), v->type());
  }
  if (held_->is_object) out.erase(out.begin());
  return out;
}
bool Module::has_default(std::string_view name, std::string_view argument) const {
  for (const auto& [given, c] : method(name)->defaults)
    if (given == argument) return true;
  return false;
}
std::string Module::signature(std::string_view name) const {
  const FunctionPtr& f = method(name);
  std::string out;
  for (const auto& [argument, type] : arguments(name)) {
    out += (out.empty() ? "" : ", ") + unshaped(type)->str() + " " + argument;
    for (const auto& [given, c] : f->defaults)
      if (given == argument) out += "=" + c.repr();
  }
  std::string results;
  for (const Value* v : f->graph()->outputs()) results += (results.empty() ? "" : ", ") + unshaped(v->type())->str();
  if (f->graph()->outputs().size() != 1) results = "(" + results + ")";
  return std::string(name) + "(" + out + ") -> " + results;
}

Cell Module::run(std::string_view name, std::vector<Cell> arguments,
                 std::vector<std::pair<std::string, Cell>> named) const {
  const FunctionPtr& f = method(name);
  if (held_->is_object) arguments.insert(arguments.begin(), held_->root);
  return f->call(f->bind(std::move(arguments), std::move(named)));
}

}  // namespace torch::program
