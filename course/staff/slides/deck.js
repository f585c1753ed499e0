// One slide at a time: arrow keys, space, Home and End move, n shows the notes. Without this script all slides are below each other.
const slides = [...document.querySelectorAll(".slide")];
const speak = document.getElementById("speak");
let current = 0;

function show(number) {
  current = Math.max(0, Math.min(slides.length - 1, number));
  slides.forEach((slide, place) => { slide.hidden = place !== current; });
  history.replaceState(null, "", `#${current + 1}`);
}

function toggleNotes() {
  speak.setAttribute("aria-pressed", String(document.body.classList.toggle("speaking")));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || (event.key === " " && event.target.tagName === "BUTTON")) return;
  const keys = {
    ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Home: -slides.length, End: slides.length,
  };
  if (event.key in keys) {
    event.preventDefault();
    show(current + keys[event.key]);
  } else if (event.key === "n") {
    toggleNotes();
  }
});
document.getElementById("back").addEventListener("click", () => show(current - 1));
document.getElementById("next").addEventListener("click", () => show(current + 1));
speak.addEventListener("click", toggleNotes);
window.addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0));
document.body.classList.add("deck");
show(Number(location.hash.slice(1)) - 1 || 0);
