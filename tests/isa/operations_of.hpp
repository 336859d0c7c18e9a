// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isa/features.hpp"
#include "isa/operations.hpp"
#include "kernels/codecs/codec.hpp"
#include "kernels/common/columns.hpp"
#include "nibblas/panel.hpp"

// Makes the table of an `Arch` (src/kernels/<isa>/arch.hpp); included by files with instruction-set flags only.

namespace nibblas::test {
namespace {

template <class Isa, int MaxCode>
void dot32(const std::byte* w, const std::byte* x, std::int32_t bias, float* out) noexcept {
  typename Isa::template Dots<MaxCode, 8> dots;
  dots.start(Isa::broadcast32(&bias));
  for_each_index<8>([&](auto step) __attribute__((always_inline)) {
    auto words = Isa::load_words(w + step() * Isa::lanes * 4);
    if constexpr (MaxCode < 0) words = Isa::from_signed(words);
    dots.template step<static_cast<int>(step())>(words, Isa::broadcast32(x + 4 * step()));
  });
  Isa::store(out, Isa::to_float(dots.finish(Isa::broadcast32(&bias))));
}

template <class Isa>
void pair_dot32(const std::byte* w, const std::byte* const (&x)[2], float* const (&out)[2]) noexcept {
  typename Isa::template PairDots<typename Isa::template Dots<-128, 8>> dots;
  dots.start();
  for_each_index<4>([&](auto step) __attribute__((always_inline)) {
    auto first = Isa::load_words(w + 2 * step() * Isa::lanes * 4);
    auto second = Isa::load_words(w + (2 * step() + 1) * Isa::lanes * 4);
    Isa::pair_words(first, second);
    dots.step(first, second, Isa::template x_pair<2 * step()>(x[0], x[1]));
  });
  auto token0 = dots.template token<0>();
  auto token1 = dots.template token<1>();
  Isa::store(out[0], token0.finish_float(Isa::zero_int()));
  Isa::store(out[1], token1.finish_float(Isa::zero_int()));
}

template <class Isa>
void store4(const typename Isa::F (&w)[4], float* out) noexcept {
  for (std::size_t i = 0; i < 4; ++i) Isa::store(out + i * Isa::lanes, w[i]);
}

template <class Arch>
constexpr IsaOperations operations_of() {
  using Isa = typename Arch::Isa;
  using Quantiser = typename Arch::Quantiser;
  IsaOperations o{};
  o.name = Arch::name;
  o.needs = compiled_features();
  o.lanes = Isa::lanes;
  o.signed_offset = Isa::signed_offset;
  o.fma = [](const float* a, const float* b, const float* c, float* out) noexcept {
    Isa::store(out, Isa::fma(Isa::load(a), Isa::load(b), Isa::load(c)));
  };
  o.fnma = [](const float* a, const float* b, const float* c, float* out) noexcept {
    Isa::store(out, Isa::fnma(Isa::load(a), Isa::load(b), Isa::load(c)));
  };
  o.load_f16 = [](const std::byte* p, float* out) noexcept { Isa::store(out, Isa::load_f16(p)); };
  o.load_bf16 = [](const std::byte* p, float* out) noexcept { Isa::store(out, Isa::load_bf16(p)); };
  o.load_u8 = [](const std::byte* rows, std::size_t column, float* out) noexcept {
    Isa::store(out, Isa::load_u8_float(rows, column));
  };
  o.load_s8 = [](const std::byte* rows, std::size_t column, float* out) noexcept {
    Isa::store(out, Isa::load_s8_float(rows, column));
  };
  o.shift_right16_by = [](const std::byte* p, int n, std::byte* out) noexcept {
    Isa::store_words(out, Isa::shift_right16_by(Isa::load_words(p), n));
  };
  o.dots[0] = dot32<Isa, 15>;
  o.dots[1] = dot32<Isa, 31>;
  o.dots[2] = dot32<Isa, 63>;
  o.dots[3] = dot32<Isa, -128>;
  if constexpr (requires(typename Isa::I v) { Isa::pair_words(v, v); }) o.pair_dots = pair_dot32<Isa>;
  o.floats[0] = [](const std::byte* p, float* out) noexcept {
    typename Isa::F w[4];
    Isa::template nibble_floats<false, 8>(Isa::load_words(p), w);
    store4<Isa>(w, out);
  };
  o.floats[1] = [](const std::byte* p, float* out) noexcept {
    typename Isa::F w[4];
    Isa::template nibble_floats<true, 0>(Isa::load_words(p), w);
    store4<Isa>(w, out);
  };
  o.floats[2] = [](const std::byte* p, float* out) noexcept {
    typename Isa::F w[4];
    Isa::template byte_floats<63, 32>(Isa::load_words(p), w);
    store4<Isa>(w, out);
  };
  o.floats[3] = [](const std::byte* p, float* out) noexcept {
    typename Isa::F w[4];
    Isa::template byte_floats<-128, Isa::signed_offset>(Isa::from_signed(Isa::load_words(p)), w);
    store4<Isa>(w, out);
  };
  o.amax32 = [](const float* x, float* amax) noexcept { return Quantiser::amax32(x, *amax); };
  o.codes32 = [](const float* x, float id, std::int8_t* codes) noexcept {
    const auto sums = Quantiser::codes32(x, id, codes);
    return Sums{sums.low, sums.high};
  };
  o.words4 = [](const std::byte* src, std::size_t stride, std::byte* out) noexcept {
    Arch::Transposer::words4(src, stride, out);
  };
  o.halves = [](const std::byte* words, std::byte* out) noexcept { Arch::Transposer::halves(words, out); };
  o.bytes = [](const std::byte* words, std::byte* out) noexcept { Arch::Transposer::bytes(words, out); };
  return o;
}

}  // namespace
}  // namespace nibblas::test
