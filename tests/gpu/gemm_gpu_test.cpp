// SPDX-License-Identifier: Apache-2.0
// gemm's wgmma kernels on a GPU, through the launch library: split k and padded operands in workspaces of streams and
// graphs, tensor maps, c in place.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <tilewright/launch.hpp>
#include <vector>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"
#include "tests/gpu/op_fixture.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

/// Numbers exact in bf16: `unit` times -8 to 7.
std::vector<float> numbers(std::int64_t count, std::uint32_t seed, float unit) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(unit * (static_cast<float>(seed >> 28) - 8));
  }
  return values;
}

/// A matrix of bf16 in device memory.
class Matrix {
 public:
  Matrix(const cuda::Driver& driver, const std::vector<float>& values)
      : driver_(&driver), buffer_(driver, values.size() * sizeof(std::uint16_t), "a test") {
    std::vector<std::uint16_t> narrow;
    for (const float value : values)
      narrow.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
    driver.call("copying", driver.table().memcpy_htod, buffer_.address(), static_cast<const void*>(narrow.data()),
                buffer_.bytes());
    // A copy from pageable memory may be unfinished when the call returns, and the streams do not wait for the null
    // stream.
    driver.call("waiting for the copy", driver.table().ctx_synchronize);
  }
  [[nodiscard]] void* get() const { return reinterpret_cast<void*>(buffer_.address()); }

  /// The largest difference to `expected`, in units of a few roundings to bf16.
  [[nodiscard]] double distance(const std::vector<double>& expected) const {
    std::vector<std::uint16_t> narrow(expected.size());
    driver_->call("copying", driver_->table().memcpy_dtoh, static_cast<void*>(narrow.data()), buffer_.address(),
                  buffer_.bytes());
    double furthest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = double{std::bit_cast<float>(std::uint32_t{narrow[i]} << 16)};
      const double off = std::fabs(value - expected[i]) / (0.01 * std::fabs(expected[i]) + 0.02);
      furthest = std::isnan(off) ? HUGE_VAL : std::max(furthest, off);
    }
    return furthest;
  }

 private:
  const cuda::Driver* driver_;
  cuda::Buffer buffer_;
};

class GpuGemm : public OpOnGpu {
 protected:
  GpuGemm() : OpOnGpu({}, "gemm") {}
  void SetUp() override {
    OpOnGpu::SetUp();
    if (!IsSkipped() && device_->facts().compute_capability != 90) GTEST_SKIP() << "needs sm_90a";
  }

  /// A config whose parts of k are summed in a workspace.
  [[nodiscard]] Candidate with_workspace(const Problem& problem) const {
    for (const Candidate& candidate : expand(*op_, problem, device_->facts()).legal) {
      if (candidate.config.implementation != "wgmma") continue;
      for (const PlannedWorkspace& workspace : plan(candidate, problem).workspaces) {
        if (workspace.bytes > 0) return candidate;
      }
    }
    throw Error("no config of wgmma has a workspace for " + problem.key());
  }
};

