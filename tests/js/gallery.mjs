/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed data for every kind of chart, drawn by the browser test. Each entry: id, kind, size of its
 * place, table (array rows, first row is the header) and options. Options and data are those of
 * the Profile pages where a page draws that kind.
 */
const tip = { type: 'string', role: 'tooltip', p: { html: true } };
const STEP_COLORS = ['#4b7b4b', '#8d6708', '#d252b2', '#2a7ab0', '#e65722', '#8b0000', '#000000'];

const steps = [
  [
    'Step',
    'Device compute',
    'Device to device',
    'Host compute',
    'Kernel launch',
    'Input',
    'Compilation',
    'All others',
  ],
];
for (let i = 0; i < 24; i++) {
  steps.push([String(i), 6 + (i % 5), 0.5, 2 + (i % 3), 1, i % 7 ? 0.8 : 6, i ? 0 : 9, 1.5]);
}

const memory = [
  ['timestamp(ps)', 'stack', 'heap', { type: 'string', role: 'tooltip' }, 'free', 'fragmentation'],
];
for (let i = 0; i < 200; i++) {
  const heap = 0.8 + 0.6 * Math.sin(i / 17) + (i % 40) / 80;
  memory.push([
    100 + i * 1.5,
    0.2,
    heap,
    'timestamp(ms): ' + (100 + i * 1.5) + '\nevent: allocation\nmemory: ' + heap.toFixed(4),
    4 - heap,
    20 + 10 * Math.cos(i / 11),
  ]);
}

const roofline = [
  ['Intensity', 'HBM Roofline', tip, 'Program', tip, 'convolution', tip, 'fusion', tip],
];
[
  [1e-5, 1e-3 * 0.9],
  [14, 1300],
  [1e5, 1300],
].forEach(([x, y]) => roofline.push([x, y, '<b>Roofline</b>', null, null, null, null, null, null]));
roofline.push([3, null, null, 120, '<div>Program</div>', null, null, null, null]);
for (let i = 0; i < 25; i++)
  roofline.push([
    0.2 * (i + 1),
    null,
    null,
    null,
    null,
    30 * (i + 1),
    '<b>conv ' + i + '</b>',
    null,
    null,
  ]);
for (let i = 0; i < 25; i++)
  roofline.push([
    0.004 * (i + 1),
    null,
    null,
    null,
    null,
    null,
    null,
    0.3 * (i + 1),
    '<b>fusion ' + i + '</b>',
  ]);

const ops = [['Operation', 'Time (us)']];
[
  'Conv2DBackpropFilter',
  'Conv2DBackpropInput',
  'Conv2D',
  'MatMul',
  'FusedBatchNormGradV3',
  'Relu',
  'AddV2',
  'Cast',
  'Tile',
  'Mean',
].forEach((name, i) => ops.push([name, Math.round(4000 / (i + 1))]));
ops.push(['tiny1', 3], ['tiny2', 2]);

const kernels = [
  ['Rank', 'Kernel Name', 'Uses tensor cores', 'Occurrences', 'Total (us)', 'Share'],
];
for (let i = 0; i < 37; i++) {
  kernels.push([
    i + 1,
    (i % 3 ? 'volta_sgemm_128x64_nn_' : 'void cudnn::bn_fw_tr_1C11_kernel<float, 512, true, 1>(') +
      i,
    i % 4 === 0,
    (i * 7) % 11,
    { v: 9000 - 211.5 * i, f: (9000 - 211.5 * i).toFixed(1) },
    { v: (37 - i) / 703, f: ((3700 - 100 * i) / 703).toFixed(1) + '%' },
  ]);
}

