#include "core/passes/pipeline.h"

#include <array>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/verifier.h"
#include "core/passes/canonicalize_arithmetic.h"
#include "core/passes/convert_layout.h"
#include "core/passes/fold_affine.h"
#include "core/passes/fold_attention_scale.h"
#include "core/passes/fold_constants.h"
#include "core/passes/fold_padding.h"
#include "core/passes/fold_rotation_sign.h"
#include "core/passes/fold_transpose_into_product.h"
#include "core/passes/fuse_activation.h"
#include "core/passes/lower_affine.h"
#include "core/passes/lower_batch_norm.h"
#include "core/passes/lower_gather.h"
#include "core/passes/merge_movement.h"
#include "core/passes/raise_activation.h"
#include "core/passes/raise_function.h"
#include "core/passes/raise_global_pooling.h"
#include "core/passes/raise_normalization.h"
#include "core/passes/raise_pixel_shuffle.h"
#include "core/passes/remove_no_ops.h"

namespace qb {
namespace {

// Far above what any model needs: every pass makes the graph smaller or more canonical.
constexpr int kMostRounds = 32;

template <absl::StatusOr<bool> (*kPass)(Graph&)>
absl::StatusOr<bool> Plain(Graph& graph, const PassOptions&) {
  return kPass(graph);
}

absl::StatusOr<bool> FoldAllConstants(Graph& graph, const PassOptions&) {
  return FoldConstants(graph);
}

absl::StatusOr<bool> RaiseMeans(Graph& graph, const PassOptions& options) {
  return RaiseGlobalPooling(graph, {.channel_last = options.layout == GraphLayout::kChannelLast});
}

absl::StatusOr<bool> LowerImageAffine(Graph& graph, const PassOptions& options) {
  return options.layout == GraphLayout::kChannelLast ? LowerAffine(graph) : false;
}

constexpr auto kPasses = std::to_array<PassRow>({
    // First: identities stand between the operators that all other passes look for.
    {PassStage::kSimplify, "remove_no_ops", Plain<RemoveNoOps>},
    // Before what matches constants: weights may be reshaped, transposed or cast.
    {PassStage::kSimplify, "fold_constants", FoldAllConstants},
    // Before merge_movement, which joins the slices and reshapes that it makes with their
    // neighbours.
    {PassStage::kSimplify, "lower_gather", Plain<LowerGather>},
    {PassStage::kSimplify, "merge_movement", Plain<MergeMovement>},
    // Before fold_affine and fuse_activation, which know one spelling.
    {PassStage::kSimplify, "canonicalize_arithmetic", Plain<CanonicalizeArithmetic>},
    // Before fold_affine, which would take the shift of a spelled-out HardSigmoid for a bias.
    {PassStage::kSimplify, "raise_activation", Plain<RaiseActivation>},
    // After it: what is left of other spellings.
    {PassStage::kSimplify, "raise_function", Plain<RaiseFunction>},
    // After merge_movement, which joins what stands between its three operators.
    {PassStage::kSimplify, "raise_pixel_shuffle", Plain<RaisePixelShuffle>},
    // Before fold_affine, which would take scale and shift of a spelled-out normalization for the
    // next product's.
    {PassStage::kSimplify, "raise_normalization", Plain<RaiseNormalization>},
    // Before fold_affine, which folds what it makes.
    {PassStage::kSimplify, "lower_batch_norm", Plain<LowerBatchNorm>},
    // Before fuse_activation: a scale between convolution and clamp hides the pattern, and a clamp
    // inside a convolution stops the scale.
    {PassStage::kSimplify, "fold_affine", Plain<FoldAffine>},
    // After fold_affine, which folds the factors that have a product beside them.
    {PassStage::kSimplify, "fold_attention_scale", Plain<FoldAttentionScale>},
    // After canonicalize_arithmetic, which puts the table second.
    {PassStage::kSimplify, "fold_rotation_sign", Plain<FoldRotationSign>},
    // After fold_affine: a shift moves into a convolution only as long as that does not pad.
    {PassStage::kSimplify, "fold_padding", Plain<FoldPadding>},
    {PassStage::kSimplify, "fuse_activation", Plain<FuseActivation>},
    // After simplification: fewer operators to convert, and no reshapes that cancel.
    {PassStage::kLayout, "convert_layout", Plain<ConvertLayout>},
    {PassStage::kPolish, "remove_no_ops", Plain<RemoveNoOps>},
    {PassStage::kPolish, "fold_constants", FoldAllConstants},
    {PassStage::kPolish, "merge_movement", Plain<MergeMovement>},
    // Only now: the layout shows as a Transpose before the flattening Reshape.
    {PassStage::kPolish, "fold_transpose_into_product", Plain<FoldTransposeIntoProduct>},
    // Only now: which axes of a mean are pixels is known once the layout is.
    {PassStage::kPolish, "raise_global_pooling", RaiseMeans},
    {PassStage::kPolish, "fold_affine", Plain<FoldAffine>},
    // After every chance to fold a scale or shift into a neighbour.
    {PassStage::kPolish, "lower_affine", LowerImageAffine},
    {PassStage::kPolish, "fuse_activation", Plain<FuseActivation>},
});

// Runs the passes of one stage once. Returns whether one of them changed the graph.
absl::StatusOr<bool> RunRound(Graph& graph, PassStage stage, const PassOptions& options) {
  bool changed = false;
  for (const PassRow& pass : kPasses) {
    if (pass.stage != stage) {
      continue;
    }
    const absl::StatusOr<bool> result = pass.run(graph, options);
    if (!result.ok()) {
      return absl::Status(result.status().code(),
                          absl::StrCat("pass ", pass.name, ": ", result.status().message()));
    }
    if (*result) {
      changed = true;
      QB_RETURN_IF_ERROR(VerifyGraph(graph, pass.name));
      if (options.dump) {
        options.dump(pass.name, graph);
      }
    }
  }
  return changed;
}

absl::Status RunUntilSettled(Graph& graph, PassStage stage, const PassOptions& options) {
  for (int round = 0; round < kMostRounds; ++round) {
    QB_ASSIGN_OR_RETURN(const bool changed, RunRound(graph, stage, options));
    if (!changed) {
      return absl::OkStatus();
    }
  }
  return absl::InternalError(absl::StrCat("the passes still change graph '", graph.name(),
                                          "' after ", kMostRounds, " rounds"));
}

}  // namespace

absl::Span<const PassRow> AllPasses() { return kPasses; }

absl::Status RunPasses(Graph& graph, const PassOptions& options) {
  QB_RETURN_IF_ERROR(VerifyGraph(graph, "import"));
  QB_RETURN_IF_ERROR(RunUntilSettled(graph, PassStage::kSimplify, options));
  if (options.layout == GraphLayout::kChannelLast) {
    QB_RETURN_IF_ERROR(RunRound(graph, PassStage::kLayout, options).status());
  }
  return RunUntilSettled(graph, PassStage::kPolish, options);
}

}  // namespace qb