TEST_F(GpuGemm, is_served_on_streams_at_once_in_place_and_from_graphs) {
  constexpr std::int64_t kM = 200, kK = 1024;
  // Rows of c that tensor copies can store, and rows that they cannot.
  for (const std::int64_t n : {264, 263}) {
    const std::string kind = "gemm[dtype=bf16,layout=nt,bias=yes,act=gelu,residual=yes]";
    const Problem problem = parse_problem(kind + "{m=200,n=" + std::to_string(n) + ",k=1024}", op_->interface);
    const Candidate candidate = with_workspace(problem);
    SCOPED_TRACE(candidate.config.text());
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "cache.db").string();
    serve(path, candidate, problem);

    const std::vector<float> a = numbers(kM * kK, 1, 0.125F), b = numbers(n * kK, 2, 1.0F / 64);
    const std::vector<float> bias = numbers(n, 3, 0.25F), residual = numbers(kM * n, 4, 0.5F);
    // The term added to the residual, and that with negated b and bias.
    std::vector<double> plus(residual.size()), minus(residual.size());
    const auto gelu = [](double x) {
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
    };
    for (std::size_t i = 0; i < plus.size(); ++i) {
      const auto width = static_cast<std::size_t>(n), row = i / width, column = i % width;
      double sum = double{bias[column]};
      for (std::size_t k = 0; k < kK; ++k) sum += double{a[row * kK + k]} * double{b[column * kK + k]};
      plus[i] = gelu(sum);
      minus[i] = gelu(-sum);
    }
    const auto negative = [](std::vector<float> values) {
      for (float& value : values) value = -value;
      return values;
    };
    const auto after = [&](const std::vector<double>& step, int times) {
      std::vector<double> expected(residual.begin(), residual.end());
      for (std::size_t i = 0; i < step.size(); ++i) expected[i] += times * step[i];
      return expected;
    };

    const cuda::Driver& driver = cuda::Driver::get();
    const cuda::PrimaryContext context(driver, 0);
    const Launcher launcher(path);
    const Op gemm = launcher.op(kind);
    const Shape dims{kM, n, kK};
    const Matrix at(driver, a), b1(driver, b), b2(driver, negative(b)), bias1(driver, bias),
        bias2(driver, negative(bias)), r(driver, residual);
    Matrix c1(driver, residual), c2(driver, residual);
    const cuda::OwnedStream left(driver), right(driver), capturing(driver);

    for (int i = 0; i < 25; ++i) {
      gemm(left.get(), dims, at.get(), b1.get(), bias1.get(), r.get(), c1.get());
      gemm(right.get(), dims, at.get(), b2.get(), bias2.get(), r.get(), c2.get());
    }
    context.synchronize();
    EXPECT_LT(c1.distance(after(plus, 1)), 1) << "on a stream beside another";
    EXPECT_LT(c2.distance(after(minus, 1)), 1) << "on the other stream";

    // In place, where each launch adds once more.
    c1 = Matrix(driver, residual);
    c2 = Matrix(driver, residual);
    const auto capture = [&](const Matrix& of, const Matrix& added, const Matrix& c) {
      return cuda::CapturedGraph(driver, capturing.get(), [&](cuda::Stream stream) {
        gemm(stream, dims, at.get(), of.get(), added.get(), c.get(), c.get());
      });
    };
    const cuda::CapturedGraph first = capture(b1, bias1, c1), second = capture(b2, bias2, c2);
    for (int i = 0; i < 2; ++i) {
      first.launch(left.get());
      second.launch(right.get());
    }
    gemm(left.get(), dims, at.get(), b1.get(), bias1.get(), c1.get(), c1.get());
    context.synchronize();
    EXPECT_LT(c1.distance(after(plus, 3)), 1) << "from a graph twice, then launched";
    EXPECT_LT(c2.distance(after(minus, 2)), 1) << "from another graph twice";
  }
}

/// The transposed matrix, in row-major order.
std::vector<float> transposed(const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
  std::vector<float> result(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      result[static_cast<std::size_t>(c * rows + r)] = values[static_cast<std::size_t>(r * columns + c)];
    }
  }
  return result;
}

/// The product of a[m, k] and b[n, k].
std::vector<double> product(const std::vector<float>& a, const std::vector<float>& b, std::int64_t k) {
  std::vector<double> c;
  for (auto row = a.begin(); row != a.end(); row += k) {
    for (auto column = b.begin(); column != b.end(); column += k) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += double{row[i]} * double{column[i]};
      c.push_back(sum);
    }
  }
  return c;
}

