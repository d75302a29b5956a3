#include "impart/report/escape.h"

#include <gtest/gtest.h>

namespace impart::report {
namespace {

TEST(Escape, HtmlKeepsTextAndDisarmsMarkup) {
  EXPECT_EQ(for_html("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(for_html("± größer\n"), "± größer\n");
}

TEST(Escape, InvalidUtf8AndControlCharactersBecomeStandIns) {
  for (const auto escape : {for_html, for_markdown, for_terminal, for_csv}) {
    EXPECT_EQ(escape("a\x1b[31mb"), escape == for_markdown ? "a\ufffd\\[31mb" : "a\ufffd[31mb");
    EXPECT_EQ(escape("\xff\xc3"), "\ufffd\ufffd");
    EXPECT_EQ(escape("\xc0\xaf"), "\ufffd\ufffd") << "overlong";
    EXPECT_EQ(escape("\xed\xa0\x80"), "\ufffd\ufffd\ufffd") << "surrogate";
    EXPECT_EQ(escape("\u202ex\u009b"), "\ufffdx\ufffd");
  }
  EXPECT_EQ(for_terminal("a\r\nb\tc"), "a  b c");
}

TEST(Escape, CsvDisarmsFormulasAndLeavesNumbers) {
  EXPECT_EQ(for_csv("=cmd()"), "'=cmd()");
  EXPECT_EQ(for_csv("@x"), "'@x");
  EXPECT_EQ(for_csv("-x"), "'-x");
  EXPECT_EQ(for_csv("-1.5e-3"), "-1.5e-3");
  EXPECT_EQ(for_csv("+2"), "+2");
  EXPECT_EQ(for_csv("-1+cmd()"), "'-1+cmd()");
  EXPECT_EQ(for_csv("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(for_csv(""), "");
}

TEST(Escape, MarkdownHasNoMarkupLeft) {
  EXPECT_EQ(for_markdown("a|b *c* [d](e) <i>"), "a\\|b \\*c\\* \\[d\\](e) &lt;i&gt;");
}

TEST(Escape, LatexHasNoCommandsLeft) {
  EXPECT_EQ(for_latex("\\x{1} 50% a_b"), "\\textbackslash{}x\\{1\\} 50\\% a\\_b");
  EXPECT_EQ(for_latex("−1 ± 2"), "$-$1 $\\pm$ 2");
}

TEST(Escape, GnuplotStringsCannotBeLeft) {
  EXPECT_EQ(for_gnuplot("it's `id`"), "'it''s ′id′'");
  EXPECT_EQ(for_gnuplot("a\nplot"), "'a plot'");
  EXPECT_EQ(for_gnuplot("0123456789", 5), "'0123…'");
}

TEST(Escape, SlugsAreSafeNames) {
  EXPECT_EQ(slug_of("Stripes W20/I30"), "stripes-w20-i30");
  EXPECT_EQ(slug_of("../.."), "x");
}

}  // namespace
}  // namespace impart::report
