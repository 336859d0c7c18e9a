// SPDX-License-Identifier: Apache-2.0
// Providers from outside: preferred, opted in, disabled, removed again; only their own keys change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/exact_problem.hpp"
#include "driver/outside_providers.hpp"
#include "nibblas/batched.hpp"
#include "nibblas/matmul.hpp"
#include "support/bits.hpp"

namespace nibblas::test {
namespace {

constexpr KernelKey kF32{Op::matmul, DType::f32, Compute::f32};
constexpr KernelKey kTernary{Op::gemv, DType::bitnet_b158, Compute::f32};

struct Answer {
  KernelRequest request;
  const Kernel* kernel;
};

/// What the registry answers to every key, on rows and on panels, with and without tolerance.
std::vector<Answer> all_answers(const KernelRegistry& registry) {
  std::vector<Answer> out;
  for (std::size_t op = 0; op < kOpCount; ++op) {
    for (const DTypeInfo& t : kDTypes) {
      for (std::size_t c = 0; c < kComputeCount; ++c) {
        for (const std::uint32_t layout : {0u, panel_layout(t.dtype).id}) {
          for (const bool tolerance : {false, true}) {
            const KernelRequest r{.key = {static_cast<Op>(op), t.dtype, static_cast<Compute>(c)},
                                  .allow_tolerance = tolerance,
                                  .layout_id = layout};
            out.push_back({r, registry.select(r)});
            const Resolution full = registry.resolve(r);
            EXPECT_EQ(full.kernel, out.back().kernel);
            if (is_legal(t.dtype, r.key.compute)) {
              EXPECT_NE(full.kernel, nullptr) << registry.explain(r);
            }
          }
        }
      }
    }
  }
  return out;
}

/// Answers that differ; `changed(request)` says where they may, and there they must.
template <class Changed>
void expect_changed_only(const std::vector<Answer>& before, const std::vector<Answer>& after, Changed changed) {
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const KernelRequest& r = before[i].request;
    EXPECT_EQ(before[i].kernel != after[i].kernel, changed(r))
        << to_string(r.key.op) << " " << to_string(r.key.weights) << " " << to_string(r.key.compute) << " layout "
        << r.layout_id << (r.allow_tolerance ? " tolerance" : "");
  }
}

bool never(const KernelRequest&) { return false; }

class Providers : public testing::Test {
 protected:
  Context context_of(KernelRegistry& r) {
    return {.registry = &r, .executor = nullptr, .caches = nullptr, .workspace = {}};
  }
  void expect_exact(const ExactProblem& p, Context& with, const MatmulOptions& options) {
    Output y(p.M, p.N, 1);
    const Status s = matmul(p.view(), p.rows(), y.view(), with, options);
    ASSERT_TRUE(s) << s.message();
    EXPECT_EQ(y.difference(p.want), "");
  }

