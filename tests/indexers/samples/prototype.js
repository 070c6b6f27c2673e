function Stack() {}

/** The methods. */
Stack.prototype = {
  constructor: Stack,
  size: 0,
  /** Adds one. */
  push: function (item) { this.items.push(item); },
  pop() { return this.items.pop(); },
  get top() { return this.items[0]; },
};

Stack.prototype.peek = function () { return this.items[0]; };
Stack.prototype["clear"] = function () { this.items = []; };
Stack.prototype.each = Stack.prototype.forEach = function (f) { this.items.forEach(f); };
Stack.prototype.limit = 10;
Stack.of = function () { return new Stack(); };

Object.assign(Stack.prototype, {
  toString() { return "stack"; },
  swap: function () { this.items.reverse(); },
});

exports.Queue.prototype = Object.create(Stack.prototype);
exports.Queue.prototype.shift = function () { return this.items.shift(); };
$.fn = $.prototype = { ready: function (f) { f(); } };
prototype = {};

(function (root) {
  function Heap() {}
  Heap.prototype = {
    push: function (item) { this.items.push(item); },
  };
  Heap.prototype.pop = function () { return this.items.pop(); };
  extend(Heap.prototype, { clear: function () { this.items = []; } });
  extend(root, { Heap: Heap });
})(this);

function later() {
  Stack.prototype = {
    never: function () { return 1; },
  };
}
Object.defineProperty(Stack.prototype, "empty", { get: function () { return !this.items.length; } });
Object.defineProperty(Stack.prototype, 'most', { value: 9 });
