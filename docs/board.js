// The first page: the picture of a board is a link to the page that plays it. When it is touched, that page takes
// the place of the picture. Without JavaScript the link is followed.

const link = document.querySelector("a.live");

/** Give the frame the colours of the site, which has a switch of its own. */
function colour(frame) {
  const dark = document.body.dataset.mdColorScheme === "slate";
  frame.contentDocument.documentElement.style.colorScheme = dark ? "dark" : "light";
}

function open(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab or window
  event.preventDefault();
  if (link.nextElementSibling) return; // loading
  const frame = document.createElement("iframe");
  frame.className = "live loading";
  frame.title = "2048 on 2x3 to 64, with the best slides marked";
  frame.addEventListener("load", () => {
    colour(frame);
    new MutationObserver(() => colour(frame)).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    link.remove();
    frame.classList.remove("loading");
    frame.contentWindow.focus(); // so that keys slide
  });
  frame.src = link.href;
  link.after(frame);
}

link?.addEventListener("click", open);
