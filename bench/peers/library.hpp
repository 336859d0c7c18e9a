// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nibblas/status.hpp"

namespace nibblas::bench {

/// A shared library, loaded at run time and never unloaded: it may have started threads.
class Library {
 public:
  /// `global`: its symbols are there for libraries loaded later. Errors: not_found with the loader's message.
  static Result<Library> open(const std::string& file, bool global);

  /// False when the library lacks the symbol; missing() then names it.
  template <class F>
  bool find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(symbol(name));
    return function != nullptr;
  }
  Status missing() const;

 private:
  void* symbol(const char* name);

  std::string file_;
  std::string missing_;
  void* handle_ = nullptr;
};

}  // namespace nibblas::bench
