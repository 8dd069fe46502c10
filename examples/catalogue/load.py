#!/usr/bin/env python3
"""Loads a made-up shop's catalogue into FAWN over HTTP: products as JSON, their pictures as SVG, and one page that shows them.

Everything is computed from the products' numbers, so that two loads store the same bytes. It needs nothing beside Python 3.9.
"""

import argparse
import base64
import html
import http.client
import json
import queue
import random
import sys
import threading
import time
import urllib.parse

KINDS = {
    "Lamp": (4900, 21900), "Vase": (1900, 8900), "Mug": (900, 2400), "Bowl": (1200, 4900),
    "Clock": (2900, 15900), "Stool": (5900, 18900), "Plant pot": (1100, 5900), "Mirror": (3900, 24900),
}
FINISHES = ["Ash", "Oak", "Walnut", "Slate", "Sand", "Moss", "Rust", "Ink", "Clay", "Chalk", "Fern", "Plum"]
NAMES = ["Ava", "Bo", "Cleo", "Dag", "Edda", "Finn", "Gro", "Hedda", "Ivo", "Juna", "Kai", "Liv", "Mio", "Nils",
         "Odd", "Pia", "Runa", "Siv", "Tove", "Ulf", "Vigo", "Wim", "Ylva", "Zoe"]


def product(number):
    """The product with this number, from 1."""
    draw = random.Random(number)
    kind = list(KINDS)[(number - 1) % len(KINDS)]
    low, high = KINDS[kind]
    return {
        "number": number,
        "name": f"{draw.choice(NAMES)} {kind.lower()} in {draw.choice(FINISHES).lower()}",
        "kind": kind,
        "price_cents": draw.randrange(low, high, 100) - 5,
        "hue": draw.randrange(360),
        "stock": draw.randrange(60),
    }


def picture(of):
    """The product's picture, as SVG."""
    draw, hue = random.Random(of["number"] * 7919), of["hue"]
    body, shade = f"hsl({hue} 45% 52%)", f"hsl({hue} 45% 38%)"
    wide, tall = draw.randrange(50, 78), draw.randrange(66, 100)
    left, top, right = 100 - wide / 2, 160 - tall, 100 + wide / 2
    shapes = {
        "Lamp": f'<path d="M{left} {top + 44} L{left + 14} {top} H{right - 14} L{right} {top + 44}Z" fill="{body}"/>'
                f'<path d="M97 {top + 44}h6V158h-6z" fill="{shade}"/><path d="M74 158h52v6H74z" fill="{shade}"/>',
        "Vase": f'<path d="M88 {top}h24q-4 {tall / 3} {wide / 2 - 12} {tall * .6}q2 {tall * .4} -{wide / 2} {tall * .4}'
                f't-{wide / 2} -{tall * .4}q{wide / 2 - 8} -{tall * .3} {wide / 2 - 12} -{tall * .6}z" fill="{body}"/>',
        "Mug": f'<path d="M{right - 4} 112q30 0 26 24t-30 14" fill="none" stroke="{shade}" stroke-width="9"/>'
               f'<path d="M{left} 96H{right}V150q0 14 -14 14H{left + 14}q-14 0 -14 -14z" fill="{body}"/>',
        "Bowl": f'<path d="M{left - 22} 108H{right + 22}q-8 50 -{wide / 2 + 22} 52t-{wide / 2 + 22} -52z" fill="{body}"/>'
                f'<path d="M80 158h40v7H80z" fill="{shade}"/>',
        "Clock": f'<circle cx="100" cy="108" r="{wide * .75}" fill="{body}"/><circle cx="100" cy="108" r="{wide * .62}" fill="#fff"/>'
                 f'<path d="M100 108V{108 - wide * .48}M100 108l{wide * .3} {wide * .14}" stroke="{shade}" stroke-width="5"/>',
        "Stool": f'<path d="M{left - 6} {top + 12}h{wide + 12}v11h-{wide + 12}z" fill="{body}"/>'
                 f'<path d="M{left + 4} {top + 23}l-8 {140 - top}h8l10 -{140 - top}zM{right - 4} {top + 23}l8 {140 - top}h-8l-10 -{140 - top}z" fill="{shade}"/>',
        "Plant pot": f'<path d="M100 112q-40 -14 -32 -58q36 12 32 58q-4 -46 34 -60q8 44 -34 60" fill="hsl(130 30% 45%)"/>'
                     f'<path d="M{left} 108h{wide}l-9 56h-{wide - 18}z" fill="{body}"/>',
        "Mirror": f'<ellipse cx="100" cy="104" rx="{wide * .7}" ry="{tall * .68}" fill="{shade}"/>'
                  f'<ellipse cx="100" cy="104" rx="{wide * .58}" ry="{tall * .57}" fill="hsl({hue} 25% 88%)"/>',
    }
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200" role="img"><title>{html.escape(of["name"])}</title>'
            f'<path d="M0 0h200v200H0z" fill="hsl({hue} 30% 93%)"/><ellipse cx="100" cy="167" rx="62" ry="7" fill="hsl({hue} 20% 82%)"/>'
            f'{shapes[of["kind"]]}</svg>')


