
"use strict";
// Sorting and filtering. The page is readable without it.
(() => {
  const table = document.getElementById("matrix");
  if (!table) return;
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...body.rows];
  const value = (row, column) => row.cells[column].dataset.value;

  function compare(column, a, b) {
    if (column === 0) return a.cells[0].textContent.localeCompare(b.cells[0].textContent, undefined, { numeric: true });
    return Number(value(a, column)) - Number(value(b, column));
  }

  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
      rows.sort((a, b) => up * compare(column, a, b) || compare(0, a, b));
      body.append(...rows);
    });
  });

  const filter = document.getElementById("filter");
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    const left = rows.filter((row) => !row.hidden).length;
    document.getElementById("shown").textContent = wanted ? `${left} of ${rows.length}` : "";
  });
})();
