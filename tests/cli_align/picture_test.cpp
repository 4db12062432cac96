// `lookback align --png`: a picture that decodes, of the right size, with the right shades.
#include <png.h>

#include <array>
#include <set>

#include "files.hpp"

using namespace lookback::test;

namespace {

struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  std::array<int, 3> at(std::size_t x, std::size_t y) const {
    const std::size_t place = 3 * (y * width + x);
    return {pixels[place], pixels[place + 1], pixels[place + 2]};
  }
};

Picture read_png(const std::string& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, path.c_str()) != 0);
  image.format = PNG_FORMAT_RGB;
  Picture picture = {image.width, image.height, {}};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, picture.pixels.data(), 0, nullptr) != 0);
  return picture;
}

Picture draw(const Arguments& more) {
  const Folder folder;
  const Outcome outcome = run(Arguments{"align", "--png", folder.path("map.png")} + more);
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  return read_png(folder.path("map.png"));
}

const std::array<int, 3> kWhite = {255, 255, 255};

}  // namespace

TEST_CASE("cli align: the picture of a sentence has a big cell for every weight") {
  const Picture picture = draw({"--sentence"});
  CHECK(picture.width > 18 * 40);
  CHECK(picture.width < 18 * 40 + 400);
  CHECK(picture.height > 18 * 40);
  CHECK(picture.height < 18 * 40 + 400);
  CHECK(picture.at(0, 0) == kWhite);
  std::set<std::array<int, 3>> colours;
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) colours.insert(picture.at(x, y));
  }
  CHECK(colours.size() > 50);
}

TEST_CASE("cli align: a map of equal weights has one shade") {
  const Folder folder;
  FileArray<float>{{4, 2}, std::vector<float>(8, 0)}.write(folder.path("q.npy"), "<f4");
  const Picture picture = draw({"--q", folder.path("q.npy"), "--k", folder.path("q.npy")});
  std::size_t cells = 0;
  // A quarter of the weight is half of the square-root scale: the ramp's fourth colour.
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      if (picture.at(x, y) == std::array<int, 3>{238, 110, 82}) ++cells;
    }
  }
  CHECK(cells > 16 * 38 * 38 * 3 / 4);
  CHECK(cells < 16 * 40 * 40);
}

TEST_CASE("cli align: the picture of a long text is a pooled map with axes") {
  const Folder folder;
  lookback::test::Random random(test_seed());
  random_array({3000, 4}, random).write(folder.path("q.npy"), "<f4");
  random_array({700, 4}, random).write(folder.path("k.npy"), "<f4");
  const Picture picture = draw({"--q", folder.path("q.npy"), "--k", folder.path("k.npy")});
  CHECK(picture.width > 1024);
  CHECK(picture.width < 1400);
  CHECK(picture.height > 1024);
  CHECK(picture.height < 1400);
}
