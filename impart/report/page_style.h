#pragma once

#include <string_view>

namespace impart::report {

// The fixed parts of report.html.

inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--text:#1c2127;--soft:#56606b;--page:#fbfbfa;--card:#fff;--line:#e1e4e8;
--accent:#2563b8;--gain:42,157,120;--loss:209,73,91;--better:#12664b;--worse:#a3213a}
@media(prefers-color-scheme:dark){:root{--text:#dfe3e8;--soft:#a3adb8;--page:#101316;--card:#171b1f;
--line:#2b3138;--accent:#8bb9f5;--better:#6fd6af;--worse:#ff9aa6}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,"Segoe UI",Roboto,
"Helvetica Neue",sans-serif;overflow-wrap:anywhere}
a{color:var(--accent)}
h1{font-size:1.8rem;line-height:1.2;margin:0 0 .2rem;letter-spacing:-.01em}
h2{font-size:1.25rem;margin:0;display:inline}
h3{font-size:.95rem;margin:.9rem 0 .35rem;font-weight:600}
.sub,.small,figcaption,.label{color:var(--soft)}
.sub{margin:0 0 1.1rem}
.small,figcaption{font-size:.88rem}

body{display:grid;grid-template-columns:12.5rem minmax(0,1fr);max-width:1420px;margin:0 auto}
.page{padding:2rem 1.25rem;min-width:0}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:2.2rem 0 2rem 1.25rem;
font-size:.88rem}
nav input,nav label{display:none}
nav .name{display:block;font-weight:600;margin-bottom:.5rem}
nav .links{display:flex;flex-direction:column;gap:.1rem}
nav .links a{text-decoration:none;padding:.2rem .5rem;border-radius:6px}
nav .links a:hover{background:var(--line)}

.lead{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.15fr);gap:1rem;align-items:start}
.lead.alone{grid-template-columns:minmax(0,1fr)}
.lead figure,.lead .gallery{margin:0}
.verdict{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--accent);
border-radius:8px;padding:1rem 1.2rem}
.headline{font-size:1.12rem;line-height:1.45;font-weight:600;margin:0}
.verdict ul{margin:.6rem 0 0;padding-left:1.1rem;font-size:.92rem}
.verdict li{margin:.15rem 0}
.verdict details{margin:.5rem 0 0;font-size:.92rem}
.keys{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.8rem;margin:.9rem 0 0}
.keys div{border-top:1px solid var(--line);padding-top:.5rem}
.keys b{display:block;font-size:1.7rem;line-height:1.2;font-variant-numeric:tabular-nums}
.keys span{font-size:.85rem;color:var(--soft);display:block}

section{margin:1.6rem 0 0;border-top:1px solid var(--line);padding-top:.7rem}
summary{cursor:pointer;color:var(--soft)}
section>details>summary{color:var(--text);padding:.2rem 0}
section>details>summary::marker{color:var(--soft)}
details{margin:.8rem 0}
section>details{margin:0}

.table,.box{container-type:inline-size}
.table{margin:1.1rem 0}
.label{font-size:.92rem;margin:0 0 .4rem}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
.long{max-height:38rem;overflow-y:auto}
.long thead th{position:sticky;top:0;background:var(--card);z-index:1}
table{border-collapse:collapse;font-size:.88rem;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.34rem .5rem;text-align:right;border-bottom:1px solid var(--line)}
td{white-space:nowrap}
tbody tr:last-child td{border-bottom:0}
th{font-weight:600;color:var(--soft);vertical-align:bottom;overflow-wrap:normal}
th.text,td.text{text-align:left}
td.wrap{white-space:normal;min-width:14rem}
td:first-child{white-space:normal;font-weight:500}
tbody tr:hover td{background-color:rgba(127,140,155,.09)}
th[aria-sort]::after{content:" ▲";font-size:.7em}
th[aria-sort=descending]::after{content:" ▼"}
.sortable th{cursor:pointer}
.better{color:var(--better)}
.worse{color:var(--worse)}
td.better,td.worse{font-weight:600}
td.muted{color:var(--soft)}
td.gain{background-color:rgba(var(--gain),var(--s))}
td.loss{background-color:rgba(var(--loss),var(--s))}

