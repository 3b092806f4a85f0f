"use strict";
// Values at the points of figures: the nearest point to the pointer or finger, or one after the other by arrow keys.
// Without this script each point has a title, and each figure a table.
let hint = document.body.dataset.hint;
for (const plot of document.querySelectorAll(".plot")) {
  const marks = [...plot.querySelectorAll(".marks circle")].map((circle) => {
    const title = circle.querySelector("title");
    const text = title.textContent;
    title.remove(); // or the browser would show it a second time
    return { circle, text, x: circle.cx.baseVal.value, y: circle.cy.baseVal.value };
  });
  if (!marks.length) continue;
  const svg = plot.querySelector("svg");
  const readout = plot.parentElement.querySelector(".readout");
  let current = -1;
  const show = (index) => {
    if (index === current) return;
    if (current >= 0) marks[current].circle.classList.remove("shown");
    current = index;
    if (index >= 0) marks[index].circle.classList.add("shown");
    readout.textContent = index >= 0 ? marks[index].text : readout.dataset.hint;
  };
  const nearest = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = -1;
    let distance = 24;
    marks.forEach((mark, index) => {
      const d = Math.hypot(mark.x - at.x, mark.y - at.y);
      if (d < distance) [best, distance] = [index, d];
    });
    return best;
  };
  readout.dataset.hint = hint; // said once, at the first figure
  hint = "";
  readout.textContent = readout.dataset.hint;
  readout.hidden = false;
  plot.tabIndex = 0;
  plot.ariaLabel += `. ${document.body.dataset.keys}`;
  plot.addEventListener("pointermove", (event) => show(nearest(event)));
  plot.addEventListener("pointerdown", (event) => show(nearest(event)));
  plot.addEventListener("pointerleave", () => show(-1));
  plot.addEventListener("blur", () => show(-1));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    if (!step) return;
    event.preventDefault();
    show((Math.max(current, step > 0 ? -1 : 0) + step + marks.length) % marks.length);
  });
}
const folded = () => document.querySelectorAll("details:not([open])");
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...folded()];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
const print_button = document.getElementById("print");
print_button.hidden = false;
print_button.addEventListener("click", () => print());
