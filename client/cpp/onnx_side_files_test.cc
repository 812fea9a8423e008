#include "client/cpp/onnx_side_files.h"

#include "client/cpp/testing/wire_bytes.h"

namespace qb::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string TensorAt(absl::string_view location) {
  return Delimited(13, Delimited(1, "offset") + Delimited(2, "4096")) +
         Delimited(13, Delimited(1, "location") + Delimited(2, location));
}

TEST(ExternalDataLocations, FindsInitializersOnceInOrder) {
  const std::string graph = Delimited(5, TensorAt("b.bin")) + Delimited(5, TensorAt("a.bin")) +
                            Delimited(5, TensorAt("b.bin"));
  EXPECT_THAT(ExternalDataLocations(Number(1, 8) + Delimited(7, graph)),
              ElementsAre("b.bin", "a.bin"));
}

TEST(ExternalDataLocations, FindsTensorsOfAttributesAndSubgraphs) {
  const std::string constant = Delimited(1, Delimited(5, Delimited(5, TensorAt("value.bin"))));
  const std::string branch =
      Delimited(1, Delimited(5, Delimited(6, Delimited(5, TensorAt("then.bin")))));
  const std::string sparse = Delimited(15, Delimited(1, TensorAt("sparse.bin")));
  EXPECT_THAT(ExternalDataLocations(Delimited(7, constant + branch + sparse)),
              ElementsAre("value.bin", "then.bin", "sparse.bin"));
}

TEST(ExternalDataLocations, GivesHostileLocationsAsTheyAre) {
  EXPECT_THAT(ExternalDataLocations(ModelWithExternalData("../../etc/passwd")),
              ElementsAre("../../etc/passwd"));
}

TEST(ExternalDataLocations, FindsNothingInModelsWithoutExternalData) {
  const std::string tensor = Number(1, 4) + Delimited(9, "raw bytes");
  EXPECT_THAT(ExternalDataLocations(Delimited(7, Delimited(5, tensor))), IsEmpty());
  EXPECT_THAT(ExternalDataLocations(""), IsEmpty());
}

TEST(ExternalDataLocations, SurvivesEveryTruncationAndByteChange) {
  const std::string model = ModelWithExternalData("weights.bin");
  for (size_t size = 0; size < model.size(); ++size) {
    ExternalDataLocations(model.substr(0, size));
  }
  for (size_t i = 0; i < model.size(); ++i) {
    for (const char byte : {'\x00', '\x7f', '\x80', '\xff'}) {
      std::string changed = model;
      changed[i] = byte;
      ExternalDataLocations(changed);
    }
  }
}

TEST(ExternalDataLocations, StopsAtDeepNesting) {
  std::string graph = Delimited(5, TensorAt("deep.bin"));
  for (int i = 0; i < 5000; ++i) {
    graph = Delimited(1, Delimited(5, Delimited(6, graph)));
  }
  EXPECT_THAT(ExternalDataLocations(Delimited(7, graph)), IsEmpty());
}

}  // namespace
}  // namespace qb::client
