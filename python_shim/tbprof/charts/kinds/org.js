/* SPDX-License-Identifier: Apache-2.0
 *
 * Organization charts: a row is a node, the second column names its parent, the third its tooltip.
 * The bottleneck page draws pipelines of tf.data with it. Every subtree gets the width that its
 * leaves need, parents stand in the middle above; a parent that is a node's own child, or that
 * does not exist, makes a root.
 */
tbc.define('org', ['chart', 'svg', 'sanitize'], function (base, svg, sanitize) {
  const WIDTHS = { small: 120, medium: 170, large: 230 };
  const LEAST_HEIGHT = 44;
  const GAP = { x: 14, y: 26 };
  const PAD = 6;

  function nodesOf(data) {
    const nodes = data.rowIndexes().map((row) => ({
      row: row,
      name: String(data.getValue(row, 0)),
      text: data.getFormattedValue(row, 0),
      parentName: data.getNumberOfColumns() > 1 ? data.getValue(row, 1) : null,
      tip: data.getNumberOfColumns() > 2 ? data.getFormattedValue(row, 2) : '',
      style: data.getRowProperty(row, 'style'),
      selectedStyle: data.getRowProperty(row, 'selectedStyle'),
      parent: null,
      children: [],
    }));
    const byName = new Map(nodes.map((node) => [node.name, node]));
    for (const node of nodes) {
      const parent = node.parentName ? byName.get(String(node.parentName)) : null;
      if (!parent || isAbove(node, parent)) continue;
      node.parent = parent;
      parent.children.push(node);
    }
    return nodes;
  }

  /** Is `node` already above `other`? Then `other` must not become its parent. */
  function isAbove(node, other) {
    for (let at = other; at; at = at.parent) if (at === node) return true;
    return false;
  }

  /** Sets column (in leaves) and level of every node, without recursion; returns the extent. */
  function place(nodes) {
    const extent = { columns: 0, levels: 0 };
    const order = [];
    const open = nodes.filter((node) => !node.parent).reverse();
    open.forEach((root) => {
      root.level = 0;
    });
    while (open.length) {
      const node = open.pop();
      order.push(node);
      extent.levels = Math.max(extent.levels, node.level + 1);
      node.children
        .slice()
        .reverse()
        .forEach((child) => {
          child.level = node.level + 1;
          open.push(child);
        });
      if (!node.children.length) node.column = extent.columns++;
    }
    for (const node of order.reverse()) {
      const n = node.children.length;
      if (n) node.column = (node.children[0].column + node.children[n - 1].column) / 2;
    }
    return extent;
  }

  function link(node, n, width) {
    const from = { x: n.parent.x + width / 2, y: n.parent.y + n.parent.height };
    const to = { x: n.x + width / 2, y: n.y };
    const middle = to.y - GAP.y / 2;
    const d = 'M' + from.x + ',' + from.y + 'V' + middle + 'H' + to.x + 'V' + to.y;
    svg.element('path', { class: 'tbc-org-link', d: d }, node);
  }

  class OrgChart extends base.Chart {
    resized() {}

    render(root) {
      const width = WIDTHS[this.options_.size] || WIDTHS.medium;
      this.nodes_ = nodesOf(this.data_);
      const extent = place(this.nodes_);
      root.classList.add('tbc-chart', 'tbc-org');
      const tops = this.levelTops_(root, extent.levels, width);
      const node = svg.element('svg', { role: 'tree' }, root);
      node.setAttribute('width', Math.max(1, extent.columns * (width + GAP.x) - GAP.x + 2 * PAD));
      node.setAttribute('height', Math.max(1, tops[extent.levels] - GAP.y + PAD));
      for (const n of this.nodes_) {
        n.x = PAD + n.column * (width + GAP.x);
        n.y = tops[n.level];
        n.height = tops[n.level + 1] - GAP.y - n.y;
      }
      this.nodes_.forEach((n) => n.parent && link(node, n, width));
      this.nodes_.forEach((n) => {
        const size = { x: n.x, y: n.y, width: width, height: n.height };
        svg.element('foreignObject', size, node).appendChild(n.box);
      });
      this.showSelection_();
    }

    /** Makes the boxes and measures them; a level is as high as its highest box. */
    levelTops_(root, levels, width) {
      const trial = svg.html('div', 'tbc-org-trial', root);
      trial.style.width = width + 'px';
      const heights = new Array(levels).fill(LEAST_HEIGHT);
      for (const n of this.nodes_) {
        n.box = this.box_(n);
        trial.appendChild(n.box);
        n.box.style.cssText = n.style || '';
      }
      for (const n of this.nodes_) {
        heights[n.level] = Math.max(heights[n.level], n.box.offsetHeight);
      }
      trial.remove();
      const tops = [PAD];
      heights.forEach((height, level) => tops.push(tops[level] + height + GAP.y));
      return tops;
    }

    box_(n) {
      const box = svg.html('div', 'tbc-org-node ' + (this.options_.nodeClass || ''));
      box.setAttribute('role', 'treeitem');
      box.setAttribute('aria-level', n.level + 1);
      box.tabIndex = 0;
      if (this.options_.allowHtml) sanitize.setHtml(box, n.text);
      else box.textContent = n.text;
      if (n.tip) box.title = n.tip;
      const choose = () => this.select_({ row: n.row, column: null });
      box.addEventListener('click', choose);
      box.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') choose();
      });
      box.addEventListener('mouseenter', () => this.trigger_('onmouseover', { row: n.row }));
      box.addEventListener('mouseleave', () => this.trigger_('onmouseout', { row: n.row }));
      return box;
    }

    showSelection_() {
      const rows = new Set(this.selection_.map((item) => item.row));
      for (const n of this.nodes_ || []) {
        const on = rows.has(n.row);
        n.box.style.cssText = (n.style || '') + ';' + (on ? n.selectedStyle || '' : '');
        n.box.setAttribute('aria-selected', on ? 'true' : 'false');
      }
    }
  }
  OrgChart.kind = 'OrgChart';

  return { OrgChart: OrgChart, nodesOf: nodesOf, place: place };
});
