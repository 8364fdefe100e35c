// Renews what changes on the page, and keeps the command running while the page is open. Only what
// is different is changed, so that the focus and a screen reader stay where they are.
"use strict";

// renew makes an element that the page has what the server says now.
function renew(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName || old.id !== now.id) return old.replaceWith(now);
  if (!old.attributes) return void (old.data = now.data);
  for (const name of old.getAttributeNames()) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const name of now.getAttributeNames()) old.setAttribute(name, now.getAttribute(name));
  // Children with an id are found by it, others by their place.
  for (const child of [...old.children]) if (child.id && !now.querySelector(":scope > #" + CSS.escape(child.id))) child.remove();
  let at = old.firstChild;
  for (const child of [...now.childNodes]) {
    const there = child.id ? old.querySelector(":scope > #" + CSS.escape(child.id)) : at && !at.id && at.nodeName === child.nodeName ? at : null;
    const next = there && there === at ? at.nextSibling : at;
    if (!there) old.insertBefore(child, at);
    else {
      if (there !== at) old.insertBefore(there, at);
      renew(there, child);
    }
    at = next;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// renewAll renews the sections. Where what had the focus goes, the focus goes to what has its id
// now, or to the title of the section.
function renewAll(state) {
  const focus = document.activeElement, section = focus.closest("section");
  state.querySelectorAll("section").forEach((now) => renew(document.getElementById(now.id), now));
  if (section && document.activeElement !== focus) (document.getElementById(focus.id) || section.querySelector("h2") || document.querySelector("h1")).focus();
}

async function look() {
  if (looking) return;
  looking = true;
  clearTimeout(timer);
  let wait = document.hidden ? 30000 : 2000;
  try {
    const answer = await fetch("/state", { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    renewAll(new DOMParser().parseFromString(await answer.text(), "text/html"));
    document.getElementById("ended").hidden = true;
  } catch {
    document.getElementById("ended").hidden = false;
    wait = 10000;
  }
  looking = false;
  timer = setTimeout(look, wait);
}

let looking = false, timer = 0;
const back = document.getElementById("back");
if (back) {
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") back.click(); });
} else {
  timer = setTimeout(look, 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
}
