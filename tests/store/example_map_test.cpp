#include "impart/store/example_map.h"

#include <memory>
#include <unordered_map>

#include <gtest/gtest.h>

#include "impart/core/random.h"

namespace impart::store {
namespace {

TEST(ExampleMap, AgreesWithTheStandardOne) {
  RandomStream random({.seed = 1, .purpose = Purpose("example-map-test")});
  ExampleMap<std::unique_ptr<std::uint64_t>> map;
  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const std::uint64_t id = random.below(2) == 0 ? random.below(500) : random.below(500) * 64;
    if (random.below(2) == 0) {
      const bool is_new = expected.emplace(id, step).second;
      ASSERT_EQ(map.insert(ExampleId{id}, std::make_unique<std::uint64_t>(step)), is_new);
    } else {
      const auto value = map.extract(ExampleId{id});
      ASSERT_EQ(value.has_value(), expected.contains(id));
      ASSERT_EQ(value ? **value : 0, value ? expected[id] : 0);
      expected.erase(id);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  std::uint64_t seen = 0;
  map.for_each([&](ExampleId id, const std::unique_ptr<std::uint64_t>& value) {
    EXPECT_EQ(*value, expected.at(index(id)));
    ++seen;
  });
  EXPECT_EQ(seen, expected.size());
  for (std::uint64_t id = 0; id < 500; ++id) {
    EXPECT_EQ(map.find(ExampleId{id}) != nullptr, expected.contains(id));
  }
}

}  // namespace
}  // namespace impart::store
