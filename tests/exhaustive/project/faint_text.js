// The visible texts whose contrast to their background is below that of WCAG 2.1, level AA: 4.5, or 3 for large text.
// Disabled controls are exempt, as in the standard.
(() => {
  const channels = (color) => {
    const canvas = (window.contrastCanvas ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }));
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const background = (element) => {
    if (!element) return [255, 255, 255];
    const own = channels(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, background(element.parentElement));
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.querySelector(".stApp"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || element.closest("style, script, noscript, canvas, [disabled], [aria-disabled=true], [data-testid=stIconMaterial]")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const svg = element.closest("svg");
    if (svg) continue; // charts and graphs lie on rectangles of their own
    const below = background(element.closest("[data-testid=stSliderThumbValue]") ? element.closest(".stSlider") : element);
    let opacity = 1;
    for (let each = element; each; each = each.parentElement) opacity *= Number(getComputedStyle(each).opacity);
    const color = channels(style.color);
    const shown = over([...color.slice(0, 3), color[3] * opacity], below);
    const [dark, light] = [luminance(shown), luminance(below)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast > 1.01 && contrast < (large ? 3 : 4.5)) // at 1, it is hidden
       found.add(`${contrast.toFixed(2)} ${text.slice(0, 40)} (${element.className || element.tagName})`);
  }
  return [...found];
})();
