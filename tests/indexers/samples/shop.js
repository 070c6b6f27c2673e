/**
 * Orders of a small shop.
 * @module shop
 */
import fs from "node:fs";
import { render, hydrate as wake } from "./view.js";
export * from "./prices.js";
const path = require("path");

/** Most items in one order. */
export const LIMIT = 100;
let counter = 0, last;

/**
 * Adds up the prices.
 *
 * @param {number[]} prices
 */
export function total(prices, { tax = 0.2, ...rest } = {}) {
  function rounded(value) {
    return Math.round(value);
  }
  return rounded(prices.reduce((sum, price) => sum + price, 0));
}

// Not a doc comment: an empty line follows.

export default async function* stream(source) {
  for await (const item of source) yield parse(item).value;
}

const double = (x) => x * 2;
export const later = async (ms) => {
  await sleep(ms);
};
const old = function named(a) { return a; };

/** A basket. */
@observed
export class Basket extends Store(Base) {
  static #count = 0;
  items = [];
  onChange = () => {
    this.save();
  };

  /** Makes a basket. */
  constructor(owner) {
    super(owner);
    this.owner = new Owner(owner);
  }

  // How many there are.
  get size() { return this.items.length; }
  static async *of(...items) { yield* items; }
  #hidden() {}
}

const api = {
  limit: 3,
  /** Fetches. */
  get(url) { return fetch(url); },
  post: async function (url) { return fetch(url); },
};

Basket.prototype.clear = function () { this.items = []; };
exports.open = (file) => { fs.readFileSync(file); };
module.exports.close = function () {};

if (process.env.DEBUG) {
  function trace() {}
  trace();
}

describe("basket", () => {
  it("adds", () => { expect(total([1])).toBe(1); });
});
start();
