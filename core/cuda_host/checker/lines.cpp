// Addresses of the program: which line, and whether it is a constant.
#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>

#include "shadow.h"

namespace cuda_host {

std::string line_of(const void* address) {
  static std::map<const void*, std::string> known;
  if (const auto at = known.find(address); at != known.end()) return at->second;
  Dl_info info{};
  std::string text = "?";
  if (dladdr(address, &info) && info.dli_fname) {
    char command[4096], line[1024];
    const long offset = long(static_cast<const char*>(address) - 1 - static_cast<const char*>(info.dli_fbase));
    snprintf(command, sizeof command, "addr2line -i -e '%s' %#lx 2>/dev/null", info.dli_fname, offset);
    if (FILE* told = popen(command, "r")) {
      while (fgets(line, sizeof line, told)) {  // from the innermost function outwards, to a file of kernels
        std::string s = line;
        s = s.substr(s.rfind('/') + 1);
        text = s.substr(0, s.find_first_of(" \n"));
        if (text.find(".cu:") != text.npos) break;
      }
      pclose(told);
    }
  }
  return known[address] = text;
}

bool is_constant(const void* p) {
  static std::map<uintptr_t, uintptr_t> ranges;  // of files, mapped only for reading
  const auto holds = [&] {
    auto at = ranges.upper_bound(uintptr_t(p));
    return at != ranges.begin() && uintptr_t(p) < (--at)->second;
  };
  if (holds()) return true;
  ranges.clear();
  if (FILE* maps = fopen("/proc/self/maps", "r")) {
    char line[4096], rights[5];
    uintptr_t begin, end, inode;
    while (fgets(line, sizeof line, maps))
      if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNuPTR, &begin, &end, rights, &inode) == 4)
        if (inode && rights[0] == 'r' && rights[1] == '-') ranges[begin] = end;
    fclose(maps);
  }
  return holds();
}

}  // namespace cuda_host
