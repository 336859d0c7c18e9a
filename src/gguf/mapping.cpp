// SPDX-License-Identifier: Apache-2.0
#include "gguf/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "gguf/layout.hpp"

namespace nibblas::gguf {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Status io_error(const std::string& path, const std::string& what) {
  return {StatusCode::io_error, quoted_path(path) + ": " + what};
}

Status os_error(const std::string& path, int error) { return io_error(path, std::generic_category().message(error)); }

}  // namespace

Mapping::~Mapping() {
  if (bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<Mapping> Mapping::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return io_error(path, "the path contains a NUL character");
  // O_NONBLOCK: opening a FIFO would otherwise wait for a writer. It changes nothing for regular files.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return os_error(path, errno);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return os_error(path, errno);
  if (!S_ISREG(st.st_mode)) return io_error(path, "not a regular file");
  if (st.st_size == 0) return Mapping();
  if (!std::in_range<std::size_t>(st.st_size)) return io_error(path, "larger than the address space");
  const auto size = static_cast<std::size_t>(st.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return os_error(path, errno);
  return Mapping({static_cast<const std::byte*>(address), size});
}

}  // namespace nibblas::gguf
