"use strict";
/* A read-out under the pointer, which reads the drawn paths, so that the page carries every figure once. */
(() => {
  const points = (path) => {
    if (path.points) return path.points;
    const found = [];
    let x = 0, y = 0;
    for (const [, command, rest] of path.getAttribute("d").matchAll(/([MLHVZ])([^MLHVZ]*)/g)) {
      if (command === "Z" || (command === "V" && rest === "1000" && path.classList.contains("area"))) break;
      const numbers = rest.trim().split(/[ ,]+/).map(Number);
      if (command === "H") x = numbers[0];
      else if (command === "V") y = numbers[0];
      else [x, y] = numbers;
      found.push({ x, y, starts: command === "M" });
    }
    path.points = found;
    return found;
  };
  const at = (path, x) => {
    const all = points(path);
    let low = 0, high = all.length - 1;
    if (high < 0 || x < all[0].x - 4 || x > all[high].x + 4) return null;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (all[middle].x <= x) low = middle; else high = middle - 1;
    }
    const left = all[low], right = all[low + 1];
    if (!right || left.x > x) return left.y;
    if (right.starts) return x - left.x < 4 ? left.y : null;
    return right.x === left.x ? right.y : left.y + (right.y - left.y) * (x - left.x) / (right.x - left.x);
  };
  const grouped = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return (value / 1e6).toPrecision(3) + " M";
    if (size >= 1000) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
    return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
  };
  const lasting = (value) => value < 1 ? Math.round(value * 1000) + " ms" : value < 100 ? value.toPrecision(3) + " s" : Math.floor(value / 60) + " min " + Math.round(value % 60) + " s";
  const shown = (value, unit) => {
    if (unit === "s") return lasting(value);
    if (unit === "share") return (value * 100).toFixed(1) + " %";
    if (unit === "executors") return String(Math.round(value * 10) / 10);
    return grouped(value) + (unit === "/s" ? "/s" : "");
  };
  const clock = (value) => {
    const whole = Math.round(value), two = (part) => String(part).padStart(2, "0");
    return Math.floor(whole / 3600) + ":" + two(Math.floor(whole % 3600 / 60)) + ":" + two(whole % 60);
  };
  /* Every change belongs on paper, also where a long list is folded on the screen. */
  const folded = [...document.querySelectorAll("details.changes:not([open])")];
  addEventListener("beforeprint", () => folded.forEach((part) => { part.open = true; }));
  addEventListener("afterprint", () => folded.forEach((part) => { part.open = false; }));
  for (const plot of document.querySelectorAll(".plot")) {
    const { x: kind, xLow, xHigh, yLow, yHigh, unit } = plot.dataset;
    const cursor = plot.appendChild(Object.assign(document.createElement("div"), { className: "cursor" }));
    const readout = plot.appendChild(Object.assign(document.createElement("div"), { className: "readout" }));
    const show = (event) => {
      const box = plot.getBoundingClientRect();
      const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const low = Number(xLow), high = Number(xHigh);
      const where = kind === "log" ? lasting(low * (high / low) ** part) : kind === "plain" ? shown(low + (high - low) * part, "") : clock(low + (high - low) * part);
      readout.replaceChildren(Object.assign(document.createElement("div"), { textContent: where }));
      for (const path of plot.querySelectorAll("path[data-label]")) {
        const y = at(path, part * 1000);
        if (y === null) continue;
        const row = document.createElement("div");
        row.className = [...path.classList].find((name) => !["line", "area", "dashed", "dotted"].includes(name)) || "";
        const value = Number(yLow) + (1 - y / 1000) * (Number(yHigh) - Number(yLow));
        row.append(path.dataset.label + " ", Object.assign(document.createElement("b"), { textContent: shown(value, unit) }));
        readout.append(row);
      }
      cursor.style.left = part * 100 + "%";
      cursor.style.display = readout.style.display = "block";
      readout.style.left = part < 0.55 ? `calc(${part * 100}% + .7rem)` : "auto";
      readout.style.right = part < 0.55 ? "auto" : `calc(${(1 - part) * 100}% + .7rem)`;
    };
    const hide = () => { cursor.style.display = readout.style.display = "none"; };
    plot.addEventListener("pointermove", show);
    plot.addEventListener("pointerdown", show);
    plot.addEventListener("pointerleave", hide);
  }
})();
