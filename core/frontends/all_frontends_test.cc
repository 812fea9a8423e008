#include "core/frontends/all_frontends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(Frontends, OnnxIsFoundWhateverItsCase) {
  QB_ASSERT_OK_AND_ASSIGN(const Frontend* frontend, FindFrontend("OnnX"));
  EXPECT_EQ(frontend->name, "onnx");
}

TEST(Frontends, KnownNamesWithoutImporterAreNotSupportedYet) {
  for (const char* name : {"tf", "tensorflow", "Keras", "tflite", "torchscript", "torch"}) {
    const absl::Status status = FindFrontend(name).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not supported yet")));
    EXPECT_EQ(FailureCodeOf(status), FailureCode::kArgumentError);
  }
}

TEST(Frontends, UnknownNamesAreRefusedWithTheList) {
  EXPECT_THAT(FindFrontend("caffe"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("there is no backend 'caffe'; the backends are onnx, tf, "
                                 "tensorflow, keras, tflite, torchscript, torch")));
}

TEST(Frontends, AFileOfAnotherFormatIsNamed) {
  EXPECT_THAT(
      ImportModel("onnx", "/nonexistent/model.tflite", {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the file looks like tflite")));
}

}  // namespace
}  // namespace qb
