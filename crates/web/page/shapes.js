// Elements that remain in the document when their content changes, because new ones cost more time.
//
// A shape is an array: a tag, attributes, and children, each a shape or a text.

const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";

/** Sets the attributes of an element that differ from earlier ones, and removes the others. */
function changed(element, attributes, earlier = {}) {
  for (const name in attributes) if (earlier[name] !== attributes[name]) element.setAttribute(name, attributes[name]);
  for (const name in earlier) if (!(name in attributes)) element.removeAttribute(name);
  return attributes;
}

/** Element of a shape. The element of an earlier shape with the same tag is changed. */
function shaped(shape, element, earlier, space = SVG) {
  if (shape === earlier) return element;
  const [tag, attributes, ...children] = shape;
  if (earlier?.[0] !== tag) [element, earlier] = [document.createElementNS(space, tag), [tag]];
  changed(element, attributes, earlier[1]);
  for (const [index, child] of children.entries()) {
    const [node, before] = [element.childNodes[index], earlier[index + 2]];
    if (child === before) continue;
    if (typeof child === "string" && typeof before === "string") node.data = child;
    else {
      const found = typeof child === "string" ? child : shaped(child, node, Array.isArray(before) ? before : undefined, space);
      if (!node) element.append(found);
      else if (found !== node) node.replaceWith(found);
    }
  }
  while (element.childNodes.length > children.length) element.lastChild.remove();
  return element;
}

/** Shapes of the elements that have been filled. */
const filled = new WeakMap();

/** Makes shapes and texts the content of an element of HTML, all of whose content is made in this way. */
function fill(element, ...children) {
  const shape = [element.localName, {}, ...children];
  shaped(shape, element, filled.get(element) ?? [element.localName, {}], HTML);
  filled.set(element, shape);
}

/** Removes from pieces the first whose shape has children of the same tags. */
function takenAlike(pieces, shape) {
  const tagOf = (child) => (typeof child === "string" ? "" : child[0]);
  const isSame = ({ shape: earlier }) => shape.length === earlier.length && shape.slice(2).every((child, index) => tagOf(child) === tagOf(earlier[index + 2]));
  const found = pieces.findIndex(isSame);
  return found < 0 ? undefined : pieces.splice(found, 1)[0];
}

/** Pieces of a drawing. The element of a piece remains in the document while there is a piece with its key. */
class Pieces {
  constructor(parent) {
    this.parent = parent;
    this.shown = new Map();
  }

  /** Shows pieces in their order. Pieces have a key and a shape. */
  show(pieces) {
    const found = new Map();
    for (const piece of pieces) {
      let [key, again] = [piece.key, 0];
      while (found.has(key)) key = `${piece.key} ${(again += 1)}`;
      found.set(key, piece);
    }
    const spare = [...this.shown].filter(([key]) => !found.has(key)).map(([, piece]) => piece);
    const places = new Map([...this.parent.children].map((element, place) => [element, place]));
    let [place, after] = [-1, null];
    for (const [key, piece] of found) {
      const kept = this.shown.get(key);
      const before = kept ?? takenAlike(spare, piece.shape);
      const element = (piece.element = shaped(piece.shape, before?.element, before?.shape));
      if (before && element !== before.element) before.element.remove();
      // To move an element costs as much as a new one. Those that already follow the last kept one stay.
      if (kept && places.get(element) > place) place = places.get(element);
      else if (after) after.after(element);
      else this.parent.prepend(element);
      after = element;
    }
    for (const { element } of spare) element.remove();
    this.shown = found;
  }
}