STYLE = """
:root { color-scheme: light dark; --ground: #fbfaf8; --card: #fff; --text: #22201d; --soft: #6b665f; --line: #e3dfd8; --mark: #1f5f4a }
@media (prefers-color-scheme: dark) {
  :root { --ground: #171614; --card: #211f1c; --text: #ece8e1; --soft: #a39d93; --line: #37342f; --mark: #8fd0b5 }
  img { filter: brightness(.86) }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.45 system-ui, sans-serif }
header, main, footer { max-width: 1320px; margin: auto; padding: 0 clamp(14px, 3vw, 32px) }
header { padding-top: 28px }
h1 { margin: 0; font-size: clamp(26px, 4vw, 40px); letter-spacing: -.02em }
p { margin: 4px 0; color: var(--soft) }
nav { position: sticky; top: 0; background: var(--ground); border-bottom: 1px solid var(--line) }
nav ul { display: flex; gap: 4px; overflow-x: auto; list-style: none; max-width: 1320px; margin: auto; padding: 8px clamp(8px, 2.5vw, 26px) }
nav a { display: block; padding: 9px 12px; white-space: nowrap; color: var(--text); text-decoration: none; border-radius: 8px }
nav a:hover { background: var(--line) }
h2 { margin: 34px 0 12px; font-size: 21px; scroll-margin-top: 70px }
.grid { display: grid; gap: clamp(10px, 1.4vw, 18px); grid-template-columns: repeat(auto-fill, minmax(158px, 1fr)); list-style: none; margin: 0; padding: 0 }
.grid li { background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; content-visibility: auto; contain-intrinsic-size: auto 270px }
.grid a { display: block; height: 100%; color: inherit; text-decoration: none }
.grid a:focus-visible, nav a:focus-visible { outline: 3px solid var(--mark); outline-offset: -3px }
img { display: block; width: 100%; height: auto; aspect-ratio: 1; background: var(--line) }
.grid b, .grid span { display: block; padding: 0 12px }
.grid b { padding-top: 10px; font-weight: 600; font-size: 15px; line-height: 1.3 }
.grid span { padding-bottom: 12px; color: var(--soft); font-size: 14px }
.grid span em { display: block; font-style: normal; color: var(--mark); font-variant-numeric: tabular-nums; font-weight: 600; font-size: 15px }
footer { padding-top: 30px; padding-bottom: 40px; font-size: 14px }
"""


