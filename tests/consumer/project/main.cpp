// SPDX-License-Identifier: Apache-2.0
// A program that uses the installed library: exit code 0 when a product of a few integers is exact.

#include <cstddef>
#include <cstdio>
#include <limits>
#include <nibblas/gguf.hpp>
#include <nibblas/nibblas.hpp>
#include <vector>

namespace {

constexpr std::size_t kM = 3, kN = 33, kK = 64;

float weight(std::size_t n, std::size_t k) { return static_cast<float>((n * 5 + k * 3) % 16) - 8.0f; }
float activation(std::size_t m, std::size_t k) { return static_cast<float>((m * 7 + k) % 5) - 2.0f; }

bool subnormals_work() {
  volatile float tiny = std::numeric_limits<float>::min();
  return tiny / 2 != 0.0f;
}

bool product_is_exact() {
  std::vector<float> w(kN * kK), x(kM * kK), y(kM * kN);
  for (std::size_t n = 0; n < kN; ++n)
    for (std::size_t k = 0; k < kK; ++k) w[n * kK + k] = weight(n, k);
  for (std::size_t m = 0; m < kM; ++m)
    for (std::size_t k = 0; k < kK; ++k) x[m * kK + k] = activation(m, k);

  nibblas::WeightView W;
  W.dtype = nibblas::DType::f32;
  W.N = kN;
  W.K = kK;
  W.data = reinterpret_cast<const std::byte*>(w.data());
  W.bytes = w.size() * sizeof(float);
  nibblas::Context context;
  const nibblas::Status status = nibblas::matmul(W, {x.data(), kM, kK}, {y.data(), kM, kN}, context);
  if (!status.ok()) {
    std::printf("%s\n", status.message().c_str());
    return false;
  }
  for (std::size_t m = 0; m < kM; ++m)
    for (std::size_t n = 0; n < kN; ++n) {
      float sum = 0.0f;
      for (std::size_t k = 0; k < kK; ++k) sum += weight(n, k) * activation(m, k);
      if (y[m * kN + n] != sum) return false;
    }
  return true;
}

}  // namespace

int main() {
  if (!subnormals_work()) return std::puts("linking nibblas switched subnormals off"), 1;
  if (!product_is_exact()) return std::puts("wrong product"), 1;
  if (nibblas::gguf::File::open("no such file").ok()) return std::puts("opened a file that does not exist"), 1;
  std::puts("consumer: ok");
  return 0;
}