  OutsideProvider vendor{"vendor", 500, whole_kernel(kF32, "matmul.f32.f32.vendor", Results::canonical, naive_product)};
  OutsideProvider ternary{"ternary", 500,
                          whole_kernel(kTernary, "gemv.bitnet_b158.f32.ternary", Results::tolerance, ternary_gemv)};
  KernelRegistry registry = KernelRegistry::builtin(host_cpu(), {});
  Context context = context_of(registry);
};

TEST_F(Providers, ACanonicalOneIsPreferredByPriorityForItsKeyAlone) {
  const std::vector<Answer> before = all_answers(registry);
  ASSERT_TRUE(registry.add(vendor));
  expect_changed_only(before, all_answers(registry), [](const KernelRequest& r) {
    return r.key.weights == DType::f32 && r.key.compute == Compute::f32 && r.layout_id == 0;
  });
  const ExactProblem p(DType::f32, 5, 33, 100);
  expect_exact(p, context, {});
  EXPECT_EQ(vendor.calls, 1);
  MatmulStats stats;
  expect_exact(p, context, {.stats = &stats});
  EXPECT_STREQ(stats.kernel->name, "matmul.f32.f32.vendor");
  expect_exact(ExactProblem(DType::q8_0, 5, 33, 64), context, {});
  EXPECT_EQ(vendor.calls, 2);
  expect_exact(p, context, {.provider = "scalar"});
  EXPECT_EQ(vendor.calls, 2);

  ASSERT_TRUE(registry.remove("VENDOR"));
  expect_changed_only(before, all_answers(registry), never);
  expect_exact(p, context, {});
  EXPECT_EQ(vendor.calls, 2);
}

TEST_F(Providers, PanelsAndPreparedActivationsGoToKernelsThatReadThem) {
  ASSERT_TRUE(registry.add(vendor));
  const ExactProblem p(DType::f32, 5, 33, 100);
  const Result<PackedWeights> packed = PackedWeights::pack(p.view(), context);
  ASSERT_TRUE(packed) << packed.status().message();
  EXPECT_EQ(packed->layout_id(), panel_layout(DType::f32).id);
  Activations X;
  ASSERT_TRUE(prepare(p.rows(), Compute::f32, X, context));
  Output a(5, 33), b(5, 33);
  ASSERT_TRUE(matmul(*packed, p.rows(), a.view(), context));
  ASSERT_TRUE(matmul(p.view(), X, b.view(), context));
  EXPECT_EQ(a.difference(p.want), "");
  EXPECT_EQ(b.difference(p.want), "");
  EXPECT_EQ(vendor.calls, 0);
  Output c(5, 33);
  const Status s = matmul(p.view(), X, c.view(), context, {.provider = "vendor"});
  EXPECT_EQ(s.code(), StatusCode::unsupported);
  EXPECT_NE(s.message().find("prepared"), std::string::npos) << s.message();
  EXPECT_TRUE(c.untouched());
}

TEST_F(Providers, AToleranceOneWaitsUntilItIsAskedFor) {
  const std::vector<Answer> before = all_answers(registry);
  ASSERT_TRUE(registry.add(ternary));
  expect_changed_only(before, all_answers(registry), [](const KernelRequest& r) {
    return r.key == kTernary && r.layout_id == 0 && r.allow_tolerance;
  });
  const ExactProblem one(DType::bitnet_b158, 1, 33, 37);
  const ExactProblem two(DType::bitnet_b158, 2, 33, 37);
  expect_exact(one, context, {.compute = Compute::f32});
  EXPECT_EQ(ternary.calls, 0);
  expect_exact(one, context, {.compute = Compute::f32, .allow_tolerance = true});
  EXPECT_EQ(ternary.calls, 1);
  expect_exact(one, context, {.compute = Compute::f32, .provider = "Ternary"});
  EXPECT_EQ(ternary.calls, 2);
  expect_exact(two, context, {.compute = Compute::f32, .allow_tolerance = true});  // a gemv kernel serves gemv only
  expect_exact(one, context, {.allow_tolerance = true});                           // int8_token is another key
  EXPECT_EQ(ternary.calls, 2);
  Output y(2, 33);
  const Status s = matmul(two.view(), two.rows(), y.view(), context, {.compute = Compute::f32, .provider = "ternary"});
  EXPECT_EQ(s.code(), StatusCode::unsupported);
  EXPECT_TRUE(y.untouched());
  ASSERT_TRUE(registry.remove("ternary"));
  expect_changed_only(before, all_answers(registry), never);
}

TEST_F(Providers, DisabledByNameOfProviderOrKernel) {
  const std::vector<Answer> before = all_answers(registry);
  for (const std::string name : {"vendor", "matmul.f32.f32.VENDOR"}) {
    KernelRegistry r = KernelRegistry::builtin(host_cpu(), {{}, {}, name});
    EXPECT_FALSE(r.config_status().ok()) << "nobody has that name yet";
    ASSERT_TRUE(r.add(vendor));
    ASSERT_TRUE(r.config_status().ok()) << r.config_status().message();
    expect_changed_only(before, all_answers(r), never);
    Context c = context_of(r);
    expect_exact(ExactProblem(DType::f32, 5, 33, 100), c, {});
    EXPECT_EQ(vendor.calls, 0);
    EXPECT_NE(explain(ExactProblem(DType::f32, 5, 33, 100).view(), 5, c).find("disabled by NIBBLAS_DISABLE"),
              std::string::npos);
  }
}

TEST_F(Providers, ForcedByConfigEvenWithTolerance) {
  KernelRegistry r = KernelRegistry::builtin(host_cpu(), {"ternary", {}, {}});
  ASSERT_TRUE(r.add(ternary));
  Context c = context_of(r);
  expect_exact(ExactProblem(DType::bitnet_b158, 1, 33, 37), c, {.compute = Compute::f32});
  EXPECT_EQ(ternary.calls, 1);
  MatmulStats stats;
  expect_exact(ExactProblem(DType::f32, 5, 33, 100), c, {.stats = &stats});  // the floor has what it lacks
  EXPECT_STREQ(stats.kernel->name, "matmul.f32.f32.scalar");
}

TEST_F(Providers, ExplainNamesTheChosenAndWhyEachOtherLost) {
  ASSERT_TRUE(registry.add(vendor));
  ASSERT_TRUE(registry.add(ternary));
  const ExactProblem f(DType::f32, 5, 33, 64);
  const std::string text = explain(f.view(), 5, context);
  EXPECT_NE(text.find("matmul f32 f32 -> matmul.f32.f32.vendor"), std::string::npos) << text;
  EXPECT_NE(text.find("* vendor (priority 500) matmul.f32.f32.vendor: highest priority"), std::string::npos) << text;
  EXPECT_NE(text.find("scalar (priority 0) matmul.f32.f32.scalar: lower priority than vendor"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ternary (priority 500) -: no kernel for f32 f32"), std::string::npos) << text;

  const ExactProblem b(DType::bitnet_b158, 1, 33, 64);
  EXPECT_NE(explain(b.view(), 1, context, {.compute = Compute::f32}).find("tolerance; not opted in"),
            std::string::npos);
  EXPECT_NE(explain(b.view(), 1, context, {.compute = Compute::f32, .allow_tolerance = true}).find("* ternary"),
            std::string::npos);
  for (const KernelProvider* p : registry.providers()) {
    const Resolution all = registry.resolve({.key = kF32});
    const auto has = [p](const Candidate& c) { return c.provider == p->name() && !c.reason.empty(); };
    EXPECT_EQ(std::ranges::count_if(all.trail, has), 1) << p->name();
    EXPECT_NE(text.find(p->name()), std::string::npos) << p->name();
  }
  const Result<PackedWeights> packed = PackedWeights::pack(f.view(), context);
  ASSERT_TRUE(packed);
  EXPECT_NE(explain(*packed, 5, context).find("reads rows as in the file"), std::string::npos);
}

TEST_F(Providers, APackingOfItsOwn) {
  OutsideProvider columns{
      "columns", 500,
      columns_kernel({Op::matmul, DType::q8_0, Compute::f32}, "matmul.q8_0.f32.columns", Results::canonical)};
  ASSERT_TRUE(registry.add(columns));
  const ExactProblem p(DType::q8_0, 5, 33, 64);
  const MatmulOptions options{.compute = Compute::f32};
  const Result<PackedWeights> packed = PackedWeights::pack(p.view(), context, options);
  ASSERT_TRUE(packed) << packed.status().message();
  EXPECT_EQ(packed->layout_id(), kColumnsLayout);
  EXPECT_EQ(packed->layout_version(), kColumnsVersion);
  EXPECT_EQ(packed->bytes().size(), 64 + 33 * 64 * sizeof(float));
  const auto product = [&](const PackedWeights& w, Context& c, StatusCode code, const char* word) {
    Output y(5, 33);
    const Status s = matmul(w, p.rows(), y.view(), c, options);
    EXPECT_EQ(to_string(s.code()), to_string(code)) << s.message();
    EXPECT_NE(s.message().find(word), std::string::npos) << s.message();
    if (s.ok()) {
      EXPECT_EQ(y.difference(p.want), "");
    } else {
      EXPECT_TRUE(y.untouched());
    }
  };
  product(*packed, context, StatusCode::ok, "");
  EXPECT_EQ(columns.calls, 1);

  // Saved, and mapped again.
  Buffer image(packed->bytes().size());
  std::memcpy(image.data(), packed->bytes().data(), image.size());
  product(PackedWeights::from_bytes({image.data(), image.size()}).value(), context, StatusCode::ok, "");
  // Of another version, and of another size than the kernel would make.
  const std::uint16_t version = 2;
  std::memcpy(image.data() + 20, &version, sizeof version);
  product(PackedWeights::from_bytes({image.data(), image.size()}).value(), context, StatusCode::invalid_data,
          "version 2, matmul.q8_0.f32.columns reads version 3");
  std::memcpy(image.data() + 20, &kColumnsVersion, sizeof version);
  const std::uint64_t payload = image.size() - 64 - 4;
  std::memcpy(image.data() + 40, &payload, sizeof payload);
  product(PackedWeights::from_bytes({image.data(), image.size() - 4}).value(), context, StatusCode::invalid_data,
          "needs 8448");

  // Where nobody reads it.
  KernelRegistry others = KernelRegistry::builtin(host_cpu(), {});
  Context c = context_of(others);
  product(*packed, c, StatusCode::unsupported, "layout 4097");
  ASSERT_TRUE(registry.remove("columns"));
  product(*packed, context, StatusCode::unsupported, "layout 4097");
  // Panels and rows are still everybody's.
  expect_exact(p, context, options);
}

TEST_F(Providers, AnOwnPackingIsMadeOnlyByTheKernelThatWouldRun) {
  OutsideProvider columns{
      "columns", 500,
      columns_kernel({Op::matmul, DType::q8_0, Compute::f32}, "matmul.q8_0.f32.columns", Results::tolerance)};
  ASSERT_TRUE(registry.add(columns));
  const ExactProblem p(DType::q8_0, 5, 33, 64);
  const auto layout = [&](const MatmulOptions& o) { return PackedWeights::pack(p.view(), context, o)->layout_id(); };
  const std::uint32_t panels = panel_layout(DType::q8_0).id;
  EXPECT_EQ(layout({.compute = Compute::f32}), panels);
  EXPECT_EQ(layout({}), panels);
  EXPECT_EQ(layout({.compute = Compute::f32, .allow_tolerance = true}), kColumnsLayout);
  EXPECT_EQ(layout({.compute = Compute::f32, .provider = "columns"}), kColumnsLayout);
  EXPECT_EQ(layout({.compute = Compute::f32, .provider = "scalar"}), panels);
}

TEST_F(Providers, WhatAWholeKernelThrowsIsAStatus) {
  Kernel k = columns_kernel({Op::matmul, DType::q8_0, Compute::f32}, "matmul.q8_0.f32.thrower", Results::canonical);
  k.whole.run = [](const MatmulArgs&, void*) -> Status { throw std::runtime_error("no device"); };
  k.whole.pack = [](const WeightView&, std::byte*, void*) -> Status { throw std::bad_alloc(); };
  OutsideProvider thrower{"thrower", 500, k};
  ASSERT_TRUE(registry.add(thrower));
  const ExactProblem p(DType::q8_0, 5, 33, 64);
  Output y(5, 33);
  const Status run = matmul(p.view(), p.rows(), y.view(), context, {.compute = Compute::f32});
  EXPECT_EQ(run.code(), StatusCode::unsupported);
  EXPECT_NE(run.message().find("matmul.q8_0.f32.thrower"), std::string::npos) << run.message();
  EXPECT_EQ(PackedWeights::pack(p.view(), context, {.compute = Compute::f32}).status().code(),
            StatusCode::out_of_memory);
  k.whole.packed_bytes = [](DType, std::size_t, std::size_t, void*) -> Result<std::size_t> { throw 1; };
  k.name = "matmul.q8_0.f32.worst";
  OutsideProvider worst{"worst", 700, k};
  ASSERT_TRUE(registry.add(worst));
  EXPECT_EQ(PackedWeights::pack(p.view(), context, {.compute = Compute::f32}).status().code(), StatusCode::unsupported);
}

TEST_F(Providers, AStackEndsAtTheWholeKernelThatFails) {
  Kernel k = whole_kernel(kF32, "matmul.f32.f32.third", Results::canonical, [](const MatmulArgs& a, void* user) {
    if (static_cast<const OutsideProvider*>(user)->calls == 2) return Status(StatusCode::io_error, "device lost");
    return naive_product(a, user);
  });
  OutsideProvider third{"third", 500, k};
  ASSERT_TRUE(registry.add(third));
  const ExactProblem p(DType::f32, 5, 33, 64);
  Output y(4 * 5, 33);
  MatmulStack stack;
  stack.count = 4;
  stack.W = p.view();
  stack.X = p.rows();
  stack.Y = {y.data(), 5, 33};
  stack.y_stride = 5 * 33;
  EXPECT_EQ(matmul_batched(stack, context).message(), "device lost");
  EXPECT_EQ(third.calls, 2);
  const std::vector<float> all = y.values();
  for (const std::size_t i : {0u, 1u}) EXPECT_TRUE(std::equal(p.want.begin(), p.want.end(), all.data() + i * 5 * 33));
  EXPECT_TRUE(is_poison(all.data() + 2 * 5 * 33, 2 * 5 * 33));
}

TEST_F(Providers, ItsStatusIsTheCallers) {
  Kernel k = whole_kernel(kF32, "matmul.f32.f32.broken", Results::canonical, [](const MatmulArgs&, void*) -> Status {
    return {StatusCode::io_error, "device lost"};
  });
  OutsideProvider broken{"broken", 500, k};
  ASSERT_TRUE(registry.add(broken));
  const ExactProblem p(DType::f32, 5, 33, 64);
  Output y(5, 33);
  const Status s = matmul(p.view(), p.rows(), y.view(), context);
  EXPECT_EQ(s.code(), StatusCode::io_error);
  EXPECT_EQ(s.message(), "device lost");
}

}  // namespace
}  // namespace nibblas::test
