// Renews what changes on the page, and keeps the command running while the page is open. Only what
// is different is replaced, so that the focus and a screen reader stay where they are.
"use strict";

const seen = new Map(); // what the server said last, by the id of the element

// replace puts the new element in place of the old one, and the focus where it was.
function replace(old, now) {
  const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(now);
  if (focus) (document.getElementById(focus) || now.querySelector("h2") || document.body).focus();
}

// renew renews one section. Lines of a list are replaced one by one.
function renew(now) {
  const html = now.outerHTML;
  if (seen.get(now.id) === html) return;
  seen.set(now.id, html);
  const old = document.getElementById(now.id);
  const oldList = old.querySelector("ul"), list = now.querySelector("ul");
  if (now.id === "health") {
    old.className = now.className;
    // A live region speaks only if it stays, and its text changes.
    const said = old.querySelector("[role=status]"), says = now.querySelector("[role=status]");
    if (said.innerHTML !== says.innerHTML) said.replaceChildren(...says.childNodes);
    while (said.nextSibling) said.nextSibling.remove();
    while (says.nextSibling) old.append(says.nextSibling);
    return;
  }
  if (!oldList || !list) return replace(old, now);
  const lines = [...list.children];
  for (const line of [...oldList.children]) {
    if (lines.some((l) => l.id === line.id)) continue;
    const focused = line.contains(document.activeElement);
    line.remove();
    if (focused) old.querySelector("h2").focus();
  }
  lines.forEach((line, i) => {
    const html = line.outerHTML, there = document.getElementById(line.id);
    if (there && there.parentElement === oldList) {
      if (seen.get(line.id) !== html) replace(there, line);
    } else {
      oldList.insertBefore(line, oldList.children[i] || null);
    }
    seen.set(line.id, html);
  });
}

async function look() {
  if (looking) return;
  looking = true;
  clearTimeout(timer);
  let wait = document.hidden ? 30000 : 2000;
  try {
    const answer = await fetch("/state", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    const state = new DOMParser().parseFromString(await answer.text(), "text/html");
    state.querySelectorAll("section").forEach(renew);
    document.getElementById("ended").hidden = true;
  } catch {
    document.getElementById("ended").hidden = false;
    wait = 10000;
  }
  looking = false;
  timer = setTimeout(look, wait);
}

document.querySelectorAll("section, section li").forEach((e) => seen.set(e.id, e.outerHTML));
let looking = false, timer = setTimeout(look, 1000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
