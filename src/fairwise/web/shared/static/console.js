"use strict";
document.documentElement.classList.add("script");
addEventListener("DOMContentLoaded", () => {
  // Where one is, also in a menu that is wider than the screen.
  const here = document.querySelector(".menu [aria-current]");
  const menu = here?.closest(".menu");
  if (menu) menu.scrollLeft = here.offsetLeft - (menu.clientWidth - here.offsetWidth) / 2;
});
