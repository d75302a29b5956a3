#pragma once

#include <string_view>

namespace impart::report {

/// The only script of report.html: sorts a table by the column whose head is clicked, opens what a
/// link leads to, and tells which example a dot of a data map is. The page is whole without it.
inline constexpr std::string_view kPageScript = R"js(
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

const unfold = () => {
  const section = location.hash && document.getElementById(location.hash.slice(1));
  const details = section && section.querySelector("details");
  if (details) details.open = true;
  document.getElementById("menu").checked = false;
};
addEventListener("hashchange", unfold);
unfold();

const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);

const show = (notes, index, event) => {
  const id = notes.ids[index];
  tip.replaceChildren();
  const picture = document.querySelector(`img[data-picture="${notes.pictures}-${id}"]`);
  if (picture) tip.append(Object.assign(new Image(), {src: picture.src, alt: ""}));
  for (const text of [notes.labels[notes.of[index]], `example ${id}`]) {
    if (text) tip.append(Object.assign(document.createElement("div"), {textContent: text}));
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const inside = (at, size, room) => Math.max(4, at + 14 + size < room ? at + 14 : at - 14 - size);
  tip.style.left = inside(event.clientX, box.width, innerWidth) + "px";
  tip.style.top = inside(event.clientY, box.height, innerHeight) + "px";
};

for (const plot of document.querySelectorAll("[data-notes]")) {
  const notes = JSON.parse(plot.dataset.notes);
  for (const svg of plot.querySelectorAll("svg")) {
    const paths = [...svg.querySelectorAll("path[stroke-linecap=round]")];
    const size = path => Number(path.getAttribute("stroke-width"));
    const smallest = Math.min(...paths.map(size));  // dots of the legend are larger
    const dots = paths.filter(path => size(path) === smallest).flatMap(
      path => path.getAttribute("d").slice(1).split("h0M").map(place => place.split(" ").map(parseFloat)));
    if (dots.length !== notes.ids.length) continue;
    const find = event => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let nearest = -1, least = 100;
      dots.forEach(([x, y], index) => {
        const distance = (x - at.x) ** 2 + (y - at.y) ** 2;
        if (distance < least) [nearest, least] = [index, distance];
      });
      if (nearest < 0) tip.hidden = true; else show(notes, nearest, event);
    };
    svg.addEventListener("pointermove", find);
    svg.addEventListener("pointerdown", find);
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
}
)js";

/// SHA-256 of kPageScript for the content security policy: the only script that may run.
inline constexpr std::string_view kPageScriptHash = "GUr3ce5jSeSLdnIdo23twvm4isGBeA+ERrXyM08t97M=";

}  // namespace impart::report
