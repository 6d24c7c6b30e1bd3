// SPDX-License-Identifier: Apache-2.0
// Backward ops against their forward ops: for L = Σ over the forward op's outputs of cotangent · output, in fp64,
// central differences of L equal the backward op's reference. Verification holds the kernels to that reference.
#include <fmt/format.h>

#include <cmath>

#include "tests/unit/kernels/op_values.hpp"

namespace tilewright::test::gradients_test {
namespace {

/// A forward op and its backward op. The keys hold the shapes.
struct Pair {
  std::string forward, backward;
  /// The forward op's outputs, each with the backward op's input that is its cotangent.
  std::map<std::string, std::string> cotangents;
  /// The forward op's varied inputs, each with the backward op's output that is its gradient.
  std::map<std::string, std::string> gradients;
  /// Inputs of the backward op that are outputs of the forward op.
  std::map<std::string, std::string> saved;
  /// The backward op's names of inputs with another name in the forward op.
  std::map<std::string, std::string> renamed;
};

constexpr double kStep = 1.0 / 4096;

double loss(const OpValues& forward, const Values& inputs, const Pair& pair, const Values& cotangents) {
  double sum = 0;
  const Values outputs = forward.reference(inputs);
  for (const auto& [output, cotangent] : pair.cotangents) {
    for (std::size_t i = 0; i < outputs.at(output).size(); ++i) {
      sum += outputs.at(output)[i] * cotangents.at(cotangent)[i];
    }
  }
  return sum;
}

std::string op_of(const std::string& key) { return key.substr(0, key.find('[')); }

void expect_gradients(const Pair& pair) {
  BuiltInOp forward_op(op_of(pair.forward)), backward_op(op_of(pair.backward));
  const OpValues forward(forward_op, pair.forward), backward(backward_op, pair.backward);
  Values inputs = forward.inputs();
  std::uint32_t seed = 1;
  for (auto& [name, values] : inputs) {
    if (name != "target" && name != "index") values = random_values(values.size(), ++seed);
  }
  Values given = backward.inputs();
  Values cotangents;
  for (const auto& [output, name] : pair.cotangents) {
    cotangents[name] = given.at(name) = random_values(given.at(name).size(), ++seed);
  }
  for (const auto& [name, values] : inputs) {
    const auto other = pair.renamed.find(name);
    const std::string& its_name = other == pair.renamed.end() ? name : other->second;
    if (given.contains(its_name)) given[its_name] = values;
  }
  const Values outputs = forward.reference(inputs);
  for (const auto& [name, output] : pair.saved) given[name] = outputs.at(output);
  const Values gradients = backward.reference(given);
  for (const auto& [name, gradient] : pair.gradients) {
    std::vector<double>& values = inputs.at(name);
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 24) {
      const double value = values[i];
      values[i] = value + kStep;
      const double above = loss(forward, inputs, pair, cotangents);
      values[i] = value - kStep;
      const double below = loss(forward, inputs, pair, cotangents);
      values[i] = value;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradients.at(gradient)[i], expected, 2e-5 * (1 + std::fabs(expected)))
          << pair.backward << ", element " << i << " of " << gradient;
    }
  }
}

TEST(Gradients, of_softmax_are_its_slopes) {
  expect_gradients({.forward = "softmax[dtype=f32]{rows=3,cols=9}",
                    .backward = "softmax_bwd[dtype=f32]{rows=3,cols=9}",
                    .cotangents = {{"y", "dy"}},
                    .gradients = {{"x", "dx"}},
                    .saved = {{"y", "y"}},
                    .renamed = {}});
}

TEST(Gradients, of_norms_are_their_slopes) {
  for (const char* shape : {"{rows=3,cols=9}", "{rows=35,cols=4}"}) {
    expect_gradients({.forward = fmt::format("rmsnorm[dtype=f32]{}", shape),
                      .backward = fmt::format("rmsnorm_bwd[dtype=f32,add=no]{}", shape),
                      .cotangents = {{"y", "dy"}},
                      .gradients = {{"x", "dx"}, {"weight", "dw"}},
                      .saved = {},
                      .renamed = {}});
    expect_gradients({.forward = fmt::format("layernorm[dtype=f32]{}", shape),
                      .backward = fmt::format("layernorm_bwd[dtype=f32,add=no]{}", shape),
                      .cotangents = {{"y", "dy"}},
                      .gradients = {{"x", "dx"}, {"weight", "dw"}, {"bias", "db"}},
                      .saved = {},
                      .renamed = {}});
  }
}

TEST(Gradients, of_norms_of_a_sum_are_both_summands) {
  for (const char* norm : {"rmsnorm", "layernorm"}) {
    for (const char* summand : {"x", "residual"}) {
      std::map<std::string, std::string> gradients{{summand, "dx"}, {"weight", "dw"}};
      if (norm == std::string("layernorm")) gradients["bias"] = "db";
      expect_gradients({.forward = fmt::format("add_{}[dtype=f32,store=yes]{{rows=3,cols=9}}", norm),
                        .backward = fmt::format("{}_bwd[dtype=f32,add=yes]{{rows=3,cols=9}}", norm),
                        .cotangents = {{"y", "dy"}, {"sum", "dsum"}},
                        .gradients = gradients,
                        .saved = {{"x", "sum"}},
                        .renamed = {{"x", "none"}}});
    }
  }
}

