/**
 * Colours in OKLCH, and contrast as WCAG 2 computes it. Whatever colour a customer has, it is moved in
 * lightness until it can be read on every surface of a theme.
 */
export interface Oklch {
  l: number;
  c: number;
  h: number;
}

type Rgb = readonly [number, number, number];

export const TEXT_CONTRAST = 4.5;
export const LINE_CONTRAST = 3;

/**
 * The darkest surface of the light theme and the lightest of the dark one: what holds on these holds on
 * all (tokens.css).
 */
const EXTREMES = { light: { l: 0.955, c: 0.01, h: 260 }, dark: { l: 0.27, c: 0.014, h: 260 } } as const;
const STEP = 0.005;

export function fromHex(hex: string): Oklch {
  const channel = (at: number) => toLinear(Number.parseInt(hex.slice(at, at + 2), 16) / 255);
  const [r, g, b] = [channel(1), channel(3), channel(5)];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const bb = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  const hue = (Math.atan2(bb, a) * 180) / Math.PI;
  return {
    l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    c: Math.hypot(a, bb),
    h: (hue + 360) % 360,
  };
}

function toLinear(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

function fromLinear(value: number): number {
  return value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055;
}

function linearOf({ l: lightness, c, h }: Oklch): Rgb {
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** Less colourful until a screen can show it. */
function inGamut(color: Oklch): Rgb {
  for (let { c } = color; c > 0; c -= STEP) {
    const rgb = linearOf({ ...color, c });
    if (rgb.every((value) => value >= -0.0005 && value <= 1.0005)) return rgb;
  }
  return linearOf({ ...color, c: 0 });
}

/** In whole steps of a screen, as it is drawn. */
function drawn(color: Oklch): Rgb {
  const [r, g, b] = inGamut(color).map((value) =>
    Math.round(Math.min(1, Math.max(0, fromLinear(Math.max(0, value)))) * 255),
  );
  return [r ?? 0, g ?? 0, b ?? 0];
}

export function toHex(color: Oklch): string {
  return `#${drawn(color)
    .map((value) => value.toString(16).padStart(2, "0"))
    .join("")}`;
}

function luminance(color: Oklch): number {
  const [r, g, b] = drawn(color).map((value) => toLinear(value / 255));
  return 0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0);
}

export function contrast(a: Oklch, b: Oklch): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const WHITE: Oklch = { l: 1, c: 0, h: 0 };
const BLACK: Oklch = { l: 0, c: 0, h: 0 };

export interface Brand {
  /** Text, links, buttons, focus. */
  brand: Oklch;
  /** Text on it: black or white, whichever reads better. */
  onBrand: Oklch;
  /** A faint ground for what is chosen; the theme's text stands on it. */
  soft: Oklch;
}

export function brandFor(hex: string, theme: "light" | "dark"): Brand {
  const wanted = fromHex(hex);
  const ground = EXTREMES[theme];
  const step = theme === "light" ? -STEP : STEP;
  const end = theme === "light" ? 0 : 1;
  let brand = wanted;
  while (contrast(brand, ground) < TEXT_CONTRAST && brand.l !== end) {
    brand = { ...brand, l: Math.min(1, Math.max(0, brand.l + step)) };
  }
  const onBrand = contrast(brand, WHITE) >= contrast(brand, BLACK) ? WHITE : BLACK;
  const soft = { l: theme === "light" ? 0.955 : 0.27, c: Math.min(wanted.c, 0.025), h: wanted.h };
  return { brand, onBrand, soft };
}
