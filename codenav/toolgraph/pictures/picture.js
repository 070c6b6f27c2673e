"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { nodes, edges, groups, kinds } = data;
  const SVG = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);
  const stage = byId("stage"), view = byId("view"), panel = byId("node"), search = byId("search");
  const shapes = [...view.querySelectorAll("[data-n]")], paths = [...view.querySelectorAll("[data-e]")];
  const labels = view.querySelector(".labels");
  const texts = nodes.map((node) => {
    const text = document.createElementNS(SVG, "text");
    text.textContent = node.label;
    labels.append(text);
    return text;
  });
  const byImportance = nodes.map((_, place) => place).sort((one, two) => nodes[two].importance - nodes[one].importance);
  const around = nodes.map(() => []);
  edges.forEach((edge, place) => {
    around[edge.source].push(place);
    if (edge.target !== edge.source) around[edge.target].push(place);
  });
  const hiddenGroups = new Set(), hiddenKinds = new Set();
  let scale = 1, left = 0, top = 0, chosen = -1, lit = null;

  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  // Long names break behind a dot, not within a word.
  const whole = (name) => name.split(/(?<=[./])/).flatMap((piece) => [piece, element("wbr")]);

  // Where we are looking.

  const shown = (place) => !hiddenGroups.has(nodes[place].group);

  // Labels keep their size on the screen: the nearer we are, the more of them have room.
  const arrange = () => {
    const font = 11 / scale, taken = new Map(), cell = 48;
    const { width, height } = stage.getBoundingClientRect();
    const cells = (box) => {
      const found = [];
      for (let x = Math.floor(box[0] / cell); x <= Math.floor(box[2] / cell); x++)
        for (let y = Math.floor(box[1] / cell); y <= Math.floor(box[3] / cell); y++) found.push(`${x} ${y}`);
      return found;
    };
    const take = (box) => cells(box).forEach((key) => (taken.get(key) ?? taken.set(key, []).get(key)).push(box));
    const free = (box) => !cells(box).some((key) => (taken.get(key) ?? []).some(
      (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]));
    const screen = nodes.map((node) => [node.x * scale + left, node.y * scale + top, node.radius * scale]);
    const inside = (place) => {
      const [x, y, r] = screen[place];
      return shown(place) && x > -r && y > -r && x < width + r && y < height + r;
    };
    // While some are lit, only these have labels, and only these are in the way.
    const visible = byImportance.filter((place) => inside(place) && (!lit || lit.has(place)));
    // The labels of the most important may lie over other nodes.
    const always = 25;
    const takeNodes = (places) => places.forEach((place) => {
      const [x, y, r] = screen[place];
      take([x - r, y - r, x + r, y + r]);
    });
    takeNodes(visible.slice(0, always));
    texts.forEach((text) => text.classList.add("gone"));
    for (const [rank, place] of visible.entries()) {
      if (rank === always) takeNodes(visible.slice(always));
      const [x, y, r] = screen[place], wide = nodes[place].label.length * 6.2, gap = r + 3;
      for (const [at, middle] of [[x + gap, y], [x - gap - wide, y], [x - wide / 2, y + gap + 6], [x - wide / 2, y - gap - 6]]) {
        const box = [at, middle - 6, at + wide, middle + 6];
        if (box[0] < 0 || box[2] > width || !free(box)) continue;
        take(box);
        const text = texts[place];
        text.setAttribute("x", (at - left) / scale);
        text.setAttribute("y", (middle - top) / scale);
        text.setAttribute("font-size", font);
        text.setAttribute("stroke-width", 2.5 / scale);
        text.classList.remove("gone");
        break;
      }
    }
  };
  let waiting = 0;
  const heads = [...stage.querySelectorAll("marker")], headSize = 7;
  paths.forEach((path) => { path.style.strokeWidth = `calc(${path.getAttribute("stroke-width")}px * var(--thin, 1))`; });
  const draw = () => {
    view.setAttribute("transform", `translate(${left} ${top}) scale(${scale})`);
    // Near by, edges do not get as much wider as everything gets larger.
    const thin = scale > 1 ? scale ** -0.65 : 1;
    view.style.setProperty("--thin", thin);
    heads.forEach((head) => {
      head.setAttribute("markerWidth", headSize * thin);
      head.setAttribute("markerHeight", headSize * thin);
    });
    if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; arrange(); });
  };
  const zoom = (by, x, y) => {
    const box = stage.getBoundingClientRect();
    const atX = x ?? box.width / 2, atY = y ?? box.height / 2;
    const next = Math.min(12, Math.max(0.05, scale * by));
    left = atX - (atX - left) * next / scale;
    top = atY - (atY - top) * next / scale;
    scale = next;
    draw();
  };
  const look = (places, most) => {
    const box = stage.getBoundingClientRect();
    if (!places.length || !box.width) return;
    const span = (get) => [Math.min(...places.map((place) => get(nodes[place]) - nodes[place].radius)), Math.max(...places.map((place) => get(nodes[place]) + nodes[place].radius))];
    const [x1, x2] = span((node) => node.x), [y1, y2] = span((node) => node.y);
    scale = Math.min(most, box.width / (x2 - x1 + 180), box.height / (y2 - y1 + 60));
    left = box.width / 2 - scale * (x1 + x2) / 2;
    top = box.height / 2 - scale * (y1 + y2) / 2;
    draw();
  };
  const fit = () => look(nodes.map((_, place) => place).filter(shown), 2);

  // What is lit.

  const light = (places, lines) => {
    lit = places;
    view.classList.toggle("dimmed", places !== null);
    shapes.forEach((shape, place) => shape.classList.toggle("lit", places !== null && places.has(place)));
    paths.forEach((path, place) => path.classList.toggle("lit", places !== null && lines.has(place)));
    arrange();
  };
  const choose = (place) => {
    if (chosen >= 0) shapes[chosen].classList.remove("chosen");
    chosen = place;
    panel.hidden = place < 0;
    if (place < 0) { light(null); return; }
    shapes[place].classList.add("chosen");
    light(new Set([place, ...around[place].flatMap((edge) => [edges[edge].source, edges[edge].target])]), new Set(around[place]));
    tell(place);
  };
  const tell = (place) => {
    const node = nodes[place];
    panel.replaceChildren(element("h2", {}, ...whole(node.id)), element("p", { textContent: node.facts }));
    if (node.description) panel.append(element("p", { textContent: node.description }));
    for (const [end, other, way] of [["source", "target", "out"], ["target", "source", "in"]]) {
      for (const [kind, { names }] of Object.entries(kinds)) {
        const found = around[place].map((edge) => edges[edge]).filter((edge) => edge.kind === kind && edge[end] === place);
        if (!found.length) continue;
        found.sort((one, two) => two.weight - one.weight);
        panel.append(element("h2", { textContent: names[way] }), element("ul", {}, ...found.map((edge) => element("li", {},
          element("span", { className: "w", textContent: edge.weight.toFixed(2) }),
          element("span", {},
            element("a", { tabIndex: 0, onclick: () => visit(edge[other]),
              onkeydown: (event) => { if (event.key === "Enter") visit(edge[other]); } }, ...whole(nodes[edge[other]].id)),
            edge.label ? ` (${edge.label})` : "")))));
      }
    }
  };
  const visit = (place) => {
    const box = stage.getBoundingClientRect();
    const x = nodes[place].x * scale + left, y = nodes[place].y * scale + top;
    if (x < 40 || y < 40 || x > box.width - 40 || y > box.height - 40) {
      left += box.width / 2 - x;
      top += box.height / 2 - y;
      draw();
    }
    choose(place);
  };
  const seek = () => {
    const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    choose(-1);
    byId("found").textContent = "";
    if (!wanted.length) return [];
    const places = byImportance.filter((place) => {
      const text = `${nodes[place].id} ${nodes[place].description}`.toLowerCase();
      return shown(place) && wanted.every((word) => text.includes(word));
    });
    byId("found").textContent = places.length === 1 ? "1 node" : `${places.length} nodes`;
    light(new Set(places), new Set());
    return places;
  };

  // The legend hides and shows.

  const refresh = () => {
    shapes.forEach((shape, place) => shape.classList.toggle("gone", !shown(place)));
    paths.forEach((path, place) => path.classList.toggle("gone",
      hiddenKinds.has(edges[place].kind) || !shown(edges[place].source) || !shown(edges[place].target)));
    arrange();
  };
  const switches = (title, rows, hidden) => {
    byId("legend").append(element("h2", { textContent: title }), ...rows.map(([key, name, swatch]) => element("label", {},
      element("input", { type: "checkbox", checked: true, onchange: (event) => {
        if (event.target.checked) hidden.delete(key); else hidden.add(key);
        refresh();
      } }), swatch, element("span", {}, ...whole(name)))));
  };
  const swatch = (className, style) => {
    const made = element("span", { className });
    Object.assign(made.style, style);
    return made;
  };
  switches("Groups", groups.map((group, place) => [place, `${group.name} (${group.count})`, swatch("swatch", { background: group.colour })]), hiddenGroups);
  const present = Object.entries(kinds).filter(([kind]) => edges.some((edge) => edge.kind === kind));
  if (present.length) switches("Edges", present.map(([kind, { colour, line, names }]) => [kind, names.legend, swatch("dash", { borderTopColor: colour, borderTopStyle: line })]), hiddenKinds);
  byId("legend").append(element("p", { textContent: "Wider edges are heavier, larger nodes are used more. Click a node to see its edges." }));

  // Hands.

  const held = new Map();
  let moved = 0;
  const local = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), ...local(event));
  }, { passive: false });
  stage.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, local(event));
    if (held.size === 1) moved = 0;
    stage.classList.add("held");
  });
  window.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const now = local(event), others = [...held].filter(([id]) => id !== event.pointerId);
    held.set(event.pointerId, now);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (others.length) {
      const [, other] = others[0], span = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      zoom(span(now) / span(before), ...other);
    } else {
      left += now[0] - before[0];
      top += now[1] - before[1];
      draw();
    }
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, (event) => {
    if (!held.delete(event.pointerId)) return;
    if (!held.size) stage.classList.remove("held");
    // A click, not the end of a move.
    if (end === "pointerup" && !held.size && moved < 4) choose(Number(event.target.closest?.("[data-n]")?.dataset.n ?? -1));
  });
  byId("in").onclick = () => zoom(1.4);
  byId("out").onclick = () => zoom(1 / 1.4);
  byId("fit").onclick = fit;
  search.addEventListener("input", seek);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { search.value = ""; seek(); search.blur(); }
    if (event.key !== "Enter") return;
    const places = seek();
    look(places, 2);
    if (places.length === 1) choose(places[0]);
  });
  window.addEventListener("keydown", (event) => {
    if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = { "/": () => search.focus(), "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), "0": fit, Escape: () => choose(-1) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("resize", draw);
  fit();
})();
