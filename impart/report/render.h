#pragma once

#include <string>

#include "impart/report/analysis.h"
#include "impart/report/document.h"

namespace impart::report {

/// One self-contained page: styles, pictures and the few lines of script that sort tables are in
/// it, and a content security policy forbids it to load or run anything else. Readable without
/// script, in light and dark, from 320 pixels of width on.
std::string render_html(const Document& document);

/// For places that show Markdown. Pictures are links to figures/NAME.svg.
std::string render_markdown(const Document& document);

/// The tables for \input into a paper; needs the packages booktabs and longtable.
std::string render_latex(const Document& document);

/// One row per arm with everything that is known about it as plain numbers: for other programs.
std::string render_csv(const Analysis& analysis);

}  // namespace impart::report
