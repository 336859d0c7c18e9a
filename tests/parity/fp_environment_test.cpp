// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cfenv>
#include <utility>
#include <vector>

#include "parity/product.hpp"
#include "support/fp_control.hpp"

// Whatever the caller's floating-point environment is: the same bits, and the environment afterwards as before.

namespace nibblas::test {
namespace {

/// Data on which flushing, rounding and overflow show.
constexpr std::pair<WeightFill, InputFill> kData[] = {{WeightFill::tiny, InputFill::hostile},
                                                      {WeightFill::ladder, InputFill::gaussian},
                                                      {WeightFill::blocks, InputFill::subnormal},
                                                      {WeightFill::blocks, InputFill::huge}};

class FpCaller : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override {  // in the usual environment
    for (const auto& [weights, input] : kData) references_.push_back(&reference(GetParam().key(), K(), weights, input));
  }

  std::size_t K() const { return 3 * one_block(GetParam().kernel->key.weights); }

  /// Packed and not, serial and on new threads.
  void check() {
    const Candidate& c = GetParam();
    const std::uint64_t control = fp_control();
    const int flags = std::fetestexcept(FE_ALL_EXCEPT);
    ThreadPool pool(2);
    std::size_t ran = 0;
    for (const Reference* ref : references_) {
      for (const Conditions& conditions : {Conditions{}, Conditions{.form = Form::zero_copy, .prepared = true},
                                           Conditions{.form = Form::zero_copy, .executor = &pool},
                                           Conditions{.prepared = true, .tiles = {1, 1, 2}, .executor = &pool}}) {
        for (const std::size_t M : {1u, 33u}) {
          if (!c.runs(M)) continue;
          Matrix y(M, kReferenceN);
          const testing::AssertionResult done = multiply(c, ref->w, ref->x.part(0, M, 0, K()), y.view(), conditions);
          const std::uint64_t control_after = fp_control();
          const int flags_after = std::fetestexcept(FE_ALL_EXCEPT);
          const RestoreFpEnvironment restore;
          std::fesetenv(FE_DFL_ENV);
          ASSERT_TRUE(done);
          ASSERT_EQ(control_after, control);
          ASSERT_EQ(flags_after, flags);
          ASSERT_TRUE(matches(ref->y.part(0, M, 0, kReferenceN), y.view())) << "M " << M;
          ++ran;
        }
      }
    }
    EXPECT_GT(ran, 0u);
  }

  std::vector<const Reference*> references_;
};

TEST_P(FpCaller, FlushesSubnormals) {
  const FlushToZero flush;
  check();
}

TEST_P(FpCaller, RoundsElsewhere) {
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    const RestoreFpEnvironment restore;
    ASSERT_EQ(std::fesetround(mode), 0);
    ASSERT_NO_FATAL_FAILURE(check()) << "rounding mode " << mode;
  }
}

TEST_P(FpCaller, HasFlagsRaisedOrNone) {
  const RestoreFpEnvironment restore;
  std::feclearexcept(FE_ALL_EXCEPT);
  ASSERT_NO_FATAL_FAILURE(check());
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::feraiseexcept(FE_ALL_EXCEPT);
  ASSERT_NO_FATAL_FAILURE(check());
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_ALL_EXCEPT);
}

#if defined(__GLIBC__)
TEST_P(FpCaller, TrapsExceptions) {
  const RestoreFpEnvironment restore;
  std::feclearexcept(FE_ALL_EXCEPT);
  if (feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW) == -1) {
    GTEST_SKIP() << "this CPU has no traps";
  }
  check();
}
#endif

INSTANTIATE_TEST_SUITE_P(Kernels, FpCaller, testing::ValuesIn(all_kernels()),
                         [](const auto& p) { return test_name(p.param); });

}  // namespace
}  // namespace nibblas::test
