// The texts of the page whose contrast is below that of WCAG 2.2, 1.4.3 (AA).
(() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const light = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * light(r / 255) + 0.7152 * light(g / 255) + 0.0722 * light(b / 255);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement, style = getComputedStyle(e);
    if (!texts.currentNode.data.trim() || !e.checkVisibility()) continue;
    const [a, b] = [luminance(channels(style.color)), luminance(behind(e))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)}: ${texts.currentNode.data.trim()}`);
  }
  return faint;
})()
