// SPDX-License-Identifier: Apache-2.0
#include "nibblas/status.hpp"

#include <new>

namespace nibblas {

std::string_view to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::shape_mismatch:
      return "shape_mismatch";
    case StatusCode::buffer_too_small:
      return "buffer_too_small";
    case StatusCode::unsupported:
      return "unsupported";
    case StatusCode::invalid_data:
      return "invalid_data";
    case StatusCode::not_found:
      return "not_found";
    case StatusCode::out_of_memory:
      return "out_of_memory";
    case StatusCode::io_error:
      return "io_error";
  }
  return "invalid";
}

Status::Status(const Status& o) noexcept : code_(o.code_) {
  try {
    message_ = o.message_;
  } catch (const std::bad_alloc&) {
    message_.clear();
  }
}

Status& Status::operator=(const Status& o) noexcept {
  if (this != &o) *this = Status(o);
  return *this;
}

}  // namespace nibblas