export const gallery = [
  {
    id: 'step-time',
    kind: 'AreaChart',
    width: 760,
    height: 400,
    table: steps,
    options: {
      title: 'Step Time (in milliseconds)',
      titleTextStyle: { bold: true },
      hAxis: { title: 'Step Number', showTextEvery: 2, textStyle: { bold: true } },
      vAxis: { format: '###.####', minValue: 0, viewWindow: { min: 0 }, textStyle: { bold: true } },
      chartArea: { left: 50, width: '60%' },
      colors: STEP_COLORS,
      height: 400,
      isStacked: true,
    },
  },
  {
    id: 'memory',
    kind: 'AreaChart',
    width: 1100,
    height: 400,
    table: memory,
    options: {
      curveType: 'none',
      chartArea: { left: 60, right: 60, width: '100%' },
      hAxis: {
        title: 'Timestamp (ms)',
        textStyle: { bold: true },
        viewWindow: { min: null, max: null },
      },
      vAxes: {
        0: { title: 'Memory Usage (GiBs)', minValue: 0, textStyle: { bold: true } },
        1: { title: 'Fragmentation (%)', minValue: 0, maxValue: 100, textStyle: { bold: true } },
      },
      series: {
        0: { targetAxisIndex: 0 },
        1: { targetAxisIndex: 0 },
        2: { targetAxisIndex: 0 },
        3: { targetAxisIndex: 1, type: 'line', lineDashStyle: [4, 4] },
      },
      legend: { position: 'top' },
      tooltip: { trigger: 'selection' },
      colors: ['red', 'orange', 'green'],
      height: 400,
      isStacked: true,
      explorer: { actions: ['dragToZoom', 'rightClickToReset'], maxZoomIn: 0.001, maxZoomOut: 10 },
    },
  },
  {
    id: 'roofline',
    kind: 'ScatterChart',
    width: 720,
    height: 400,
    table: roofline,
    options: {
      title: 'Roofline Model',
      width: 720,
      height: 400,
      hAxis: {
        title: 'FLOP/Byte (log scale)',
        scaleType: 'log',
        viewWindow: { min: 1e-5, max: 1e5 },
        ticks: [0, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5],
      },
      vAxis: {
        title: 'GFLOP/s (log scale)',
        scaleType: 'log',
        viewWindow: { min: 1e-5, max: 1e7 },
        ticks: [0, 0.001, 0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6],
      },
      legend: { position: 'right' },
      tooltip: { isHtml: true, trigger: 'selection' },
      series: [
        { lineWidth: 1, color: 'black', pointsVisible: false },
        { pointSize: 20, color: '#FF0000', pointShape: 'star' },
        { pointSize: 3, color: '#3366CC' },
        { pointSize: 3, color: '#FF9900' },
      ],
    },
  },
  {
    id: 'input-line',
    kind: 'LineChart',
    width: 820,
    height: 300,
    table: [
      [
        'stepnum',
        'Percent',
        { type: 'number', role: 'interval' },
        { type: 'number', role: 'interval' },
      ],
    ].concat(Array.from({ length: 10 }, (_, i) => [i, 40 + 3 * i, 35 + 3 * i, 48 + 3 * i])),
    options: {
      hAxis: { title: 'Step Number' },
      vAxis: {
        title: '% of step time',
        format: "###.###'%'",
        minValue: 0,
        viewWindow: { min: 0, max: 100 },
      },
      chartArea: { left: 100, top: 10, width: '65%', height: '90%' },
      width: 820,
      height: 300,
      legend: 'none',
      lineWidth: 2,
      intervals: { style: 'boxes', color: 'red', lineWidth: 4 },
    },
  },
  {
    id: 'host-columns',
    kind: 'ColumnChart',
    width: 800,
    height: 300,
    table: [
      [
        '',
        'Reading data from files on demand [ms]',
        'Preprocessing [ms]',
        'Enqueuing [ms]',
        'Others [ms]',
      ],
      ['', 12.5, 50, 25, 12.5],
    ],
    options: {
      bar: { groupWidth: '45%' },
      chartArea: { left: 40, width: '50%', height: '90%' },
      width: 800,
      height: 300,
      colors: ['red', 'blue', 'orange', 'green'],
      backgroundColor: { fill: 'transparent' },
      isStacked: 'percent',
    },
  },
  {
    id: 'latency',
    kind: 'ColumnChart',
    width: 700,
    height: 300,
    table: [
      ['Percentile', 'Host', 'Device', 'Communication', { type: 'string', role: 'annotation' }],
      ['50%', 1.5, 4, 0.5, '6.0'],
      ['90%', 2, 6, 1, '9.0'],
      ['99%', 3, 8, 1.5, '12.5'],
      ['99.9%', 4, 11, 3, '18.0'],
    ],
    options: {
      title: 'Inference Session Latency at Percentile',
      titleTextStyle: { bold: true },
      hAxis: { title: 'Percentile', showTextEvery: 1 },
      vAxis: { title: 'Session Latency Breakdown', format: '###.####ms', minValue: 0 },
      legend: { position: 'right', maxLines: 3 },
      bar: { groupWidth: '35%' },
      chartArea: { left: 100, width: '65%' },
      colors: ['orange', 'blue', 'red'],
      height: 300,
      isStacked: true,
      annotations: { alwaysOutside: true, textStyle: { bold: true, color: 'black' } },
    },
  },
  {
    id: 'columns',
    kind: 'ColumnChart',
    width: 520,
    height: 300,
    table: [
      ['Category', 'GFLOP/s', 'Peak'],
      ['convolution', 100, 200],
      ['fusion', 50, 200],
      ['copy', 25, 200],
      ['rng', -25, 200],
    ],
    options: { title: 'Groups', vAxis: { title: 'GFLOP/s' } },
  },
  {
    id: 'utilization',
    kind: 'BarChart',
    width: 800,
    height: 360,
    table: [['name', '% Active', { type: 'string', role: 'annotation' }]].concat(
      [
        'Scalar Unit',
        'Vector ALUs',
        'Vector Loads',
        'MXU',
        'HBM Read Bandwidth and more words',
        'ICI',
      ].map((name, i) => [name, 0.15 * (i + 1), (15 * (i + 1)).toFixed(2) + '%'])
    ),
    options: {
      backgroundColor: 'transparent',
      width: 800,
      height: 360,
      chartArea: { left: '25%', width: '65%', height: 300 },
      legend: { position: 'none' },
      hAxis: { format: 'percent', minValue: 0, maxValue: 1 },
      tooltip: { isHtml: true },
    },
  },
  {
    id: 'pod',
    kind: 'BarChart',
    width: 500,
    height: 300,
    table: [
      ['core', 'High flops compute', 'Low flops compute', 'Host infeed', 'All reduce'],
      ['0', 30, 10, 5, 5],
      ['1', 28, 12, 6, 4],
      ['2', 31, 9, 5, 5],
      ['3', 25, 15, 8, 2],
    ],
    options: {
      backgroundColor: 'transparent',
      chartArea: { left: 50, right: 20, top: 50, bottom: 20 },
      focusTarget: 'category',
      isStacked: true,
      legend: { position: 'top', maxLines: 3, textStyle: { fontSize: 12 } },
      hAxis: { textStyle: { fontSize: 12 } },
      vAxis: { textStyle: { fontSize: 12 } },
      orientation: 'horizontal',
      tooltip: { trigger: 'none' },
      width: 500,
    },
  },
  {
    id: 'max-heap',
    kind: 'ColumnChart',
    width: 700,
    height: 100,
    table: [
      ['', 'fusion.1', 'copy.2', 'dot.3', 'conv.4'],
      ['', 40, 30, 20, 10],
    ],
    options: {
      bar: { groupWidth: '100%' },
      colors: ['#e91e63', '#3f51b5', '#009688', '#ffc107'],
      chartArea: { left: 0, right: 0, width: '100%', height: '100%' },
      isStacked: 'percent',
      legend: { position: 'none' },
      orientation: 'vertical',
      tooltip: { showColorCode: true },
      hAxis: { baselineColor: 'transparent' },
      vAxis: { baselineColor: 'transparent' },
    },
  },
  {
    id: 'combo',
    kind: 'ComboChart',
    width: 600,
    height: 280,
    table: [
      ['Month', 'A', 'B', 'Mean'],
      ['2024/05', 165, 938, 551],
      ['2024/06', 135, 1120, 627],
      ['2024/07', 157, 1167, 662],
      ['2024/08', 139, 1110, 624],
    ],
    options: {
      seriesType: 'bars',
      series: { 2: { type: 'line', pointSize: 6 } },
      vAxis: { title: 'Cups' },
      legend: { position: 'bottom' },
    },
  },
  {
    id: 'stepped',
    kind: 'SteppedAreaChart',
    width: 520,
    height: 260,
    table: [
      ['Year', 'Reads', 'Writes'],
      ['2019', 8, 3],
      ['2020', 6, 5],
      ['2021', 9, 4],
      ['2022', 7, 6],
    ],
    options: { isStacked: true },
  },
  {
    id: 'negative-line',
    kind: 'LineChart',
    width: 520,
    height: 260,
    table: [['x', 'difference', 'drift']].concat(
      Array.from({ length: 30 }, (_, i) => [i, i === 12 ? null : Math.sin(i / 4) * 40, -20 + i])
    ),
    options: {
      title: 'Gaps and negative values',
      pointSize: 4,
      hAxis: { title: 'TPU step number' },
      vAxis: { title: 'difference' },
    },
  },
  {
    id: 'pie',
    kind: 'PieChart',
    width: 400,
    height: 200,
    table: ops,
    options: {
      backgroundColor: 'transparent',
      width: 400,
      height: 200,
      chartArea: { left: 0, width: '100%', height: '80%' },
      legend: { textStyle: { fontSize: 10 } },
      sliceVisibilityThreshold: 0.01,
    },
  },
  {
    id: 'pie-title',
    kind: 'PieChart',
    width: 400,
    height: 400,
    table: ops,
    options: {
      width: 400,
      height: 400,
      chartArea: { width: '70%', height: '70%' },
      title: 'Percentage of self time per HLO op category',
      legend: { textStyle: { fontSize: 10 } },
    },
  },
  {
    id: 'donut',
    kind: 'PieChart',
    width: 320,
    height: 220,
    table: [
      ['k', 'v'],
      ['Read', 3],
      ['Write', 1],
    ],
    options: { pieHole: 0.5, legend: 'bottom' },
  },
  {
    id: 'org',
    kind: 'OrgChart',
    width: 900,
    height: 260,
    table: [
      ['Name', 'Parent', 'Tip'],
      ['Root', '', 'the root'],
      ['Map', 'Root', ''],
      ['Batch', 'Root', ''],
      ['TFRecord', 'Map', ''],
      ['Shuffle', 'Map', ''],
      ['Range', 'Batch', ''],
    ],
    options: { allowHtml: true },
  },
  {
    id: 'empty',
    kind: 'LineChart',
    width: 400,
    height: 200,
    table: [
      [
        { type: 'number', label: 'x' },
        { type: 'number', label: 'y' },
      ],
    ],
    options: {},
  },
  {
    id: 'kernels',
    kind: 'Table',
    width: 900,
    height: 480,
    table: kernels,
    options: {
      allowHtml: true,
      alternatingRowStyle: false,
      page: 'enable',
      pageSize: 10,
      width: '100%',
      cssClassNames: {
        headerCell: 'google-chart-table-header-cell',
        tableCell: 'google-chart-table-table-cell',
      },
    },
  },
  {
    id: 'scrolled',
    kind: 'Table',
    width: 700,
    height: 260,
    table: kernels,
    options: { showRowNumber: true, width: '100%', height: '240px' },
  },
];
