// SPDX-License-Identifier: Apache-2.0
#include "parity/product.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "support/oracle.hpp"

namespace nibblas::test {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

template <class W, class X>
AssertionResult multiply_with(const Candidate& c, const W& w, const X& x, MatrixView y, Context& context,
                              const Conditions& conditions) {
  MatmulStats stats;
  MatmulOptions options = options_for(c);
  options.tiles = conditions.tiles;
  options.stats = &stats;
  if (const Status s = matmul(w, x, y, context, options); !s) return AssertionFailure() << s.message();
  if (stats.kernel != c.kernel) return AssertionFailure() << stats.kernel->name << " ran instead of " << c.kernel->name;
  return AssertionSuccess();
}

template <class W>
AssertionResult multiply_weights(const Candidate& c, const W& w, ConstMatrixView x, MatrixView y, Context& context,
                                 const Conditions& conditions) {
  if (!conditions.prepared) return multiply_with(c, w, x, y, context, conditions);
  Activations activations;
  if (const Status s = prepare(x, c.kernel->key.compute, activations, context); !s) {
    return AssertionFailure() << "prepare: " << s.message();
  }
  return multiply_with(c, w, activations, y, context, conditions);
}

AssertionResult multiply_packed(const Candidate& c, const Weights& w, ConstMatrixView x, MatrixView y, Context& context,
                                const Conditions& conditions) {
  const Result<PackedWeights> packed = PackedWeights::pack(w.view(), context, options_for(c));
  if (!packed) return AssertionFailure() << "pack: " << packed.status().message();
  if (conditions.form == Form::packed) return multiply_weights(c, *packed, x, y, context, conditions);
  Buffer saved(packed->bytes().size());
  std::copy(packed->bytes().begin(), packed->bytes().end(), saved.data());
  const Result<PackedWeights> again = PackedWeights::from_bytes({saved.data(), packed->bytes().size()});
  if (!again) return AssertionFailure() << "from_bytes: " << again.status().message();
  return multiply_weights(c, *again, x, y, context, conditions);
}

/// What underflow may add to an error: products below the smallest float, amplitudes that the quantiser takes for 0.
double underflow(Compute compute, std::size_t K) noexcept {
  const double largest_weight = 65504;
  return static_cast<double>(K) * largest_weight * (compute == Compute::f32 ? 0x1p-149 : 4e-37);
}

template <class Id, class Make>
const auto& cached(const Id& id, Make make) {
  static std::map<Id, std::unique_ptr<decltype(make())>> all;
  auto& entry = all[id];
  if (entry == nullptr) entry = std::make_unique<decltype(make())>(make());
  return *entry;
}

}  // namespace

const char* to_string(Form form) noexcept {
  constexpr const char* names[] = {"packed", "image", "zero_copy", "strided"};
  return names[static_cast<std::size_t>(form)];
}

MatmulOptions options_for(const Candidate& c) {
  MatmulOptions options;
  options.compute = c.kernel->key.compute;
  options.provider = c.provider->name();
  return options;
}

AssertionResult multiply(const Candidate& c, const Weights& w, ConstMatrixView x, MatrixView y,
                         const Conditions& conditions) {
  Context context;
  context.registry = &registry();
  context.executor = conditions.executor;
  context.caches = conditions.caches;
  if (conditions.form == Form::packed || conditions.form == Form::image)
    return multiply_packed(c, w, x, y, context, conditions);
  if (conditions.form == Form::strided && w.dtype() != DType::bitnet_b158) {
    const StridedWeights strided(w, 37);
    return multiply_weights(c, strided.view, x, y, context, conditions);
  }
  std::vector<std::byte> odd(w.bytes().size() + 1);
  std::copy(w.bytes().begin(), w.bytes().end(), odd.begin() + 1);
  return multiply_weights(c, w.view_at(odd.data() + 1), x, y, context, conditions);
}

AssertionResult matches(ConstMatrixView want, ConstMatrixView got) {
  if (want.rows != got.rows || want.cols != got.cols) return AssertionFailure() << "shapes differ";
  const std::optional<Difference> d = first_difference(want, got);
  if (!d) return AssertionSuccess();
  return AssertionFailure() << std::hexfloat << "element (" << d->row << ", " << d->col << ") of " << want.rows << " x "
                            << want.cols << " is " << d->got << ", not " << d->want;
}

AssertionResult within_bounds(const WeightView& w, ConstMatrixView x, Compute compute, ConstMatrixView y) {
  const Result<Oracle> oracle = make_oracle(w, x);
  if (!oracle) return AssertionFailure() << oracle.status().message();
  const double slack = underflow(compute, w.K);
  for (std::size_t m = 0; m < x.rows; ++m) {
    const float* row = x.data + m * x.stride;
    const double inputs =
        std::accumulate(row, row + x.cols, 0.0, [](double sum, float v) { return sum + std::fabs(v); });
    for (std::size_t n = 0; n < w.N; ++n) {
      const std::size_t i = m * w.N + n;
      if (inputs * 128 > 1e38 || oracle->magnitude[i] > 1e38) continue;
      const double got = static_cast<double>(y.data[m * y.stride + n]);
      const double error = std::fabs(got - oracle->y[i]);
      if (error <= oracle->bound(compute, i) + slack) continue;  // false for NaN
      return AssertionFailure() << "element (" << m << ", " << n << ") is " << got << ", the oracle says "
                                << oracle->y[i] << " +- " << oracle->bound(compute, i);
    }
  }
  return AssertionSuccess();
}

const Reference& reference(Key key, std::size_t K, WeightFill weights, InputFill input) {
  return cached(std::tuple(key, K, weights, input), [&] {
    const Weights& w = cached(std::tuple(key.weights, K, weights),
                              [&] { return Weights(key.weights, kReferenceN, K, weights, 100 + K); });
    const Matrix& x = cached(std::tuple(K, input), [&] { return make_input(kReferenceM, K, input, 200 + K); });
    Reference r{w, x, Matrix(kReferenceM, kReferenceN)};
    const std::string what =
        key.name() + " K = " + std::to_string(K) + " W " + to_string(weights) + " X " + to_string(input);
    EXPECT_TRUE(multiply(scalar_kernel(key), w, x.view(), r.y.view())) << what;
    EXPECT_TRUE(within_bounds(w.view(), x.view(), key.compute, r.y.view())) << what;
    return r;
  });
}

std::size_t one_block(DType t) noexcept { return info(t).block_elems == 1 ? 64 : info(t).block_elems; }

}  // namespace nibblas::test
