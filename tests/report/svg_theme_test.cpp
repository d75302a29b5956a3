#include <gtest/gtest.h>

#include "impart/report/gnuplot.h"

namespace impart::report {
namespace {

const std::string kDrawn =
    "<?xml version=\"1.0\"?>\n<svg\n viewBox=\"0 0 10 10\">\n<g id=\"gnuplot_canvas\">\n<defs>\n"
    "<circle id='gpDot'/>\n</defs>\n"
    "<g fill=\"none\" color=\"black\" stroke=\"black\">\n</g>\n"
    "\t<g id=\"gnuplot_plot_1\" ><title>gnuplot_plot_1</title>\n"
    "\t<path stroke='rgb( 59, 125, 216)'  d='M1,1'/>\n"
    "\t<use xlink:href='#gpPt6' transform='translate(1.00,2.00) scale(1.50)' color='rgb(1, 2, "
    "3)'/>\n"
    "\t<use xlink:href='#gpPt6' transform='translate(3.00,4.00) scale(1.50)' color='rgb(1, 2, "
    "3)'/>\n"
    "\t<text fill=\"black\">&lt;x></text>\n\t</g>\n</g>\n</svg>\n";

TEST(SvgTheme, TakesTheColourOfTheTextAroundIt) {
  const std::string svg = theme_svg(kDrawn, "a \"b\"");
  EXPECT_EQ(svg.find("black"), std::string::npos);
  EXPECT_NE(svg.find("<text fill=\"currentColor\">&lt;x>"), std::string::npos);
  EXPECT_NE(svg.find("aria-label=\"a &quot;b&quot;\""), std::string::npos);
  EXPECT_NE(svg.find("'#3b7dd8'"), std::string::npos);
}

TEST(SvgTheme, HasNoIdsThatCouldClash) {
  EXPECT_EQ(theme_svg(kDrawn, "").find(" id="), std::string::npos);
}

TEST(SvgTheme, DrawsDotsOfOneLookAsOnePath) {
  EXPECT_NE(theme_svg(kDrawn, "").find("d='M1.0 2.0h0M3.0 4.0h0' stroke='#010203'"),
            std::string::npos);
}

TEST(SvgTheme, RefusesWhatIsNoPicture) {
  EXPECT_EQ(theme_svg("</svg>", ""), "");
}

}  // namespace
}  // namespace impart::report