// Blocks handle several tiles, each of a few steps of k, so that one is stored while the next is multiplied.
TEST_F(GpuGemm, is_right_where_short_tiles_leave_in_any_number_of_pieces) {
  constexpr std::int64_t kM = 6400, kN = 704, kK = 264;
  const std::string kind = "gemm[dtype=bf16,layout=nt]";
  const Problem problem = parse_problem(kind + "{m=6400,n=704,k=264}", op_->interface);
  const std::vector<float> a = numbers(kM * kK, 1, 0.125F), b = numbers(kN * kK, 2, 1.0F / 64);
  const std::vector<double> expected = product(a, b, kK);
  const cuda::Driver& driver = cuda::Driver::get();
  const cuda::PrimaryContext context(driver, 0);
  const Matrix at(driver, a), bt(driver, b);
  const cuda::OwnedStream stream(driver);
  const std::vector<Candidate> legal = expand(*op_, problem, device_->facts()).legal;
  for (const std::int64_t block_n : {64, 96, 128}) {
    const auto candidate = std::ranges::find_if(legal, [&](const Candidate& each) {
      const Config& config = each.config;
      return config.implementation == "wgmma" && config.value_or("block_n", 0) == block_n &&
             config.value_or("tensor_store", 0) == 1 && config.value_or("cluster_m", 0) == 1 &&
             config.value_or("cluster_n", 0) == 1;
    });
    ASSERT_NE(candidate, legal.end()) << block_n;
    SCOPED_TRACE(candidate->config.text());
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "cache.db").string();
    serve(path, *candidate, problem);
    const Launcher launcher(path);
    const Op gemm = launcher.op(kind);
    const Matrix c(driver, std::vector<float>(expected.size()));
    for (int i = 0; i < 10; ++i) gemm(stream.get(), Shape{kM, kN, kK}, at.get(), bt.get(), c.get());
    context.synchronize();
    EXPECT_LT(c.distance(expected), 1);
  }
}

// c is the residual. Blocks with several tiles, some of which reach beyond c, and with none: the smaller c is one tile.
TEST_F(GpuGemm, adds_residuals_that_come_ahead_in_place_and_at_all_edges) {
  struct Dims {
    std::int64_t m, n, k;
    std::size_t ways;
  };
  const std::string kind = "gemm[dtype=bf16,layout=nt,residual=yes]";
  const cuda::Driver& driver = cuda::Driver::get();
  const cuda::PrimaryContext context(driver, 0);
  const cuda::OwnedStream stream(driver);
  for (const Dims& dims : {Dims{4100, 472, 264, 12}, Dims{100, 136, 72, 2}}) {
    const Problem problem =
        parse_problem(fmt::format("{}{{m={},n={},k={}}}", kind, dims.m, dims.n, dims.k), op_->interface);
    const std::vector<float> a = numbers(dims.m * dims.k, 1, 0.125F), b = numbers(dims.n * dims.k, 2, 1.0F / 64),
                             residual = numbers(dims.m * dims.n, 3, 0.5F);
    std::vector<double> expected = product(a, b, dims.k);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += double{residual[i]};
    const Matrix at(driver, a), bt(driver, b);
    // One config for each way of taking tiles, and for pieces of 64 and of 32 columns.
    std::map<std::array<std::int64_t, 4>, Candidate> ways;
    for (const Candidate& each : expand(*op_, problem, device_->facts()).legal) {
      if (each.config.implementation != "staged") continue;
      const auto value = [&](const char* name) { return each.config.value_or(name, 0); };
      ways.try_emplace({value("pingpong"), value("cluster_m"), value("cluster_n"), value("block_n") % 64}, each);
    }
    EXPECT_GE(ways.size(), dims.ways) << problem.key();
    for (const auto& [way, candidate] : ways) {
      SCOPED_TRACE(problem.key() + ' ' + candidate.config.text());
      const TemporaryFolder folder;
      const std::string path = (folder.path() / "cache.db").string();
      serve(path, candidate, problem);
      const Launcher launcher(path);
      const Op gemm = launcher.op(kind);
      for (int i = 0; i < 5; ++i) {
        const Matrix c(driver, residual);
        gemm(stream.get(), Shape{dims.m, dims.n, dims.k}, at.get(), bt.get(), c.get(), c.get());
        context.synchronize();
        EXPECT_LT(c.distance(expected), 1);
      }
    }
  }
}

