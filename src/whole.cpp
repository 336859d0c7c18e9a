// SPDX-License-Identifier: Apache-2.0
#include "whole.hpp"

#include <new>

#include "status_message.hpp"

namespace nibblas {
namespace {

template <class T, class Call>
T guarded(const Kernel& kernel, Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return error(StatusCode::out_of_memory, kernel.name, ": out of memory");
  } catch (...) {
    return error(StatusCode::unsupported, kernel.name, ": threw an exception");
  }
}

}  // namespace

Status run_whole(const Kernel& kernel, const WeightSource& w, const ConstMatrixView& x, const MatrixView& y,
                 Context& context) noexcept {
  WeightView empty;
  if (w.view == nullptr) {
    empty.dtype = w.dtype();
    empty.N = w.N();
    empty.K = w.K();
  }
  const MatmulArgs args{w.view != nullptr ? *w.view : empty,
                        w.packed != nullptr ? w.packed->data() : nullptr,
                        x,
                        y,
                        executor_of(context),
                        context.workspace};
  return guarded<Status>(kernel, [&] { return kernel.whole.run(args, kernel.whole.user); });
}

Result<std::size_t> own_packed_bytes(const Kernel& kernel, DType dtype, std::size_t N, std::size_t K) noexcept {
  Result<std::size_t> bytes =
      guarded<Result<std::size_t>>(kernel, [&] { return kernel.whole.packed_bytes(dtype, N, K, kernel.whole.user); });
  if (bytes && *bytes > (SIZE_MAX >> 1)) {
    return error(StatusCode::shape_mismatch, kernel.name, ": packed size of ", N, " x ", K, " overflows");
  }
  return bytes;
}

Status pack_own(const Kernel& kernel, const WeightView& w, std::byte* out) noexcept {
  return guarded<Status>(kernel, [&] { return kernel.whole.pack(w, out, kernel.whole.user); });
}

Status check_own_packing(const Kernel& kernel, const PackedWeights& w) noexcept {
  if (w.layout_version() != kernel.whole.layout_version) {
    return error(StatusCode::invalid_data, "W: packed in layout ", w.layout_id(), " version ", w.layout_version(), ", ",
                 kernel.name, " reads version ", kernel.whole.layout_version);
  }
  const Result<std::size_t> wanted = own_packed_bytes(kernel, w.dtype(), w.N(), w.K());
  if (!wanted) return wanted.status();
  const std::size_t has = w.bytes().size() - PackedWeights::kHeaderBytes;
  if (has != *wanted) {
    return error(StatusCode::invalid_data, "W: ", w.N(), " x ", w.K(), " in layout ", w.layout_id(), " has ", has,
                 " bytes, ", kernel.name, " needs ", *wanted);
  }
  return {};
}

}  // namespace nibblas
