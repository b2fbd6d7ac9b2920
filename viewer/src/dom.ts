// Elements from words: everything from outside becomes text, never markup.

type Attributes = Record<string, string | number | boolean>;

/** Makes an element with attributes, children and text. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** Sets the text of an element, if it is another one. */
export function say(element: Node, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A number with so many digits, as people write it. */
export function written(x: number, digits = 4): string {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e-3 && size < 1e6) {
    const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return minus(x.toFixed(Math.min(places, 8)));
  }
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e") as [string, string];
  return `${minus(mantissa)}·10${raised(Number(exponent))}`;
}

/** A number without zeros at its end. */
export const shortly = (x: number, digits = 3): string =>
  written(x, digits)
    .replace(/(\.\d*?)0+(?=$|·)/, "$1")
    .replace(/\.(?=$|·)/, "");

const minus = (text: string): string => text.replace("-", "−");

function raised(n: number): string {
  const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  return (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map((d) => digits[Number(d)]).join("");
}
