// time budget: 900 s
/**
 * Every screen of the portal as its readers set their browser: forced colours, 200 % zoom, from right
 * to left.
 */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, hasChromium } from "../kit/browser.ts";
import { SCREENS } from "../portal/screens.ts";
import { BROWSER_MS, openStage } from "../portal/stage.ts";

const { world, browser } = await openStage();

const screens = SCREENS.map((screen) => [screen.name, screen] as const);

/**
 * What is chosen, beside what could be: told by a line, as grounds and colours are the reader's. Answers what
 * is not.
 */
const UNTOLD = `(() => {
  const lines = (element) => {
    const style = getComputedStyle(element);
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => "border" + side);
    const borders = sides.flatMap((side) => [style[side + "Width"], style[side + "Style"], style[side + "Color"]]);
    const outline = style.outlineStyle === "none" ? "" : style.outlineWidth + style.outlineColor;
    return [...borders, outline, style.textDecorationLine].join(" ");
  };
  const looks = (element) => {
    const row = element.closest("tr, li");
    return lines(element) + (row ? lines(row) : "");
  };
  const all = [...document.querySelectorAll("[aria-current], [aria-pressed=true]")];
  return all.flatMap((chosen) => {
    const kind = chosen.matches("[aria-pressed]") ? "[aria-pressed=false]" : chosen.tagName + ":not([aria-current])";
    const near = chosen.closest("ul, ol, tbody, [role=group]")?.querySelector(kind);
    return near && looks(near) === looks(chosen) ? [chosen.outerHTML.slice(0, 200)] : [];
  });
})()`;

/** Gives everything the focus that takes it, down the page and up again. Answers what cannot be seen then. */
const UNSEEN = `(() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  const isSeen = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [[0.5, 0.5], [0.05, 0.5], [0.95, 0.5], [0.5, 0.1], [0.5, 0.9]].some(([x, y]) => {
      const above = document.elementFromPoint(left + width * x, top + height * y);
      return above !== null && (element.contains(above) || above.contains(element));
    });
  };
  return [...all, ...all.toReversed()].flatMap((element) => {
    element.focus();
    return document.activeElement !== element || isSeen(element) ? [] : [element.outerHTML.slice(0, 200)];
  });
})()`;

/** How far the words of the first heading are from where they should begin. */
const FROM_RIGHT = `(() => {
  const heading = [...document.querySelectorAll("h1")].find((one) => one.checkVisibility());
  const words = document.createRange();
  words.selectNodeContents(heading);
  const frame = heading.parentElement;
  const inner = frame.getBoundingClientRect().right - parseFloat(getComputedStyle(frame).paddingRight);
  return inner - words.getBoundingClientRect().right;
})()`;

const found = (page: Page, what: string) => page.evaluate<string[]>(what);

describe.skipIf(!hasChromium)("in forced colours", () => {
  test.each(screens)(
    "%s tells by lines what is chosen, and axe finds nothing",
    async (_name, screen) => {
      for (const theme of ["light", "dark"] as const) {
        await using opened = await browser.open(await screen.address(world), {
          theme,
          hasForcedColors: true,
        });
        await screen.ready(opened.page);
        expect(await found(opened.page, UNTOLD)).toEqual([]);
        await expectAccessible(opened.page);
      }
    },
    BROWSER_MS,
  );

  test("the bars of a chart and its legend keep their colours", async () => {
    const [overview] = SCREENS;
    if (!overview) throw new Error("there is no screen");
    await using opened = await browser.open(await overview.address(world), { hasForcedColors: true });
    await overview.ready(opened.page);
    const colors = await opened.page.evaluate<string[]>(`[
      getComputedStyle(document.querySelector(".bar .delivered")).backgroundColor,
      getComputedStyle(document.querySelector(".legend .delivered"), "::before").backgroundColor,
    ]`);
    expect(colors[0]).toStartWith("oklch(");
    expect(colors[1]).toBe(String(colors[0]));
  });
});

describe.skipIf(!hasChromium)("at 200 % zoom", () => {
  test.each(screens)(
    "%s is whole, and nothing covers what has the focus",
    async (_name, screen) => {
      await using opened = await browser.open(await screen.address(world), { zoom: 2 });
      await screen.ready(opened.page);
      await expectNoSidewaysScroll(opened.page);
      expect(await found(opened.page, UNSEEN)).toEqual([]);
    },
    BROWSER_MS,
  );
});

describe.skipIf(!hasChromium)("from right to left", () => {
  test.each(screens)(
    "%s is whole, on a desk and on a phone, and begins at the right",
    async (_name, screen) => {
      const address = new URL(await screen.address(world));
      address.searchParams.set("dir", "rtl");
      for (const width of [1280, 320]) {
        await using opened = await browser.open(address.href, { width, isPhone: width === 320 });
        await screen.ready(opened.page);
        await expectNoSidewaysScroll(opened.page);
        expect(await opened.page.evaluate<number>(FROM_RIGHT)).toBeLessThan(2);
      }
    },
    BROWSER_MS,
  );
});