figure,.gallery{margin:1.1rem 0;background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:.8rem}
figure svg{display:block;width:100%;max-width:860px;height:auto;margin:0 auto}
figure .narrow{display:none}
figcaption{margin-top:.5rem}
.gallery h3:first-of-type{margin-top:.3rem}
.gallery details{margin:0}
.gallery:has(>details){margin:.5rem 0;padding:.45rem .8rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(5.6rem,1fr));gap:.6rem;margin:0;padding:0;
list-style:none;font-size:.78rem;line-height:1.3}
.tiles img{display:block;width:4.5rem;height:4.5rem;object-fit:contain;image-rendering:pixelated;
border-radius:5px;background:rgba(127,140,155,.15);margin-bottom:.25rem}
.tiles b{font-weight:600;display:block}
.tiles span{color:var(--soft);display:block}
.tiles .worse{color:var(--worse)}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--card);border:1px solid var(--line);
border-radius:8px;padding:.5rem .7rem;font-size:.85rem;line-height:1.35;box-shadow:0 4px 14px rgba(0,0,0,.25);max-width:14rem}
#tip img{display:block;width:4.5rem;height:4.5rem;object-fit:contain;image-rendering:pixelated;
border-radius:5px;margin-bottom:.3rem}
pre{white-space:pre-wrap;background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:.8rem 1rem;font-size:.82rem;line-height:1.45}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}

@media(max-width:1080px){body{display:block}html{scroll-padding-top:3.5rem}
nav{z-index:5;padding:.5rem 1.25rem;background:var(--page);border-bottom:1px solid var(--line);overflow:visible;
display:flex;flex-wrap:wrap;align-items:center;gap:0 .8rem}
nav .name{margin:0;flex:1}
nav label{display:block;color:var(--accent);cursor:pointer;border:1px solid var(--line);border-radius:99px;
padding:.1rem .8rem;background:var(--card)}
nav input{display:block;position:absolute;opacity:0;pointer-events:none}
nav input:focus-visible+label{outline:2px solid var(--accent)}
nav .links{display:none;flex-basis:100%;max-height:70vh;overflow-y:auto;padding:.4rem 0}
nav input:checked~.links{display:flex}
.lead{grid-template-columns:minmax(0,1fr)}.page{padding-top:1.2rem}}
@media(max-width:640px){body{font-size:15px}h1{font-size:1.45rem}
.page,nav{padding-left:.8rem;padding-right:.8rem}.verdict{padding:.8rem .9rem}
.headline{font-size:1.02rem}figure,.gallery{padding:.5rem}
figure .wide{display:none}figure .narrow{display:block}
.gallery:has(>details){padding:.45rem .5rem}
.tiles{grid-template-columns:repeat(auto-fill,minmax(4.5rem,1fr));gap:.5rem}}
@media print{nav{display:none}body{display:block}.scroll,.long{overflow:visible;max-height:none}
figure,.table{break-inside:avoid}}
)css";

/// For tables of class "fit-N" whose room is less than the N rem they need: a card for each row,
/// with the names of the columns in it. {0} stands for N.
inline constexpr std::string_view kCardStyle = R"css(
@container (max-width:{0}rem){{.fit-{0} thead{{display:none}}.fit-{0},.fit-{0} tbody{{display:block}}
.fit-{0} tr{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(9.4rem,45%),1fr));gap:.35rem .9rem;
padding:.6rem .8rem;border-bottom:1px solid var(--line)}}
.fit-{0} td,.fit-{0} td.wrap{{display:block;text-align:left;white-space:normal;border:0;padding:.1rem .3rem;min-width:0;
border-radius:4px}}
.fit-{0} td::before{{content:attr(data-h);display:block;color:var(--soft);font-size:.8rem;font-weight:400}}
.fit-{0} td:first-child,.fit-{0} td.wrap{{grid-column:1/-1}}.fit-{0} td:first-child{{font-weight:600}}
.fit-{0} td:first-child::before{{content:none}}}}
)css";

}  // namespace impart::report
