// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <span>
#include <string>

#include "nibblas/formats.hpp"
#include "parity/product.hpp"
#include "support/fill.hpp"

// One small product a key, whose data is made with exact operations only, hashed: the same 64 bits from every provider
// on every architecture. expected_hashes.txt was written by the scalar provider; every line that this test prints as
// "hash ..." belongs there when the canonical order changes on purpose.

namespace nibblas::test {
namespace {

constexpr std::size_t kM = 17;
constexpr std::size_t kN = 33;

/// FNV-1a.
std::string hash(const void* data, std::size_t bytes) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; ++i) {
    h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

/// "key hash" lines.
std::map<std::string, std::string> expected_hashes() {
  std::ifstream file(std::string(NIBBLAS_PARITY_DIR) + "/expected_hashes.txt");
  std::map<std::string, std::string> out;
  for (std::string key, value; file >> key >> value;) out[key] = value;
  return out;
}

/// Multiples of 2^-12 between -1 and 1: in every format the same bits everywhere.
Matrix dyadic(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Random random(seed);
  Matrix out(rows, cols);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) out.at(r, c) = static_cast<float>(random.below(8193)) / 4096 - 1;
  }
  return out;
}

Weights exact_weights(DType t, std::size_t K) {
  Weights w(t, kN, K, WeightFill::blocks, 11);
  if (info(t).block_elems == 1 && t != DType::bitnet_b158) {  // fill_blocks() draws Gaussian numbers here
    EXPECT_TRUE(quantize(t, dyadic(kN, K, 12).view(), w.bytes()));
  }
  return w;
}

/// A saved image of exact_weights(q4_k, 512), written on x86: maps it and multiplies.
constexpr DType kImageType = DType::q4_k;
constexpr std::size_t kImageK = 512;

class MappedImage : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override {
    const int file = ::open(NIBBLAS_PARITY_DIR "/packed_q4_k_x86.bin", O_RDONLY);
    ASSERT_GE(file, 0);
    struct stat status {};
    ASSERT_EQ(::fstat(file, &status), 0);
    bytes_ = static_cast<std::size_t>(status.st_size);
    data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    ASSERT_NE(data_, MAP_FAILED);
  }
  void TearDown() override {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes_);
  }
  std::span<const std::byte> image() const { return {static_cast<const std::byte*>(data_), bytes_}; }

 private:
  void* data_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

class CrossSmall : public testing::TestWithParam<Candidate> {
 protected:
  void check(const std::string& name, const std::string& got) {
    std::printf("hash %s %s %s\n", name.c_str(), std::string(GetParam().provider->name()).c_str(), got.c_str());
    const auto all = expected_hashes();
    const auto found = all.find(name);
    ASSERT_NE(found, all.end()) << name << " is not in expected_hashes.txt";
    EXPECT_EQ(got, found->second);
  }
};

TEST_P(CrossSmall, Product) {
  const Candidate& c = GetParam();
  const DType t = c.kernel->key.weights;
  const std::size_t K = info(t).block_elems == 1 ? 1100 : 512;
  const Weights w = exact_weights(t, K);
  const Matrix x = dyadic(kM, K, 13);
  Matrix y(kM, kN);
  const std::size_t step = c.runs(kM) ? kM : 1;
  for (std::size_t m = 0; m < kM; m += step) {
    const MatrixView rows{y.view().data + m * kN, step, kN};
    ASSERT_TRUE(multiply(c, w, x.part(m, step, 0, K), rows));
  }
  check(c.key().name(), hash(y.view().data, kM * kN * sizeof(float)));
}

TEST_P(CrossSmall, PackedImage) {
  const Candidate& c = GetParam();
  const DType t = c.kernel->key.weights;
  const Weights w = exact_weights(t, info(t).block_elems == 1 ? 101 : 512);
  Context context;
  context.registry = &registry();
  const Result<PackedWeights> packed = PackedWeights::pack(w.view(), context, options_for(c));
  ASSERT_TRUE(packed) << packed.status().message();
  check("image." + std::string(to_string(t)), hash(packed->bytes().data(), packed->bytes().size()));
}

TEST_P(MappedImage, ServesEveryArchitecture) {
  const Candidate& c = GetParam();
  const auto all = expected_hashes();
  EXPECT_EQ(hash(image().data(), image().size()), all.at("image." + std::string(to_string(kImageType))));
  const Result<PackedWeights> packed = PackedWeights::from_bytes(image());
  ASSERT_TRUE(packed) << packed.status().message();
  const Matrix x = dyadic(kM, kImageK, 13);
  Matrix y(kM, kN);
  Context context;
  context.registry = &registry();
  const std::size_t step = c.runs(kM) ? kM : 1;
  for (std::size_t m = 0; m < kM; m += step) {
    const MatrixView rows{y.view().data + m * kN, step, kN};
    ASSERT_TRUE(matmul(*packed, x.part(m, step, 0, kImageK), rows, context, options_for(c)));
  }
  EXPECT_EQ(hash(y.view().data, kM * kN * sizeof(float)), all.at(c.key().name()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, MappedImage, testing::ValuesIn(kernels_of({kImageType, Compute::int8})),
                         [](const auto& p) { return test_name(p.param); });

INSTANTIATE_TEST_SUITE_P(Kernels, CrossSmall, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
