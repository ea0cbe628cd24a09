/* SPDX-License-Identifier: Apache-2.0
 *
 * A flame graph as one SVG file: a box for each function, as wide as its weight, callees above
 * callers, kernels on top. The script in it zooms (click) and searches (the field, or Ctrl-F); it
 * asks nothing of a network. Boxes narrower than a third of a pixel at first are left out, and the
 * graph says how many.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "base/words.h"
#include "export/core/samples.h"
#include "export/formats/formats.h"

enum { WIDTH = 1200, ROW = 17, TOP = 52, MARGIN = 10, DEPTH_MAX = 512 };

struct node {
	char *name;
	uint32_t parent, child, next; /* indices; 0: none, the root is 0 */
	uint32_t depth;
	bool gpu;
	uint64_t weight;
};
struct tree {
	struct node *v;
	uint32_t n, cap;
	uint32_t depth; /* of the deepest */
};

static uint32_t add(struct tree *t, uint32_t parent, struct buf *name, bool gpu)
{
	MAKE_ROOM(t->v, t->n, t->cap);
	t->v[t->n] = (struct node){.name = buf_steal(name),
		.parent = parent,
		.next = t->v[parent].child,
		.depth = t->v[parent].depth + 1,
		.gpu = gpu};
	t->v[parent].child = t->n;
	if (t->v[t->n].depth > t->depth)
		t->depth = t->v[t->n].depth;
	return t->n++;
}

/* The node called name below parent; takes name. */
static uint32_t descend(
	struct tree *t, uint32_t parent, struct buf *name, bool gpu, uint64_t weight)
{
	const char *s = buf_cstr(name);
	uint32_t at = t->v[parent].child;

	while (at && strcmp(t->v[at].name, s))
		at = t->v[at].next;
	if (!at)
		at = add(t, parent, name, gpu);
	buf_clear(name);
	t->v[at].weight += weight;
	return at;
}

