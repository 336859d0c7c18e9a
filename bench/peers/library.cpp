// SPDX-License-Identifier: Apache-2.0
#include "peers/library.hpp"

#include <dlfcn.h>

namespace nibblas::bench {

Result<Library> Library::open(const std::string& file, bool global) {
  Library l;
  l.file_ = file;
  l.handle_ = dlopen(file.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (l.handle_ != nullptr) return l;
  const char* reason = dlerror();
  return Status{StatusCode::not_found, reason != nullptr ? reason : "cannot load " + file};
}

void* Library::symbol(const char* name) {
  void* address = dlsym(handle_, name);
  if (address == nullptr) missing_ = name;
  return address;
}

Status Library::missing() const { return {StatusCode::not_found, file_ + " has no function " + missing_}; }

}  // namespace nibblas::bench