def page(products):
    """The page that shows all products. It has no script: FAWN serves what clients stored in a sandbox."""
    sections, links = [], []
    for kind in KINDS:
        of_kind = [of for of in products if of["kind"] == kind]
        anchor = kind.lower().replace(" ", "-")
        links.append(f'<li><a href="#{anchor}">{kind}s</a></li>')
        cards = "\n".join(
            f'<li><a href="p{of["number"]:04}.json"><img src="p{of["number"]:04}.svg" alt="" width="200" height="200" loading="lazy">'
            f'<b>{html.escape(of["name"])}</b><span><em>€ {of["price_cents"] / 100:.2f}</em>'
            f'{str(of["stock"]) + " in stock" if of["stock"] else "sold out"}</span></a></li>'
            for of in of_kind)
        sections.append(f'<h2 id="{anchor}">{kind}s</h2>\n<ul class="grid">\n{cards}\n</ul>')
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Deer &amp; Fawn: the catalogue</title>\n'
            f'<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>Deer &amp; Fawn</h1>\n<p>{len(products):,} things for a home, and '
            f'none of them exists. This page and each picture are values in a key-value store.</p></header>\n'
            f'<nav aria-label="Kinds"><ul>{"".join(links)}</ul></nav>\n<main>\n{"".join(sections)}\n</main>\n'
            f'<footer><p>Served by FAWN over HTTP.</p></footer>\n</body>\n</html>\n')


def records(count):
    """Keys, media types and values of a catalogue."""
    products = [product(number) for number in range(1, count + 1)]
    for of in products:
        yield f'shop/p{of["number"]:04}.json', "application/json", json.dumps(of).encode()
        yield f'shop/p{of["number"]:04}.svg', "image/svg+xml", picture(of).encode()
    # Last, so that whoever sees the page finds its pictures.
    yield "shop/index.html", "text/html; charset=utf-8", page(products).encode()


def put_all(url, fields, work, failures):
    """Puts records until there are none, over one connection."""
    secure = url.scheme == "https"
    connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(url.hostname, url.port, timeout=60)
    while not failures:
        try:
            key, media_type, value = work.get_nowait()
        except queue.Empty:
            break
        path = "/v1/keys/" + urllib.parse.quote(key)
        try:
            connection.request("PUT", path, value, {**fields, "Content-Type": media_type})
            reply = connection.getresponse()
            text = reply.read().decode(errors="replace").strip()
            if reply.status not in (201, 204):
                failures.append(f"{key}: {reply.status} {text}")
        except OSError as error:
            failures.append(f"{key}: {error}")
    connection.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--to", default="http://127.0.0.1:8080", help="URL of the server [default: %(default)s]")
    arguments.add_argument("--products", type=int, default=1000, help="how many, 1 to 9999 [default: %(default)s]")
    arguments.add_argument("--user", help="USER:PASSWORD, where the server has an --auth-file")
    arguments.add_argument("--connections", type=int, default=8, help="[default: %(default)s]")
    chosen = arguments.parse_args()
    url = urllib.parse.urlsplit(chosen.to)
    if url.scheme not in ("http", "https") or not url.hostname:
        arguments.error("--to takes a URL, as in http://127.0.0.1:8080")
    if not 1 <= chosen.products <= 9999 or not 1 <= chosen.connections <= 64:
        arguments.error("give 1 to 9999 --products and 1 to 64 --connections")
    fields = {}
    if chosen.user:
        fields["Authorization"] = "Basic " + base64.b64encode(chosen.user.encode()).decode()
    *parts, last = records(chosen.products)
    began, total = time.monotonic(), len(last[2]) + sum(len(value) for _, _, value in parts)
    failures = []
    for batch in (parts, [last]):
        work = queue.Queue()
        for record in batch:
            work.put(record)
        threads = [threading.Thread(target=put_all, args=(url, fields, work, failures)) for _ in range(chosen.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        sys.exit(f"load.py: {failures[0]}")
    took = time.monotonic() - began
    print(f"put {len(parts) + 1:,} values ({total / 1e6:.1f} MB) in {took:.1f} s")
    print(f"{chosen.to}/v1/keys/shop/index.html")


if __name__ == "__main__":
    main()