static void put_sample(struct tree *t, struct export_job *j, const struct sample *s)
{
	const struct export_stack *st = s->stack;
	const uint64_t w = sample_weight(s, j->ask->weight);
	struct buf name = BUF_INIT;
	uint32_t at = 0;

	t->v[0].weight += w;
	if (sample_rank(&name, j, s))
		at = descend(t, at, &name, false, w);
	for (unsigned i = 0; st && i < st->n && i < DEPTH_MAX; i++) {
		sample_frame(&name, &st->frames[i]);
		at = descend(t, at, &name, false, w);
	}
	sample_leaf(&name, s);
	descend(t, at, &name, true, w);
	buf_free(&name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(
		(*(const struct node *const *)a)->name, (*(const struct node *const *)b)->name);
}

/* Sorts each node's children by name, so that equal traces give equal pictures. */
static void sort_children(struct tree *t, uint32_t of)
{
	const struct node **list = NULL;
	uint32_t n = 0, cap = 0, last = 0;

	for (uint32_t at = t->v[of].child; at; at = t->v[at].next) {
		MAKE_ROOM(list, n, cap);
		list[n++] = &t->v[at];
	}
	if (n > 1)
		qsort(list, n, sizeof *list, by_name);
	for (uint32_t i = n; i-- > 0;) {
		const uint32_t at = (uint32_t)(list[i] - t->v);

		t->v[at].next = last;
		last = at;
	}
	if (n)
		t->v[of].child = last;
	free(list);
}

/* --- the file --- */

static void xml_text(struct buf *b, const char *s)
{
	struct buf safe = BUF_INIT;

	text_safe(&safe, s, strlen(s), 0);
	for (size_t i = 0; i < safe.len; i++) {
		const char c = (char)safe.data[i];

		if (c == '<')
			buf_str(b, "&lt;");
		else if (c == '>')
			buf_str(b, "&gt;");
		else if (c == '&')
			buf_str(b, "&amp;");
		else if (c == '"')
			buf_str(b, "&quot;");
		else
			buf_byte(b, (uint8_t)c);
	}
	buf_free(&safe);
}

static void put_weight(struct buf *b, uint64_t w, enum export_weight what)
{
	char size[32];

	if (what == EXPORT_BY_GPU)
		buf_printf(b, "%.3f ms on the GPU", (double)w / 1e6);
	else if (what == EXPORT_BY_COUNT)
		buf_printf(b, "%" PRIu64 " command%s", w, w == 1 ? "" : "s");
	else
		buf_str(b, words_bytes(size, sizeof size, w));
}

/* A colour from the name, warm for the host, green for the GPU: the same in every graph. */
static void put_colour(struct buf *b, const struct node *n)
{
	unsigned h = 0;

	for (const char *c = n->name; *c; c++)
		h = h * 31 + (uint8_t)*c;
	if (n->gpu)
		buf_printf(
			b, "hsl(%u,%u%%,%u%%)", 100 + h % 50, 45 + h / 64 % 20, 62 + h / 4096 % 12);
	else
		buf_printf(
			b, "hsl(%u,%u%%,%u%%)", 12 + h % 40, 75 + h / 64 % 20, 64 + h / 4096 % 12);
}

static void put_box(
	struct export_job *j, const struct tree *t, const struct node *n, double x, double w)
{
	const uint64_t all = t->v[0].weight;
	struct buf *b = &j->line;

	buf_printf(b, "<g class=\"f\" data-x=\"%.4f\" data-w=\"%.4f\"><title>", x, w);
	xml_text(b, n->name);
	buf_str(b, ": ");
	put_weight(b, n->weight, j->ask->weight);
	buf_printf(b,
		", %.2f %%</title><rect y=\"%u\" height=\"%d\" x=\"%.2f\" width=\"%.2f\" fill=\"",
		100.0 * (double)n->weight / (double)all, TOP + (t->depth - n->depth) * ROW, ROW - 1,
		MARGIN + x * (WIDTH - 2 * MARGIN), w * (WIDTH - 2 * MARGIN));
	put_colour(b, n);
	buf_printf(b, "\"/><text y=\"%u\" x=\"%.2f\"></text></g>\n",
		TOP + (t->depth - n->depth) * ROW + 12, MARGIN + 3 + x * (WIDTH - 2 * MARGIN));
}

/* Boxes of the tree, in the order of a walk. *ret_narrow: how many were too narrow; what is above
 * them is not counted. */
static struct err *put_boxes(struct export_job *j, const struct tree *t, uint64_t *ret_narrow)
{
	const double all = (double)t->v[0].weight, least = 1.0 / 3 / WIDTH;
	double *begin =
		xcalloc(t->depth + 2, sizeof *begin); /* where the next box of a depth goes */
	struct err *e = NULL;
	uint32_t at = 0;

	while (!e) {
		const struct node *n = &t->v[at];
		const double w = (double)n->weight / all;

		if (w >= least)
			put_box(j, t, n, begin[n->depth], w);
		else
			++*ret_narrow;
		begin[n->depth + 1] = begin[n->depth];
		begin[n->depth] += w;
		e = export_flush_some(j);
		if (n->child && w >= least) {
			at = n->child;
			continue;
		}
		while (at && !t->v[at].next)
			at = t->v[at].parent;
		if (!at)
			break;
		at = t->v[at].next;
	}
	free(begin);
	return e;
}

static const char style[] =
	"<style>text{font:12px ui-monospace,monospace;fill:#111}.f{cursor:pointer}.f:hover rect{stroke:#111}"
	".dim{opacity:.35}.hit rect{fill:#d6409f}#t{font-weight:bold;font-size:15px}"
	"@media(prefers-color-scheme:dark){svg{background:#1b1b1f}#t,#d,#r{fill:#eee}}</style>\n";

static const char script[] =
	"<script><![CDATA[\n"
	"const W=1200,M=10,all=[...document.querySelectorAll('g.f')],d=document.getElementById('d'),r=document.getElementById('r');\n"
	"const box=all.map(g=>({g,x:+g.dataset.x,w:+g.dataset.w,rect:g.querySelector('rect'),text:g.querySelector('text'),"
	"title:g.querySelector('title').textContent,y:+g.querySelector('rect').getAttribute('y')}));\n"
	"function draw(x,w,y){for(const b of box){const l=Math.max(b.x,x),h=Math.min(b.x+b.w,x+w),s=(h-l)/w*(W-2*M),p=M+(l-x)/w*(W-2*M);\n"
	" b.g.style.display=s>.3?'':'none';b.rect.setAttribute('x',p);b.rect.setAttribute('width',Math.max(0,s-.5));\n"
	" b.g.classList.toggle('dim',b.y>y);const n=b.title.replace(/: [^:]*$/,''),c=Math.floor((s-6)/7.3);\n"
	" b.text.setAttribute('x',p+3);b.text.textContent=c<3?'':n.length<=c?n:n.slice(0,c-2)+'..'}}\n"
	"for(const b of box){b.g.addEventListener('click',()=>draw(b.x,b.w,b.y));b.g.addEventListener('mouseover',()=>d.textContent=b.title)}\n"
	"function find(s){let w=0,end=-1;const re=s?new RegExp(s,'i'):null;const hit=box.filter(b=>{const h=re&&re.test(b.title);b.g.classList.toggle('hit',!!h);return h});\n"
	" hit.sort((a,b)=>a.x-b.x||b.w-a.w);for(const b of hit)if(b.x+1e-9>=end){w+=b.w;end=b.x+b.w}r.textContent=s?'\"'+s+'\": '+(100*w).toFixed(2)+' %':'Search'}\n"
	"r.addEventListener('click',()=>{const s=prompt('Functions and kernels (regular expression)');if(s!==null)try{find(s)}catch(e){r.textContent=e.message}});\n"
	"addEventListener('keydown',e=>{if(e.key==='Escape'){find('');draw(0,1,1e9)}if((e.ctrlKey||e.metaKey)&&e.key==='f'){e.preventDefault();r.dispatchEvent(new Event('click'))}});\n"
	"draw(0,1,1e9);\n"
	"]]></script>\n";

static void put_head(struct export_job *j, const struct tree *t)
{
	const unsigned height = TOP + (t->depth + 1) * ROW + 24;
	struct buf *b = &j->line;

	buf_printf(b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %d %u\" width=\"100%%\">\n",
		WIDTH, height);
	buf_str(b, style);
	buf_printf(b, "<text id=\"t\" x=\"%d\" y=\"22\">", MARGIN);
	xml_text(b, j->meta->program);
	buf_str(b, ": ");
	put_weight(b, t->v[0].weight, j->ask->weight);
	buf_printf(b,
		"</text><text id=\"r\" class=\"f\" x=\"%d\" y=\"22\" text-anchor=\"end\">Search</text>\n",
		WIDTH - MARGIN);
	buf_printf(b,
		"<text id=\"d\" x=\"%d\" y=\"42\">Click a box to make it as wide as the picture, Esc for the whole.</text>\n",
		MARGIN);
}

static struct err *put_all(struct export_job *j, const struct samples *s)
{
	struct tree t = {0};
	uint64_t narrow = 0;
	struct err *e = samples_weighed(s, j);

	if (e)
		return e;
	MAKE_ROOM(t.v, t.n, t.cap);
	t.v[t.n++] = (struct node){.name = xstrdup("all")};
	for (uint32_t i = 0; i < s->n; i++)
		put_sample(&t, j, &s->v[i]);
	for (uint32_t i = 0; i < t.n; i++)
		sort_children(&t, i);
	put_head(j, &t);
	if (t.v[0].weight)
		e = put_boxes(j, &t, &narrow);
	if (narrow)
		buf_printf(&j->line,
			"<text x=\"%d\" y=\"%u\">%" PRIu64
			" functions are too narrow to be seen.</text>\n",
			MARGIN, TOP + (t.depth + 1) * ROW + 14, narrow);
	buf_str(&j->line, script);
	buf_str(&j->line, "</svg>\n");
	for (uint32_t i = 0; i < t.n; i++)
		free(t.v[i].name);
	free(t.v);
	return e;
}

struct err *export_flamegraph(struct export_job *j)
{
	return samples_put(j, put_all);
}
