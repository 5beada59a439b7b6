// Runs beside the page in a world of its own, so that scripts of the page can't change what it uses. Names in the page
// can still hide properties of forms and of the document (<input name="attributes">): hence the getters by hand.
(() => {
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const attributesOf = getter(Element, "attributes");
  const outerHtmlOf = getter(Element, "outerHTML");
  const rootOf = getter(Document, "documentElement");
  const stateOf = getter(Document, "readyState");
  const doctypeOf = getter(Document, "doctype");
  const walk = (what) => Document.prototype.createTreeWalker.call(document, document, what);
  const silent = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TITLE"]);

  let changes = 0;
  const seen = { subtree: true, childList: true, characterData: true };
  new MutationObserver(() => { changes += 1; }).observe(document, seen);

  const hasText = (enough) => {
    const walker = walk(NodeFilter.SHOW_TEXT);
    let length = 0;
    while (length < enough && walker.nextNode()) {
      const node = walker.currentNode;
      if (!silent.has(node.parentNode.nodeName)) length += node.data.trim().length;
    }
    return length >= enough;
  };

  const isLongerThan = (limit) => {
    const walker = walk(NodeFilter.SHOW_ALL);
    let length = 0;
    while (walker.nextNode()) {
      const node = walker.currentNode;
      length += node.nodeName.length + (node.data ? node.data.length : 0);
      if (node instanceof Element) for (const one of attributesOf.call(node)) length += one.name.length + one.value.length;
      if (length > limit) return true;
    }
    return false;
  };

  globalThis.look = (enough) => ({
    changes, isLoaded: stateOf.call(document) === "complete", hasText: hasText(enough),
  });

  globalThis.html = (limit) => {
    const root = rootOf.call(document);
    if (isLongerThan(limit)) return null;
    return (doctypeOf.call(document) ? "<!DOCTYPE html>" : "") + (root ? outerHtmlOf.call(root) : "");
  };
})()
