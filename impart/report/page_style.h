#pragma once

#include <string_view>

namespace impart::report {

// The fixed parts of report.html.

inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--text:#1c2127;--soft:#5b6570;--page:#fbfbfa;--card:#fff;--line:#e1e4e8;
--accent:#2f6fca;--gain:42,157,120;--loss:209,73,91;--better:#1d7a5c;--worse:#b02a3e}
@media(prefers-color-scheme:dark){:root{--text:#dfe3e8;--soft:#98a2ad;--page:#101316;--card:#171b1f;
--line:#2b3138;--accent:#79aef2;--better:#5cc79f;--worse:#f0808e}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,"Segoe UI",Roboto,
"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:1180px;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}
h2{font-size:1.3rem;margin:3rem 0 .8rem;padding-bottom:.35rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .2rem}
.sub,.small,figcaption,caption,summary{color:var(--soft)}
.sub{margin:0 0 1.4rem}
.small,figcaption{font-size:.88rem}
.verdict{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--accent);
border-radius:8px;padding:1.1rem 1.4rem;margin:0 0 1.2rem}
.verdict .headline{font-size:1.2rem;line-height:1.45;font-weight:600;margin:0}
.verdict ul{margin:.6rem 0 0;padding-left:1.1rem}
.verdict li{margin:.15rem 0}
nav{display:flex;flex-wrap:wrap;gap:.35rem .5rem;margin:1rem 0 0;font-size:.88rem}
nav a{color:var(--accent);text-decoration:none;border:1px solid var(--line);border-radius:99px;
padding:.12rem .7rem;background:var(--card)}
nav a:hover{border-color:var(--accent)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
.long{max-height:38rem;overflow-y:auto}
.long thead th{position:sticky;top:0;background:var(--card);z-index:1}
.long thead th:first-child{z-index:2}
.table{margin:1.2rem 0}
.label{color:var(--soft);font-size:.92rem;margin:0 0 .4rem}
table{border-collapse:collapse;font-size:.88rem;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.34rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
tbody tr:last-child td,tbody tr:last-child th{border-bottom:0}
th{font-weight:600;color:var(--soft);vertical-align:bottom}
th.text,td.text{text-align:left}
td.wrap{white-space:normal;min-width:14rem}
tbody tr:hover td{background-color:rgba(127,140,155,.09)}
th:first-child,td:first-child{position:sticky;left:0;background:var(--card);max-width:22rem;
overflow:hidden;text-overflow:ellipsis}
td:first-child{font-weight:500}
th[aria-sort]::after{content:" ▲";font-size:.7em}
th[aria-sort=descending]::after{content:" ▼"}
.sortable th{cursor:pointer}
td.better{color:var(--better);font-weight:600}
td.worse{color:var(--worse);font-weight:600}
td.muted{color:var(--soft)}
td.gain{background-color:rgba(var(--gain),var(--s))}
td.loss{background-color:rgba(var(--loss),var(--s))}
figure{margin:1.4rem 0;background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:.8rem}
figure .plot{overflow-x:auto}
figure svg{display:block;width:100%;min-width:540px;max-width:860px;height:auto;margin:0 auto}
figcaption{margin-top:.5rem}
details{margin:.8rem 0}
summary{cursor:pointer}
details>.scroll{margin-top:.5rem}
pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:.8rem 1rem;font-size:.82rem;line-height:1.45}
footer{margin-top:3rem;padding-bottom:2rem;color:var(--soft);font-size:.85rem}
@media(max-width:600px){body{font-size:15px}header{padding-top:1.3rem}h1{font-size:1.5rem}
header,main,footer{padding-left:.8rem;padding-right:.8rem}th,td{padding:.3rem .5rem}
th:first-child,td:first-child{max-width:9.5rem}.verdict{padding:.9rem 1rem}
.verdict .headline{font-size:1.08rem}}
@media print{nav{display:none}.scroll,.long{overflow:visible;max-height:none}figure,.table{break-inside:avoid}}
)css";

/// Sorts a table by the column whose head is clicked; a second click turns it round.
inline constexpr std::string_view kSortScript = R"js(
for (const table of document.querySelectorAll("table")) {
  table.classList.add("sortable");
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => {
        const cell = row.cells[column];
        return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent;
      };
      const order = (a, b) => {
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
        const sign = down ? -1 : 1;
        return sign * (typeof a === "number" && typeof b === "number"
                       ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true}));
      };
      const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
      rows.sort((a, b) => order(a[0], b[0])).forEach(row => table.tBodies[0].append(row[1]));
    };
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
}
)js";

/// SHA-256 of kSortScript for the content security policy: the only script that may run.
inline constexpr std::string_view kSortScriptHash = "PXGGJCSuFfTk+hS3H+Uh+JOEEt1haTaD85PCNX+vRRE=";

}  // namespace impart::report
