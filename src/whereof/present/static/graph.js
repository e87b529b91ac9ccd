// The explanation graph, drawn by Cytoscape at positions that the server computed.

// Cytoscape would add a style element, which the content-security-policy forbids; an element with
// its id makes it leave that out, and our sheet has the rule.
const ID = "__________cytoscape_stylesheet";
if (!document.getElementById(ID)) {
  const mark = document.createElement("meta");
  mark.id = ID;
  document.head.append(mark);
}
const { default: cytoscape } = await import("./vendor/cytoscape.esm.min.mjs");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function look() {
  const ink = colour("ink"), muted = colour("muted"), ground = colour("ground");
  const font = getComputedStyle(document.body).fontFamily;
  const line = (name) => ({ "line-color": colour(name), "target-arrow-color": colour(name) });
  return [
    { selector: "node", style: {
      shape: "round-rectangle", width: "data(width)", height: "data(height)", label: "data(label)",
      "background-color": colour("panel"), "border-color": colour("rule"), "border-width": 1,
      color: ink, "font-family": font, "font-size": 13, "text-wrap": "wrap", "text-valign": "center",
      "text-halign": "center", "line-height": 1.2, "overlay-opacity": 0 } },
    { selector: "node[kind = 'end']", style: { "background-color": colour("track"), "border-color": muted,
      "font-weight": "bold", "text-margin-y": "data(shift)" } },
    { selector: "node[kind = 'third']", style: { "background-color": colour("third") } },
    { selector: "node[kind = 'other']", style: { "background-color": colour("other") } },
    { selector: "node[kind = 'band']", style: { "background-color": colour("between"), "border-width": 0,
      shape: "rectangle", events: "no", "z-compound-depth": "bottom" } },
    { selector: "node[kind = 'title']", style: { "background-opacity": 0, "border-width": 0, color: muted,
      "font-size": 11, events: "no" } },
    { selector: "edge", style: {
      "curve-style": "straight", width: "data(thick)", label: "data(label)", color: ink,
      "font-family": font, "font-size": 12, "text-margin-y": -8, "target-arrow-shape": "triangle",
      "arrow-scale": 0.9, "source-endpoint": "data(from)", "target-endpoint": "data(to)",
      "overlay-opacity": 0, ...line("muted") } },
    { selector: "edge[sign = 'supports']", style: line("supports-line") },
    { selector: "edge[sign = 'opposes']", style: line("opposes-line") },
    { selector: "edge[sign = 'predicted']", style: { ...line("ink"), "line-style": "dashed",
      "line-dash-pattern": [8, 5], "font-weight": "bold" } },
    { selector: "edge[!listed][sign != 'predicted']", style: { "line-opacity": 0.45, color: muted } },
    { selector: "edge.removed", style: { "line-style": "dotted", "line-opacity": 0.5, color: muted } },
    { selector: "edge.dim", style: { opacity: 0.3 } },
    { selector: "edge.lit", style: { opacity: 1, "line-opacity": 1, color: ink, "font-weight": "bold", "text-background-color": ground,
      "text-background-opacity": 0.9, "text-background-padding": 2 } },
  ];
}

// Ends of an edge, relative to the middle of its nodes: every edge has its own height.
function ends(edge, nodes) {
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  const right = target.x > source.x;
  const at = (node, towardsRight) => `${(towardsRight ? 1 : -1) * node.width / 2}px ${edge.y - node.y}px`;
  return { ...edge, from: at(source, right), to: at(target, !right) };
}

export function draw(container, layout, { onFact, onEntity }) {
  const still = container.querySelector("svg"); // the same picture, until this one is drawn
  still?.classList.add("leaving");
  const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
  const cy = cytoscape({
    container,
    style: look(),
    layout: { name: "preset" },
    elements: {
      nodes: layout.nodes.map((data) => ({ data: { shift: 0, ...data }, position: { x: data.x, y: data.y } })),
      edges: layout.edges.map((edge) => ({ data: { listed: true, ...ends(edge, nodes) } })),
    },
    autoungrabify: true, autounselectify: true, boxSelectionEnabled: false,
    userZoomingEnabled: false, userPanningEnabled: false,
  });
  cy.one("render", () => still?.remove());
  let wide = 0;
  const fit = () => {
    if (container.clientWidth === wide) return;
    wide = container.clientWidth;
    const zoom = Math.min((wide - 8) / layout.width, 1.15);
    container.style.height = `${Math.ceil(layout.height * zoom) + 8}px`;
    cy.resize();
    cy.zoom(zoom);
    cy.pan({ x: wide / 2, y: 4 });
    // A picture that is higher than the window does not stay in place.
    const picture = container.closest(".picture");
    picture?.classList.toggle("tall", picture.scrollHeight > innerHeight);
  };
  fit();
  const resized = new ResizeObserver(fit), ended = new AbortController();
  resized.observe(container);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(look()), { signal: ended.signal });

  const light = (fact) => {
    cy.batch(() => {
      const chosen = cy.getElementById(`fact-${fact}`);
      const any = fact !== null && chosen.nonempty();
      cy.edges().toggleClass("dim", any).removeClass("lit");
      if (any) chosen.removeClass("dim").addClass("lit");
    });
  };
  cy.on("mouseover", "edge", (event) => {
    const fact = event.target.data("fact") ?? null;
    light(fact);
    onFact(fact);
  });
  cy.on("mouseout", "edge", () => { light(null); onFact(null); });
  cy.on("mouseover", "node[name != '']", () => { container.style.cursor = "pointer"; });
  cy.on("mouseout", "node", () => { container.style.cursor = ""; });
  cy.on("tap", "node[name != '']", (event) => onEntity(event.target.data("name"), event.target.data("place")));
  return {
    light,
    remove(facts) {
      cy.batch(() => {
        cy.edges().removeClass("removed");
        for (const fact of facts) cy.getElementById(`fact-${fact}`).addClass("removed");
      });
    },
    destroy() {
      resized.disconnect();
      ended.abort();
      cy.destroy();
    },
    png: () => cy.png({ full: true, scale: 2, bg: colour("ground") }),
  };
}
