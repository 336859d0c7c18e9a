// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace nibblas {

/// A function-local static that is never destroyed, so that other statics may use it while the process exits.
/// Takes no heap memory.
template <class T>
class Immortal {
 public:
  template <class... Args>
  explicit Immortal(Args&&... args) : value_(::new (static_cast<void*>(storage_)) T(std::forward<Args>(args)...)) {}
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  T& get() noexcept { return *value_; }

 private:
  alignas(T) std::byte storage_[sizeof(T)];
  T* value_;
};

}  // namespace nibblas
