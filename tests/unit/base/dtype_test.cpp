// SPDX-License-Identifier: Apache-2.0
#include "cache/base/dtype.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace tilewright::dtype_test {
namespace {

TEST(DType, is_found_by_its_name) {
  const std::vector<std::string> names = dtype_names();
  EXPECT_EQ(names.size(), 9U);
  for (const std::string& each : names) {
    const auto type = dtype_from(each);
    ASSERT_TRUE(type) << each;
    EXPECT_EQ(name(*type), each);
  }
  EXPECT_EQ(dtype_from("f23"), std::nullopt);
  EXPECT_EQ(dtype_from(""), std::nullopt);
  EXPECT_EQ(dtype_from("F32"), std::nullopt);
}

TEST(DType, has_the_size_of_its_device_type) {
  EXPECT_EQ(size_of(DType::f32), sizeof(float));
  EXPECT_EQ(size_of(DType::f64), sizeof(double));
  EXPECT_EQ(size_of(DType::f16), 2U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::i32), sizeof(int));
  EXPECT_EQ(size_of(DType::u32), sizeof(unsigned));
  EXPECT_EQ(size_of(DType::i64), sizeof(long long));
  EXPECT_EQ(size_of(DType::u64), sizeof(unsigned long long));
  EXPECT_EQ(size_of(DType::u8), sizeof(unsigned char));
}

TEST(DType, names_a_device_type_of_its_own) {
  std::set<std::string_view> types;
  for (const std::string& each : dtype_names()) types.insert(device_type(*dtype_from(each)));
  EXPECT_EQ(types.size(), 9U);
  EXPECT_EQ(device_type(DType::bf16), "__nv_bfloat16");
  EXPECT_EQ(device_type(DType::i64), "long long");
}

TEST(DType, rounds_by_half_the_distance_to_the_next_number) {
  EXPECT_EQ(unit_roundoff(DType::f32), std::numeric_limits<float>::epsilon() / 2.0);
  EXPECT_EQ(unit_roundoff(DType::f64), std::numeric_limits<double>::epsilon() / 2.0);
  EXPECT_EQ(unit_roundoff(DType::f16), 1.0 / 2048);  // 10 bits of mantissa
  // 7 bits of mantissa: 1 and 1 + 2^-7 are neighbours.
  EXPECT_EQ(unit_roundoff(DType::bf16), 1.0 / 256);
  EXPECT_EQ(unit_roundoff(DType::i32), 0.0);
}

}  // namespace
}  // namespace tilewright::dtype_test
