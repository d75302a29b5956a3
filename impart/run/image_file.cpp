#include "impart/run/image_file.h"

#include <nlohmann/json.hpp>

#include "impart/core/base64.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/run/json_lines.h"

namespace impart::run {
namespace {

using Json = nlohmann::ordered_json;

Json rank_to_json(const ImageRank& rank) {
  return {{"notion", rank.notion},
          {"among", rank.in_class ? "class" : "all"},
          {"end", rank.hardest ? "hardest" : "easiest"},
          {"rank", rank.rank},
          {"importance", rank.importance}};
}

ImageRank rank_from_json(const Json& json) {
  ImageRank rank{.notion = json.at("notion"),
                 .in_class = json.at("among") == "class",
                 .hardest = json.at("end") == "hardest",
                 .rank = whole_number<std::uint32_t>(json.at("rank"))};
  if (json.at("importance").is_number()) rank.importance = json.at("importance");
  return rank;
}

Json hidden_to_json(const HiddenRank& hidden) {
  return {{"end", hidden.most ? "most" : "least"}, {"rank", hidden.rank}, {"times", hidden.times}};
}

HiddenRank hidden_from_json(const Json& json) {
  return {.most = json.at("end") == "most",
          .rank = whole_number<std::uint32_t>(json.at("rank")),
          .times = whole_number<std::uint32_t>(json.at("times"))};
}

Json image_to_json(const ImageRecord& image) {
  Json ranks = Json::array();
  for (const ImageRank& rank : image.ranks) ranks.push_back(rank_to_json(rank));
  Json json = {{"id", image.id},
               {"class", image.class_number},
               {"label", image.label},
               {"prediction", image.prediction},
               {"probability", image.probability},
               {"worker", image.worker},
               {"ranks", ranks}};
  if (image.hidden) json["hidden"] = hidden_to_json(*image.hidden);
  json["png"] = to_base64(image.png);
  return json;
}

ImageRecord image_from_json(const Json& json) {
  ImageRecord image{.id = whole_number(json.at("id")),
                    .class_number = whole_number<std::uint32_t>(json.at("class")),
                    .label = json.at("label"),
                    .prediction = json.at("prediction"),
                    .worker = whole_number<std::uint32_t>(json.at("worker")),
                    .png = from_base64(json.at("png").get<std::string>())};
  if (json.at("probability").is_number()) image.probability = json.at("probability");
  for (const Json& rank : json.at("ranks")) image.ranks.push_back(rank_from_json(rank));
  if (json.contains("hidden")) image.hidden = hidden_from_json(json.at("hidden"));
  return image;
}

}  // namespace

std::string image_lines(const std::vector<ImageRecord>& images) {
  std::string lines;
  for (const ImageRecord& image : images) lines += json_line(image_to_json(image));
  return lines;
}

std::vector<ImageRecord> parse_image_lines(std::string_view text, std::string_view where) {
  std::vector<ImageRecord> images;
  for_each_json_line(text, where, "image of a run",
                     [&](const Json& json) { images.push_back(image_from_json(json)); });
  return images;
}

void write_images(const std::string& path, const std::vector<ImageRecord>& images) {
  OutputFile file(path);
  file.write(image_lines(images));
  file.commit();
}

std::vector<ImageRecord> read_images(const std::string& path) {
  const InputFile file(path);
  return parse_image_lines(file.text(), path);
}

}  // namespace impart::run
