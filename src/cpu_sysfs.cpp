// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "cpu_detect.hpp"

namespace nibblas {

namespace {

struct Closer {
  void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};

/// First line of dir/index<i>/<leaf> without its newline; false when there is none.
template <std::size_t N>
bool read_line(const char* dir, int i, const char* leaf, char (&line)[N]) noexcept {
  char path[512];
  const int n = std::snprintf(path, sizeof path, "%s/index%d/%s", dir, i, leaf);
  if (n < 0 || static_cast<std::size_t>(n) >= sizeof path) {
    return false;
  }
  const std::unique_ptr<std::FILE, Closer> file(std::fopen(path, "re"));
  if (!file || std::fgets(line, static_cast<int>(N), file.get()) == nullptr) {
    return false;
  }
  for (char* p = line; *p != '\0'; ++p) {
    if (*p == '\n') {
      *p = '\0';
    }
  }
  return true;
}

/// "48K", "2M", "65536".
std::size_t parse_size(const char* s) noexcept {
  char* end = nullptr;
  const unsigned long long n = std::strtoull(s, &end, 10);
  if (end == s || n > (1ull << 40)) {
    return 0;
  }
  const unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
  return static_cast<std::size_t>(n << shift);
}

}  // namespace

CacheInfo caches_from_sysfs(const char* dir) noexcept {
  CacheInfo caches;
  char level[16];
  char type[32];
  char size[32];
  constexpr int kMaxIndex = 16;
  for (int i = 0; i < kMaxIndex && read_line(dir, i, "level", level); ++i) {
    if (!read_line(dir, i, "type", type) || !read_line(dir, i, "size", size)) {
      continue;
    }
    if (std::string_view(type) == "Instruction") {
      continue;
    }
    switch (level[0]) {
      case '1':
        caches.l1d = parse_size(size);
        break;
      case '2':
        caches.l2 = parse_size(size);
        break;
      case '3':
        caches.l3 = parse_size(size);
        break;
      default:
        break;
    }
  }
  return plausible(caches);
}

}  // namespace nibblas
