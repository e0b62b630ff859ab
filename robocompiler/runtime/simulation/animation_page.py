"""The page of an animation: canvas, a few controls, and the script that draws."""

from __future__ import annotations

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Motion</title>
<style>
body { font-family: sans-serif; margin: 12px; color: #222; }
canvas { border: 1px solid #bbb; width: 100%; max-width: 900px; touch-action: none; }
input[type=range] { width: 60%; }
</style>
</head>
<body>
<p><b id="name"></b> <button id="play">pause</button> <input id="time" type="range" min="0" value="0">
<span id="clock"></span></p>
<canvas id="view" width="900" height="560"></canvas>
<p>Drag to turn, wheel to zoom.  Dots are origins of bodies, lines join bodies along joints.</p>
<script>
"use strict";
const data = @DATA@;
const view = document.getElementById("view"), pen = view.getContext("2d");
const slider = document.getElementById("time"), clock = document.getElementById("clock");
const button = document.getElementById("play");
document.getElementById("name").textContent = data.name;
slider.max = data.t.length - 1;
let low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9];
for (const row of data.points) for (let i = 0; i < row.length; ++i) {
  low[i % 3] = Math.min(low[i % 3], row[i]);
  high[i % 3] = Math.max(high[i % 3], row[i]);
}
const centre = low.map((x, k) => (x + high[k]) / 2);
const size = Math.max(1e-6, Math.hypot(...low.map((x, k) => high[k] - x)));
let turn = -0.9, tilt = 0.35, zoom = 0.9 * view.height / size, playing = true, at = 0, before = 0;
function place(row, k) {
  const x = row[3 * k] - centre[0], y = row[3 * k + 1] - centre[1], z = row[3 * k + 2] - centre[2];
  const a = Math.cos(turn) * x - Math.sin(turn) * y, b = Math.sin(turn) * x + Math.cos(turn) * y;
  const c = Math.cos(tilt) * z - Math.sin(tilt) * b;
  return [view.width / 2 + zoom * a, view.height / 2 - zoom * c];
}
function draw() {
  const frame = Math.round(at), row = data.points[frame];
  pen.clearRect(0, 0, view.width, view.height);
  pen.lineWidth = 2.5;
  pen.strokeStyle = "#4a6fa5";
  for (const [a, b] of data.edges) {
    pen.beginPath();
    pen.moveTo(...place(row, a));
    pen.lineTo(...place(row, b));
    pen.stroke();
  }
  data.names.forEach((name, k) => {
    pen.fillStyle = name === "world" ? "#c0392b" : "#222222";
    pen.beginPath();
    pen.arc(...place(row, k), name === "world" ? 5 : 3, 0, 7);
    pen.fill();
  });
  slider.value = frame;
  clock.textContent = data.t[frame].toFixed(3) + " s";
}
function tick(now) {
  const last = data.t.length - 1;
  if (playing && last > 0) {
    const rate = last / Math.max(1e-9, data.t[last] - data.t[0]);
    at += Math.min(0.1, (now - before) / 1000) * rate;
    if (at > last) at = 0;
  }
  before = now;
  draw();
  requestAnimationFrame(tick);
}
button.onclick = () => { playing = !playing; button.textContent = playing ? "pause" : "play"; };
slider.oninput = () => { at = Number(slider.value); playing = false; button.textContent = "play"; };
view.onpointermove = (event) => {
  if (event.buttons) { turn += event.movementX / 120; tilt += event.movementY / 120; }
};
view.onwheel = (event) => { zoom *= Math.exp(-event.deltaY / 800); event.preventDefault(); };
requestAnimationFrame(tick);
</script>
</body>
</html>
"""