/// A matrix that begins `skip` elements after an aligned address.
class Shifted {
 public:
  Shifted(const cuda::Driver& driver, const std::vector<float>& values, int skip)
      : matrix_(driver, behind(values, skip)), skip_(skip) {}
  [[nodiscard]] void* get() const { return static_cast<std::uint16_t*>(matrix_.get()) + skip_; }

 private:
  static std::vector<float> behind(std::vector<float> values, int skip) {
    values.insert(values.begin(), static_cast<std::size_t>(skip), 1e6F);
    return values;
  }

  Matrix matrix_;
  int skip_;
};

TEST_F(GpuGemm, pads_rows_of_any_length_and_address_launch_after_launch_and_from_graphs) {
  struct Case {
    std::string layout;
    std::int64_t m, n, k;
    int skip_a, skip_b;  // 0: read in place
  };
  const Case cases[] = {{"nt", 512, 512, 513, 3, 1},
                        {"nt", 513, 515, 517, 0, 7},
                        {"nn", 512, 512, 515, 5, 0},
                        {"tn", 512, 517, 512, 0, 3},
                        {"tn", 517, 515, 512, 1, 1}};
  for (const auto& [layout, m, n, k, skip_a, skip_b] : cases) {
    const std::string kind = "gemm[dtype=bf16,layout=" + layout + "]";
    const Problem problem = parse_problem(
        kind + "{m=" + std::to_string(m) + ",n=" + std::to_string(n) + ",k=" + std::to_string(k) + "}", op_->interface);
    std::vector<Candidate> candidates = expand(*op_, problem, device_->facts()).legal;
    std::erase_if(candidates, [](const Candidate& each) { return each.config.implementation != "wgmma_padded"; });
    ASSERT_FALSE(candidates.empty()) << problem.key();

    const std::vector<float> a = numbers(m * k, 1, 0.125F), b = numbers(n * k, 2, 1.0F / 64);
    const std::vector<double> plus = product(a, b, k);
    std::vector<double> minus = plus;
    for (double& value : minus) value = -value;
    std::vector<float> negative = a;
    for (float& value : negative) value = -value;
    const auto lying = [&, tn = layout == "tn", m = m, k = k](const std::vector<float>& of) {
      return tn ? transposed(of, m, k) : of;
    };

    for (const std::size_t at : {std::size_t{0}, candidates.size() / 2, candidates.size() - 1}) {
      SCOPED_TRACE(problem.key() + ": " + candidates[at].config.text());
      const TemporaryFolder folder;
      const std::string path = (folder.path() / "cache.db").string();
      serve(path, candidates[at], problem);
      const cuda::Driver& driver = cuda::Driver::get();
      const cuda::PrimaryContext context(driver, 0);
      const Launcher launcher(path);
      const Op gemm = launcher.op(kind);
      const Shape dims{m, n, k};
      const Shifted a1(driver, lying(a), skip_a), a2(driver, lying(negative), skip_a);
      const Shifted bt(driver, layout == "nt" ? b : transposed(b, n, k), skip_b);
      const std::vector<float> nothing(plus.size());
      const Matrix c1(driver, nothing), c2(driver, nothing), c3(driver, nothing);
      const cuda::OwnedStream left(driver), right(driver), capturing(driver);
      const cuda::CapturedGraph graph(driver, capturing.get(), [&](cuda::Stream stream) {
        gemm(stream, dims, a2.get(), bt.get(), c3.get());
        gemm(stream, dims, a1.get(), bt.get(), c3.get());
      });
      // A launch pads operands while the previous one multiplies.
      for (int i = 0; i < 25; ++i) {
        gemm(left.get(), dims, a1.get(), bt.get(), c1.get());
        gemm(left.get(), dims, a2.get(), bt.get(), c2.get());
        graph.launch(right.get());
      }
      context.synchronize();
      EXPECT_LT(c1.distance(plus), 1);
      EXPECT_LT(c2.distance(minus), 1);
      EXPECT_LT(c3.distance(plus), 1) << "from a graph";
    }
  }
}

}  // namespace
}  // namespace tilewright