TEST(Gradients, of_swiglu_are_its_slopes) {
  expect_gradients({.forward = "swiglu[dtype=f32,layout=split]{rows=3,cols=9}",
                    .backward = "swiglu_bwd[dtype=f32,layout=split]{rows=3,cols=9}",
                    .cotangents = {{"y", "dy"}},
                    .gradients = {{"gate", "dgate"}, {"up", "dup"}},
                    .saved = {},
                    .renamed = {}});
}

TEST(Gradients, of_packed_swiglu_are_its_slopes) {
  expect_gradients({.forward = "swiglu[dtype=f32,layout=packed]{rows=3,cols=9}",
                    .backward = "swiglu_bwd[dtype=f32,layout=packed]{rows=3,cols=9}",
                    .cotangents = {{"y", "dy"}},
                    .gradients = {{"gate_up", "dgate_up"}},
                    .saved = {},
                    .renamed = {}});
}

TEST(Gradients, of_bias_act_dropout_are_its_slopes_for_every_smooth_activation) {
  for (const char* act : {"none", "gelu", "gelu_erf", "silu", "tanh"}) {
    expect_gradients({.forward = fmt::format("bias_act_dropout[dtype=f32,act={}]{{rows=35,cols=5}}", act),
                      .backward = fmt::format("bias_act_dropout_bwd[dtype=f32,act={}]{{rows=35,cols=5}}", act),
                      .cotangents = {{"y", "dy"}},
                      .gradients = {{"x", "dx"}, {"bias", "dbias"}},
                      .saved = {},
                      .renamed = {}});
  }
}

TEST(Gradients, of_cross_entropy_are_its_slopes_with_ignored_rows_among_them) {
  expect_gradients({.forward = "cross_entropy[dtype=f32,grad=no]{rows=16,vocab=7}",
                    .backward = "cross_entropy[dtype=f32,grad=yes]{rows=16,vocab=7}",
                    .cotangents = {{"loss", "dloss"}},
                    .gradients = {{"logits", "dlogits"}},
                    .saved = {},
                    .renamed = {}});
}

TEST(Gradients, of_rope_are_rope_by_the_opposite_angles) {
  constexpr std::size_t kTokens = 3, kColumns = 6, kPacked = 4 * kColumns;  // q of two heads, k and v of one
  for (const char* style : {"halved", "interleaved"}) {
    BuiltInOp op("rope");
    const OpValues rope(
        op, fmt::format("rope[dtype=f32,style={},norm=no]{{tokens=3,hq=2,hkv=1,d=6,rot=4,positions=5}}", style));
    Values inputs = rope.inputs();
    std::uint32_t seed = 1;
    for (const char* name : {"q", "k", "cos", "sin"}) inputs[name] = random_values(inputs.at(name).size(), ++seed);
    Values back = inputs;
    for (const char* name : {"q", "k"}) back[name] = random_values(inputs.at(name).size(), ++seed);
    for (double& each : back.at("sin")) each = -each;
    const Values gradients = rope.reference(back);
    // Inputs lie in packed rows, results are dense.
    const auto packed = [](std::size_t i, std::size_t heads) {
      return i / (heads * kColumns) * kPacked + i % (heads * kColumns);
    };
    const auto cotangent_times_output = [&] {
      double sum = 0;
      const Values outputs = rope.reference(inputs);
      for (const auto& [name, heads] : {std::pair("q", std::size_t{2}), std::pair("k", std::size_t{1})}) {
        for (std::size_t i = 0; i < kTokens * heads * kColumns; ++i) {
          sum += outputs.at(std::string(name) + "_out")[i] * back.at(name)[packed(i, heads)];
        }
      }
      return sum;
    };
    for (const auto& [name, heads] : {std::pair("q", std::size_t{2}), std::pair("k", std::size_t{1})}) {
      for (std::size_t i = 0; i < kTokens * heads * kColumns; ++i) {
        double& value = inputs.at(name)[packed(i, heads)];
        const double before = value;
        value = before + kStep;
        const double above = cotangent_times_output();
        value = before - kStep;
        const double below = cotangent_times_output();
        value = before;
        EXPECT_NEAR(gradients.at(std::string(name) + "_out")[i], (above - below) / (2 * kStep), 1e-5)
            << style << ", element " << i << " of " << name;
      }
    }
  }
}

TEST(Gradients, of_an_embedding_are_its_slopes_with_repeated_and_unknown_rows) {
  expect_gradients({.forward = "embedding[dtype=f32]{tokens=40,vocab=7,d=3}",
                    .backward = "embedding_bwd[dtype=f32]{tokens=40,vocab=7,d=3}",
                    .cotangents = {{"y", "dy"}},
                    .gradients = {{"table", "dtable"}},
                    .saved = {},
                    .renamed = {}});
}

}  // namespace
}  // namespace tilewright::test::gradients_test
