#include "core/frontends/onnx/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/digest.h"
#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/frontends/onnx/onnx_import.h"
#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder with weights.bin (floats 0 to 7) and, beside it, secret.bin.
class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(Model("sub"));
    WriteFloats(Model("weights.bin"));
    WriteFloats(Model("sub/weights.bin"));
    WriteFloats(dir_.File("secret.bin"));
  }

  std::string Model(const std::string& name) const { return dir_.File("model/" + name); }

  static void WriteFloats(const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < 8; ++i) {
      const auto value = static_cast<float>(i);
      file.write(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }

  // Imports a model whose one output is an external tensor of two floats.
  absl::StatusOr<ImportedModel> Import(
      const std::vector<std::pair<std::string, std::string>>& entries) const {
    ModelBuilder model(13);
    model.Output("w");
    onnx::TensorProto& tensor = model.Initializer("w", onnx::TensorProto::FLOAT, {2});
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      onnx::StringStringEntryProto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    std::ofstream(Model("m.onnx"), std::ios::binary) << model.Bytes();
    return ImportOnnx(Model("m.onnx"), {});
  }

  std::string Refusal(const std::vector<std::pair<std::string, std::string>>& entries) const {
    const absl::StatusOr<ImportedModel> model = Import(entries);
    EXPECT_FALSE(model.ok());
    EXPECT_EQ(FailureCodeOf(model.status()), FailureCode::kModelParseError);
    return std::string(model.status().message());
  }

  TempDir dir_;
};

std::vector<float> Values(const ImportedModel& model) {
  return FloatsOf(model.graph.outputs()[0]->operand(0)->constant());
}

TEST_F(ExternalDataTest, ReadsAtTheOffset) {
  QB_ASSERT_OK_AND_ASSIGN(
      const ImportedModel model,
      Import({{"location", "weights.bin"}, {"offset", "8"}, {"length", "8"}, {"checksum", "0"}}));
  EXPECT_THAT(Values(model), ElementsAre(2, 3));
  ASSERT_EQ(model.external_data.size(), 1u);
  EXPECT_EQ(model.external_data[0].path, "weights.bin");
  EXPECT_EQ(model.external_data[0].sha256, *Sha256HexOfFile(Model("weights.bin")));
}

TEST_F(ExternalDataTest, SubfoldersAndDefaultsWork) {
  QB_ASSERT_OK_AND_ASSIGN(const ImportedModel model, Import({{"location", "./sub/weights.bin"}}));
  EXPECT_THAT(Values(model), ElementsAre(0, 1));
}

TEST_F(ExternalDataTest, MisalignedBytesAreCopied) {
  QB_ASSERT_OK_AND_ASSIGN(const ImportedModel model,
                          Import({{"location", "weights.bin"}, {"offset", "5"}}));
  EXPECT_EQ(Values(model).size(), 2u);
}

TEST_F(ExternalDataTest, HardLinksAreFiles) {
  ASSERT_EQ(::link(Model("weights.bin").c_str(), Model("linked.bin").c_str()), 0);
  EXPECT_TRUE(Import({{"location", "linked.bin"}}).ok());
}

TEST_F(ExternalDataTest, NothingOutsideTheFolderIsRead) {
  EXPECT_THAT(Refusal({{"location", "../secret.bin"}}), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(Refusal({{"location", "../../etc/passwd"}}), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(Refusal({{"location", "sub/../../secret.bin"}}), HasSubstr("leaves"));
  EXPECT_THAT(Refusal({{"location", dir_.File("secret.bin")}}), HasSubstr("is absolute"));
  EXPECT_THAT(Refusal({{"location", "/etc/passwd"}}), HasSubstr("is absolute"));
  EXPECT_THAT(Refusal({{"location", ""}}), HasSubstr("is empty"));
  EXPECT_THAT(Refusal({{"location", "..\\secret.bin"}}), HasSubstr("backslash"));
  EXPECT_THAT(Refusal({{"location", std::string("a\0b", 3)}}), HasSubstr("control character"));
  EXPECT_THAT(Refusal({}), HasSubstr("is empty"));
}

TEST_F(ExternalDataTest, SymbolicLinksAreRefusedAnywhere) {
  std::filesystem::create_symlink(dir_.File("secret.bin"), Model("link.bin"));
  std::filesystem::create_symlink("weights.bin", Model("inner.bin"));
  std::filesystem::create_directory_symlink(dir_.path(), Model("up"));
  for (const char* location : {"link.bin", "inner.bin", "up/secret.bin"}) {
    EXPECT_THAT(Refusal({{"location", location}}), HasSubstr("without symbolic links"));
  }
}

TEST_F(ExternalDataTest, OnlyRegularFilesAreRead) {
  EXPECT_THAT(Refusal({{"location", "sub"}}), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo(Model("pipe").c_str(), 0600), 0);
  EXPECT_THAT(Refusal({{"location", "pipe"}}), HasSubstr("not a regular file"));
  EXPECT_THAT(Refusal({{"location", "absent.bin"}}), HasSubstr("No such file"));
}

TEST_F(ExternalDataTest, RangesHaveToBeInTheFile) {
  const auto at = [&](const std::string& offset, const std::string& length) {
    return Refusal({{"location", "weights.bin"}, {"offset", offset}, {"length", length}});
  };
  EXPECT_THAT(at("28", "8"), HasSubstr("8 bytes at offset 28 are outside the file of 32 bytes"));
  EXPECT_THAT(at("9223372036854775807", "8"), HasSubstr("outside the file"));
  EXPECT_THAT(at("9223372036854775808", "8"), HasSubstr("has offset '9223372036854775808'"));
  EXPECT_THAT(at("-8", "8"), HasSubstr("has offset '-8'"));
  EXPECT_THAT(at("eight", "8"), HasSubstr("has offset 'eight'"));
  EXPECT_THAT(at("0", "12"), HasSubstr("length 12, the tensor has 8 bytes"));
  EXPECT_THAT(Refusal({{"location", "weights.bin"}, {"path", "x"}}), HasSubstr("the key 'path'"));
}

TEST_F(ExternalDataTest, BytesAloneHaveNoFolder) {
  ASSERT_TRUE(Import({{"location", "weights.bin"}}).ok());
  std::ifstream file(Model("m.onnx"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(ImportOnnxBytes(bytes, "", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without its folder")));
}

}  // namespace
}  // namespace qb::testing
