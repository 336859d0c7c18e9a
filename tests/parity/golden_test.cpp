// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "nibblas/gguf.hpp"
#include "parity/product.hpp"

// Weights that ggml wrote, times real-looking activations, against results that were computed elsewhere in double.

namespace nibblas::test {
namespace {

constexpr std::size_t kM = 7;
constexpr std::size_t kN = 50;
constexpr std::size_t kK = 1536;

template <class T>
std::vector<T> read_array(const std::string& name, std::size_t count) {
  std::ifstream file(std::string(NIBBLAS_GOLDEN_DIR "/") + name, std::ios::binary);
  std::vector<T> out(count);
  const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
  file.read(reinterpret_cast<char*>(out.data()), bytes);
  EXPECT_TRUE(file.gcount() == bytes && file.peek() == std::ifstream::traits_type::eof()) << name;
  return out;
}

/// Relative L2 errors from docs/numerics.md; int8 has 6.9e-3 to 7.3e-3 (ggml 7.2e-3 for q8_0 and q4_0, 1.5e-2 for the
/// others). One scale for a whole row with outliers costs more, for BitNet as for us.
double allowed(const Key& key) {
  if (key.compute == Compute::int8_token) return 2.5e-2;
  if (key.compute == Compute::f32) return info(key.weights).block_elems == 1 ? 2.5e-7 : 1e-6;
  return 7.5e-3;
}

double relative_l2(const Matrix& y, const std::vector<double>& want) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = static_cast<double>(y.at(i / kN, i % kN)) - want[i];
    error += d * d;
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

std::vector<Candidate> golden_kernels() {
  std::vector<Candidate> out = all_kernels();
  std::erase_if(out, [](const Candidate& c) { return info(c.kernel->key.weights).ggml_id < 0; });
  return out;
}

class Golden : public testing::TestWithParam<Candidate> {};

TEST_P(Golden, ProductsOfTheFile) {
  const Candidate& c = GetParam();
  const std::string type(to_string(c.kernel->key.weights));
  const Result<gguf::File> file = gguf::File::open(NIBBLAS_GOLDEN_DIR "/golden.gguf");
  ASSERT_TRUE(file) << file.status().message();
  const gguf::Tensor* tensor = file->find("w." + type);
  ASSERT_NE(tensor, nullptr);
  const Result<WeightView> w = tensor->weights();
  ASSERT_TRUE(w) << w.status().message();
  ASSERT_EQ(w->N, kN);
  ASSERT_EQ(w->K, kK);
  const std::vector<float> x = read_array<float>("matmul_x_7x1536.f32", kM * kK);
  const std::vector<double> want = read_array<double>("matmul_y_" + type + "_7x50.f64", kM * kN);

  Context context;
  context.registry = &registry();
  MatmulStats stats;
  MatmulOptions options = options_for(c);
  options.stats = &stats;
  Matrix y(kM, kN);
  const std::size_t step = c.runs(kM) ? kM : 1;
  for (std::size_t m = 0; m < kM; m += step) {
    const MatrixView rows{y.view().data + m * kN, step, kN};
    ASSERT_TRUE(matmul(*w, {x.data() + m * kK, step, kK}, rows, context, options));
  }
  EXPECT_EQ(stats.kernel, c.kernel);
  EXPECT_LE(relative_l2(y, want), allowed(c.key()));
  EXPECT_GT(relative_l2(y, want), 0);

  const Result<PackedWeights> packed = PackedWeights::pack(*w, context, options_for(c));
  ASSERT_TRUE(packed) << packed.status().message();
  Matrix again(kM, kN);
  for (std::size_t m = 0; m < kM; ++m) {
    const MatrixView row{again.view().data + m * kN, 1, kN};
    if (c.runs(1)) {
      ASSERT_TRUE(matmul(*packed, {x.data() + m * kK, 1, kK}, row, context, options_for(c)));
    }
  }
  if (!c.runs(1)) {
    ASSERT_TRUE(matmul(*packed, {x.data(), kM, kK}, again.view(), context, options_for(c)));
  }
  EXPECT_TRUE(matches(y.view(), again.view()));
  RecordProperty("rel_l2", std::to_string(relative_l2(y, want)));
}

TEST(GoldenFiles, EveryGgmlFormatHasKernels) {
  EXPECT_FALSE(golden_kernels().empty());
  for (const Key& key : all_keys()) {
    if (info(key.weights).ggml_id >= 0) {
      EXPECT_FALSE(kernels_of(key).empty()) << key.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Golden, testing::ValuesIn(golden_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
