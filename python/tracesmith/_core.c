/* SPDX-License-Identifier: Apache-2.0
 *
 * The C half of the Python module tracesmith: traces, cursors, columns and states of libtracesmith
 * as Python objects, on the limited API of 3.11. __init__.py makes of them what users see.
 *
 * Threads: libtracesmith wants one thread at a time on a trace, so a trace has a lock. Long reads
 * release the GIL and keep the lock. A cursor that Python frees while the lock is held (garbage is
 * collected anywhere) waits in a list until the lock is let go.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tracesmith/mark.h>
#include <tracesmith/tracesmith.h>

struct cursor;
struct trace {
	PyObject_HEAD ts_trace *t; /* NULL: closed */
	PyThread_type_lock lock;
	struct cursor *cursors; /* that are open */
	ts_cursor **more_dead;	/* to be closed, see cursor_dealloc() */
	size_t nmore;
};
struct cursor {
	PyObject_HEAD struct trace *trace; /* a reference */
	ts_cursor *c;			   /* NULL: its trace was closed */
	struct cursor *next, **at;
};
struct column {
	PyObject_HEAD uint64_t *v; /* from malloc */
	Py_ssize_t n;
	Py_ssize_t stride;
	char format[2];
};
struct state {
	PyObject_HEAD ts_state *s;
};
struct session {
	PyObject_HEAD ts_session *s; /* NULL: closed */
	PyThread_type_lock lock;
};

static PyObject *Error;
static PyTypeObject *trace_type, *cursor_type, *column_type, *state_type, *session_type;

static const char *const result_names[] = {"ok", "end", "usage", "system", "not found", "bad trace",
	"incomplete", "permission", "unsupported", "limit", "interrupted"};

/* Raises ts.Error with this thread's last sentence. */
static PyObject *raise(int r)
{
	PyObject *e, *cure, *code;
	const char *s = ts_error(), *c = ts_error_cure();

	e = PyObject_CallFunction(Error, "N", PyUnicode_DecodeUTF8(s, strlen(s), "replace"));
	cure = PyUnicode_DecodeUTF8(c, strlen(c), "replace");
	code = PyUnicode_FromString(
		(size_t)r < sizeof result_names / sizeof *result_names ? result_names[r] : "");
	if (e && cure && code && !PyObject_SetAttrString(e, "cure", cure) &&
		!PyObject_SetAttrString(e, "code", code))
		PyErr_SetObject(Error, e);
	Py_XDECREF(e);
	Py_XDECREF(cure);
	Py_XDECREF(code);
	return NULL;
}

static PyObject *text(const char *s)
{
	if (!s)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
}

/* --- the lock --- */

static void bury(struct trace *t)
{
	for (size_t i = 0; i < t->nmore; i++)
		ts_cursor_close(t->more_dead[i]);
	t->nmore = 0;
}

static void lock(struct trace *t)
{
	if (PyThread_acquire_lock(t->lock, NOWAIT_LOCK))
		return;
	Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(t->lock, WAIT_LOCK);
	Py_END_ALLOW_THREADS
}

static void unlock(struct trace *t)
{
	bury(t);
	PyThread_release_lock(t->lock);
}

/* Takes the lock of an open trace; false with an exception. */
static bool enter(struct trace *t)
{
	lock(t);
	if (t->t)
		return true;
	unlock(t);
	PyErr_SetString(PyExc_ValueError, "the trace is closed");
	return false;
}

static bool enter_cursor(struct cursor *c)
{
	lock(c->trace);
	if (c->c)
		return true;
	unlock(c->trace);
	PyErr_SetString(PyExc_ValueError, "the trace is closed");
	return false;
}

/* --- columns --- */

static void column_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	free(((struct column *)self)->v);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static Py_ssize_t column_len(PyObject *self)
{
	return ((struct column *)self)->n;
}

static PyObject *column_item(PyObject *self, Py_ssize_t i)
{
	const struct column *c = (struct column *)self;

	if (i < 0 || i >= c->n) {
		PyErr_SetString(PyExc_IndexError, "row out of range");
		return NULL;
	}
	return *c->format == 'q' ? PyLong_FromLongLong((long long)c->v[i])
				 : PyLong_FromUnsignedLongLong(c->v[i]);
}

static int column_buffer(PyObject *self, Py_buffer *view, int flags)
{
	struct column *c = (struct column *)self;

	if (flags & PyBUF_WRITABLE) {
		PyErr_SetString(PyExc_BufferError, "columns are read-only");
		view->obj = NULL;
		return -1;
	}
	*view = (Py_buffer){.buf = c->n ? (void *)c->v : (void *)"",
		.len = c->n * 8,
		.itemsize = 8,
		.readonly = 1,
		.ndim = 1,
		.format = flags & PyBUF_FORMAT ? c->format : NULL,
		.shape = flags & PyBUF_ND ? &c->n : NULL,
		.strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &c->stride : NULL};
	Py_INCREF(self);
	view->obj = self;
	return 0;
}

/* numpy and pandas ask for this; without arguments or with theirs (dtype, copy), which
 * numpy.asarray takes. */
static PyObject *column_array(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *numpy = PyImport_ImportModule("numpy"), *view, *dtype = Py_None, *copy = NULL, *a;
	static char *names[] = {"dtype", "copy", NULL};

	if (!numpy || !PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &dtype, &copy)) {
		Py_XDECREF(numpy);
		return NULL;
	}
	view = PyMemoryView_FromObject(self);
	a = view ? PyObject_CallMethod(numpy, "asarray", "OO", view, dtype) : NULL;
	Py_XDECREF(view);
	Py_DECREF(numpy);
	return a;
}

static PyMethodDef column_methods[] = {
	{"__array__", (PyCFunction)(void (*)(void))column_array, METH_VARARGS | METH_KEYWORDS,
		"The rows as a numpy array that shares this column's memory."},
	{NULL, NULL, 0, NULL}};
static PyType_Slot column_slots[] = {{Py_tp_dealloc, column_dealloc}, {Py_sq_length, column_len},
	{Py_tp_iter, PySeqIter_New}, {Py_sq_item, column_item}, {Py_bf_getbuffer, column_buffer},
	{Py_tp_methods, column_methods},
	{Py_tp_doc, "A column of 64-bit numbers: a read-only buffer of one dimension."}, {0, NULL}};
static PyType_Spec column_spec = {.name = "tracesmith._core.Column",
	.basicsize = sizeof(struct column),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = column_slots};

static struct column *column_new(uint64_t *v, size_t n, char format)
{
	struct column *c = (struct column *)((allocfunc)PyType_GetSlot(column_type, Py_tp_alloc))(
		column_type, 0);

	if (!c) {
		free(v);
		return NULL;
	}
	c->v = v;
	c->n = (Py_ssize_t)n;
	c->stride = 8;
	c->format[0] = format;
	c->format[1] = 0;
	return c;
}

/* --- cursors --- */

static void cursor_unlink(struct cursor *c)
{
	if (c->at) {
		*c->at = c->next;
		if (c->next)
			c->next->at = c->at;
	}
	c->at = NULL;
}

static void cursor_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct cursor *c = (struct cursor *)self;
	struct trace *t = c->trace;

	cursor_unlink(c);
	if (c->c && PyThread_acquire_lock(t->lock, NOWAIT_LOCK)) {
		ts_cursor_close(c->c);
		unlock(t);
	} else if (c->c) {
		ts_cursor **more = realloc(t->more_dead, (t->nmore + 1) * sizeof *more);

		if (more) { /* else it is lost */
			t->more_dead = more;
			more[t->nmore++] = c->c;
		}
	}
	Py_XDECREF((PyObject *)t);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyObject *value_of(const struct ts_value *v)
{
	switch (v->type) {
	case TS_SIGNED:
		return PyLong_FromLongLong((long long)v->number);
	case TS_TEXT:
		return PyUnicode_DecodeUTF8(v->data ? v->data : "", (Py_ssize_t)v->size, "replace");
	case TS_BYTES:
		return PyBytes_FromStringAndSize(v->data ? v->data : "", (Py_ssize_t)v->size);
	case TS_NAME:
		if (v->data)
			return text(v->data);
		/* fall through */
	default:
		return PyLong_FromUnsignedLongLong(v->number);
	}
}

static int put_field(PyObject *dict, ts_cursor *c, const char *name)
{
	struct ts_value v;
	PyObject *o;
	int r;

	if (ts_field(c, name, &v))
		return 0;
	o = value_of(&v);
	r = o ? PyDict_SetItemString(dict, name, o) : -1;
	Py_XDECREF(o);
	return r;
}

static int put_fields(PyObject *dict, ts_cursor *c, const char *kind)
{
	const char *name;

	for (unsigned i = 0; (name = ts_field_name(kind, i)); i++) {
		if (strcmp(name, "kind") != 0 && put_field(dict, c, name))
			return -1;
	}
	return 0;
}

/* (seq, kind, {field: value}) */
static PyObject *command_of(ts_cursor *c)
{
	PyObject *dict = PyDict_New();
	const char *kind = ts_kind(c);

	if (!dict || put_fields(dict, c, "") || put_fields(dict, c, kind) ||
		put_field(dict, c, "kernel_name")) {
		Py_XDECREF(dict);
		return NULL;
	}
	return Py_BuildValue("KsN", (unsigned long long)ts_seq(c), kind, dict);
}

static PyObject *cursor_next(PyObject *self)
{
	struct cursor *c = (struct cursor *)self;
	PyObject *o = NULL;
	int r;

	if (!enter_cursor(c))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_next(c->c);
	Py_END_ALLOW_THREADS if (!r) o = command_of(c->c);
	else if (r != TS_END) raise(r);
	unlock(c->trace);
	return o;
}

static PyObject *cursor_seek(PyObject *self, PyObject *arg)
{
	struct cursor *c = (struct cursor *)self;
	const unsigned long long seq = PyLong_AsUnsignedLongLong(arg);
	int r;

	if (PyErr_Occurred() || !enter_cursor(c))
		return NULL;
	r = ts_cursor_seek(c->c, seq);
	if (r)
		raise(r);
	unlock(c->trace);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *frame_of(const struct ts_frame *f)
{
	return Py_BuildValue("NNNKIOO", text(f->function), text(f->file), text(f->module),
		(unsigned long long)f->offset, f->line, f->inlined ? Py_True : Py_False,
		f->python ? Py_True : Py_False);
}

/* Appends a new reference, or gives up the list. */
static PyObject *append(PyObject *list, PyObject *o)
{
	if (list && (!o || PyList_Append(list, o)))
		Py_CLEAR(list);
	Py_XDECREF(o);
	return list;
}

static PyObject *cursor_stack(PyObject *self, PyObject *none)
{
	struct cursor *c = (struct cursor *)self;
	const struct ts_frame *frames;
	PyObject *list = NULL;
	size_t n = 0;
	int r;

	if (!enter_cursor(c))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_stack(c->c, &frames, &n);
	Py_END_ALLOW_THREADS if (r) raise(r);
	else list = PyList_New(0);
	for (size_t i = 0; list && i < n; i++)
		list = append(list, frame_of(&frames[i]));
	unlock(c->trace);
	return list;
}

static PyObject *cursor_args(PyObject *self, PyObject *none)
{
	struct cursor *c = (struct cursor *)self;
	struct ts_arg a = {.size = sizeof a};
	PyObject *list;
	int r = TS_OK;

	if (!enter_cursor(c))
		return NULL;
	list = PyList_New(0);
	for (unsigned i = 0; list && r == TS_OK; i++) {
		Py_BEGIN_ALLOW_THREADS r = ts_argument(c->c, i, &a);
		Py_END_ALLOW_THREADS if (r == TS_OK) list = append(list,
			Py_BuildValue("NNiN", text(a.name), text(a.type), (int)a.is,
				a.data ? PyBytes_FromStringAndSize(a.data, (Py_ssize_t)a.bytes)
				       : Py_NewRef(Py_None)));
	}
	if (list && r != TS_END) {
		Py_CLEAR(list);
		raise(r);
	}
	unlock(c->trace);
	return list;
}

static PyMethodDef cursor_methods[] = {{"seek", cursor_seek, METH_O, NULL},
	{"stack", cursor_stack, METH_NOARGS, NULL}, {"args", cursor_args, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL}};
static PyType_Slot cursor_slots[] = {{Py_tp_dealloc, cursor_dealloc},
	{Py_tp_iter, PyObject_SelfIter}, {Py_tp_iternext, cursor_next},
	{Py_tp_methods, cursor_methods}, {0, NULL}};
static PyType_Spec cursor_spec = {.name = "tracesmith._core.Cursor",
	.basicsize = sizeof(struct cursor),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = cursor_slots};

/* --- states --- */

static void state_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	ts_state_free(((struct state *)self)->s);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyObject *state_json(PyObject *self, PyObject *arg)
{
	PyObject *bytes = PyUnicode_AsUTF8String(arg), *ret = NULL;
	const char *json;
	int r;

	if (!bytes)
		return NULL;
	r = ts_state_json(((struct state *)self)->s, PyBytes_AsString(bytes), &json);
	ret = r ? raise(r) : text(json);
	Py_DECREF(bytes);
	return ret;
}

static PyMethodDef state_methods[] = {{"json", state_json, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot state_slots[] = {
	{Py_tp_dealloc, state_dealloc}, {Py_tp_methods, state_methods}, {0, NULL}};
static PyType_Spec state_spec = {.name = "tracesmith._core.State",
	.basicsize = sizeof(struct state),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = state_slots};

/* --- sessions --- */

static void session_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct session *s = (struct session *)self;

	ts_session_close(s->s);
	if (s->lock)
		PyThread_free_lock(s->lock);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static struct session *session_new(void)
{
	struct session *s = (struct session *)((allocfunc)PyType_GetSlot(
		session_type, Py_tp_alloc))(session_type, 0);

	if (!s)
		return NULL;
	s->s = NULL;
	s->lock = PyThread_allocate_lock();
	if (!s->lock) {
		Py_DECREF((PyObject *)s);
		PyErr_NoMemory();
		return NULL;
	}
	return s;
}

static bool session_enter(struct session *s)
{
	if (!PyThread_acquire_lock(s->lock, NOWAIT_LOCK)) {
		Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(s->lock, WAIT_LOCK);
		Py_END_ALLOW_THREADS
	}
	if (s->s)
		return true;
	PyThread_release_lock(s->lock);
	PyErr_SetString(PyExc_ValueError, "the session is closed");
	return false;
}

/* The answer's text; frees it. */
static PyObject *answer_text(int r, ts_answer *a)
{
	PyObject *o = r ? raise(r) : text(ts_answer_text(a));

	if (!r)
		ts_answer_free(a);
	return o;
}

static PyObject *session_ask(PyObject *self, PyObject *args)
{
	struct session *s = (struct session *)self;
	ts_answer *a = NULL;
	const char *line;
	PyObject *o;
	int r;

	if (!PyArg_ParseTuple(args, "s", &line) || !session_enter(s))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_ask(&a, s->s, line);
	Py_END_ALLOW_THREADS o = answer_text(r, a);
	PyThread_release_lock(s->lock);
	return o;
}

/* Runs "run", "continue" or "reverse-continue": (the stop as JSON, what was said). */
static PyObject *session_go(PyObject *self, PyObject *args)
{
	static int (*const moves[])(ts_session *, enum ts_stop *) = {
		ts_run, ts_continue, ts_reverse_continue};
	struct session *s = (struct session *)self;
	ts_answer *a = NULL;
	PyObject *o;
	unsigned how;
	int r;

	if (!PyArg_ParseTuple(args, "I", &how) || !session_enter(s))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = how < 3 ? moves[how](s->s, NULL) : TS_USAGE;
	if (!r)
		r = ts_stopped(&a, s->s);
	Py_END_ALLOW_THREADS o = answer_text(r, a);
	if (o)
		o = Py_BuildValue("NN", o, text(ts_stop_text(s->s)));
	PyThread_release_lock(s->lock);
	return o;
}

static PyObject *session_read(PyObject *self, PyObject *args)
{
	struct session *s = (struct session *)self;
	unsigned long long addr, size;
	PyObject *bytes;
	char *to;
	int r;

	if (!PyArg_ParseTuple(args, "KK", &addr, &size))
		return NULL;
	if (size > PY_SSIZE_T_MAX)
		return PyErr_NoMemory();
	bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
	if (!bytes || !session_enter(s)) {
		Py_XDECREF(bytes);
		return NULL;
	}
	to = PyByteArray_AsString(bytes);
	Py_BEGIN_ALLOW_THREADS r = ts_memory_read(s->s, addr, to, size);
	Py_END_ALLOW_THREADS if (r)
	{
		Py_CLEAR(bytes);
		raise(r);
	}
	PyThread_release_lock(s->lock);
	return bytes;
}

static PyObject *session_write(PyObject *self, PyObject *args)
{
	struct session *s = (struct session *)self;
	unsigned long long addr;
	Py_buffer b;
	int r;

	if (!PyArg_ParseTuple(args, "Ky*", &addr, &b))
		return NULL;
	if (!session_enter(s)) {
		PyBuffer_Release(&b);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS r = ts_memory_write(s->s, addr, b.buf, (size_t)b.len);
	Py_END_ALLOW_THREADS if (r) raise(r);
	PyThread_release_lock(s->lock);
	PyBuffer_Release(&b);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

/* Without the lock: another thread is at work, and keeps the session open. */
static PyObject *session_interrupt(PyObject *self, PyObject *none)
{
	ts_session_interrupt(((struct session *)self)->s);
	Py_RETURN_NONE;
}

static PyObject *session_shut(PyObject *self, PyObject *none)
{
	struct session *s = (struct session *)self;
	ts_session *was;

	if (!session_enter(s)) {
		PyErr_Clear();
		Py_RETURN_NONE;
	}
	was = s->s;
	s->s = NULL;
	Py_BEGIN_ALLOW_THREADS ts_session_close(was);
	Py_END_ALLOW_THREADS PyThread_release_lock(s->lock);
	Py_RETURN_NONE;
}

static PyMethodDef session_methods[] = {{"ask", session_ask, METH_VARARGS, NULL},
	{"go", session_go, METH_VARARGS, NULL}, {"read", session_read, METH_VARARGS, NULL},
	{"write", session_write, METH_VARARGS, NULL},
	{"interrupt", session_interrupt, METH_NOARGS, NULL},
	{"close", session_shut, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot session_slots[] = {
	{Py_tp_dealloc, session_dealloc}, {Py_tp_methods, session_methods}, {0, NULL}};
static PyType_Spec session_spec = {.name = "tracesmith._core.Session",
	.basicsize = sizeof(struct session),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = session_slots};

/* A list of str as an array for C, a NULL behind the last; heap. *ret_keep owns the texts. */
static const char **words_of(PyObject *list, PyObject **ret_keep)
{
	const Py_ssize_t n = PyList_Size(list);
	const char **words = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *words);
	PyObject *keep = words ? PyList_New(0) : NULL;

	for (Py_ssize_t i = 0; keep && i < n; i++) {
		PyObject *bytes = NULL;

		if (PyUnicode_FSConverter(PyList_GetItem(list, i), &bytes))
			words[i] = PyBytes_AsString(bytes);
		keep = append(keep, bytes);
	}
	if (!keep) {
		free(words);
		if (!PyErr_Occurred())
			PyErr_NoMemory();
		return NULL;
	}
	*ret_keep = keep;
	return words;
}

/* launch(words, on, cwd, record) */
static PyObject *module_launch(PyObject *self, PyObject *args)
{
	struct ts_session_options o = TS_SESSION_DEFAULTS;
	struct session *s = NULL;
	PyObject *list, *keep;
	const char **words;
	int r;

	if (!PyArg_ParseTuple(args, "Ozzz", &list, &o.on, &o.cwd, &o.record) ||
		!(words = words_of(list, &keep)))
		return NULL;
	s = session_new();
	if (s) {
		Py_BEGIN_ALLOW_THREADS r = ts_launch(&s->s, words, &o);
		Py_END_ALLOW_THREADS if (r)
		{
			raise(r);
			Py_DECREF((PyObject *)s);
			s = NULL;
		}
	}
	free(words);
	Py_DECREF(keep);
	return (PyObject *)s;
}

/* diff(a, b, words) */
static PyObject *module_diff(PyObject *self, PyObject *args)
{
	PyObject *list, *keep, *o;
	const char *a, *b, **words;
	ts_answer *answer = NULL;
	int r;

	if (!PyArg_ParseTuple(args, "ssO", &a, &b, &list) || !(words = words_of(list, &keep)))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_diff(&answer, a, b, words);
	Py_END_ALLOW_THREADS o = answer_text(r, answer);
	free(words);
	Py_DECREF(keep);
	return o;
}

/* --- traces --- */

static void trace_shut(struct trace *t)
{
	while (t->cursors) {
		struct cursor *c = t->cursors;

		cursor_unlink(c);
		ts_cursor_close(c->c);
		c->c = NULL;
	}
	bury(t);
	ts_close(t->t);
	t->t = NULL;
}

static void trace_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct trace *t = (struct trace *)self;

	trace_shut(t); /* its cursors hold references: there are none */
	free(t->more_dead);
	if (t->lock)
		PyThread_free_lock(t->lock);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static PyObject *trace_close(PyObject *self, PyObject *none)
{
	struct trace *t = (struct trace *)self;

	lock(t);
	trace_shut(t);
	unlock(t);
	Py_RETURN_NONE;
}

static PyObject *trace_text(PyObject *self, PyObject *args)
{
	struct trace *t = (struct trace *)self;
	const char *name;
	PyObject *o;

	if (!PyArg_ParseTuple(args, "s", &name) || !enter(t))
		return NULL;
	o = text(ts_text(t->t, name));
	unlock(t);
	return o;
}

static PyObject *trace_number(PyObject *self, PyObject *args)
{
	struct trace *t = (struct trace *)self;
	const char *name;
	uint64_t v;
	int r;

	if (!PyArg_ParseTuple(args, "s", &name) || !enter(t))
		return NULL;
	r = ts_number(t->t, name, &v);
	if (r)
		raise(r);
	unlock(t);
	return r ? NULL : PyLong_FromUnsignedLongLong(v);
}

static PyObject *trace_kernel(PyObject *self, PyObject *args)
{
	struct trace *t = (struct trace *)self;
	unsigned long long id;
	const char *name;
	PyObject *o;

	if (!PyArg_ParseTuple(args, "K", &id) || !enter(t))
		return NULL;
	Py_BEGIN_ALLOW_THREADS name = ts_kernel(t->t, id);
	Py_END_ALLOW_THREADS o = text(name);
	unlock(t);
	return o;
}

static PyObject *trace_state(PyObject *self, PyObject *arg)
{
	const unsigned long long seq = PyLong_AsUnsignedLongLong(arg);
	struct trace *t = (struct trace *)self;
	struct state *o = NULL;
	ts_state *s;
	int r;

	if (PyErr_Occurred() || !enter(t))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_state_at(&s, t->t, seq);
	Py_END_ALLOW_THREADS if (r) raise(r);
	unlock(t);
	if (r)
		return NULL;
	o = (struct state *)((allocfunc)PyType_GetSlot(state_type, Py_tp_alloc))(state_type, 0);
	if (o)
		o->s = s;
	else
		ts_state_free(s);
	return (PyObject *)o;
}

/* question(which, options): the JSON that answers it. */
static PyObject *trace_question(PyObject *self, PyObject *args)
{
	static int (*const questions[])(ts_answer **, ts_trace *, const char *) = {
		ts_races, ts_stats, ts_critical_path};
	struct trace *t = (struct trace *)self;
	ts_answer *a = NULL;
	const char *options;
	unsigned which;
	PyObject *o;
	int r;

	if (!PyArg_ParseTuple(args, "Iz", &which, &options) || !enter(t))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = which < 3 ? questions[which](&a, t->t, options) : TS_USAGE;
	Py_END_ALLOW_THREADS o = answer_text(r, a);
	unlock(t);
	return o;
}

static PyObject *trace_why(PyObject *self, PyObject *args)
{
	struct trace *t = (struct trace *)self;
	unsigned long long first, second;
	ts_answer *a = NULL;
	PyObject *o;
	int r;

	if (!PyArg_ParseTuple(args, "KK", &first, &second) || !enter(t))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_order_why(&a, t->t, first, second);
	Py_END_ALLOW_THREADS o = answer_text(r, a);
	unlock(t);
	return o;
}

/* replay(on, window, any_device, no_sandbox) */
static PyObject *trace_replay(PyObject *self, PyObject *args)
{
	struct ts_session_options o = TS_SESSION_DEFAULTS;
	struct trace *t = (struct trace *)self;
	unsigned long long window;
	struct session *s;
	int r = 0;

	if (!PyArg_ParseTuple(args, "zKpp", &o.on, &window, &o.any_device, &o.no_sandbox) ||
		!enter(t))
		return NULL;
	o.window = window;
	s = session_new();
	if (s) {
		Py_BEGIN_ALLOW_THREADS r = ts_replay(&s->s, t->t, &o);
		Py_END_ALLOW_THREADS if (r)
		{
			raise(r);
			Py_DECREF((PyObject *)s);
			s = NULL;
		}
	}
	unlock(t);
	return (PyObject *)s;
}

/* What a cursor is opened with: (seq, kind, kernel, stream, condition, last); names may be None. */
struct opening {
	unsigned long long seq, stream, last;
	const char *kind, *kernel, *condition;
};

static int open_cursor(ts_cursor **ret, struct trace *t, const struct opening *o)
{
	const struct ts_filter f = {.size = sizeof f,
		.kind = o->kind,
		.kernel = o->kernel,
		.stream = o->stream,
		.condition = o->condition,
		.last = o->last};
	int r = ts_cursor_open(ret, t->t, o->seq);

	if (!r && (r = ts_cursor_filter(*ret, &f))) {
		ts_cursor_close(*ret);
		*ret = NULL;
	}
	return r;
}

static PyObject *trace_cursor(PyObject *self, PyObject *args)
{
	struct trace *t = (struct trace *)self;
	struct opening o;
	struct cursor *c;
	ts_cursor *made;
	int r;

	if (!PyArg_ParseTuple(
		    args, "KzzKzK", &o.seq, &o.kind, &o.kernel, &o.stream, &o.condition, &o.last) ||
		!enter(t))
		return NULL;
	r = open_cursor(&made, t, &o);
	c = r ? NULL
	      : (struct cursor *)((allocfunc)PyType_GetSlot(cursor_type, Py_tp_alloc))(
			cursor_type, 0);
	if (r) {
		raise(r);
	} else if (!c) {
		ts_cursor_close(made);
	} else {
		c->trace = (struct trace *)Py_NewRef(self);
		c->c = made;
		c->next = t->cursors;
		c->at = &t->cursors;
		if (c->next)
			c->next->at = &c->next;
		t->cursors = c;
	}
	unlock(t);
	return (PyObject *)c;
}

enum { FIELDS_MAX = 256, BLOCK = 65536 };
struct reading {
	size_t nfields, rows, room;
	const char *fields[FIELDS_MAX];
	enum ts_type types[FIELDS_MAX];
	uint64_t *v[FIELDS_MAX];
	bool no_memory;
};

static void reading_free(struct reading *r)
{
	for (size_t i = 0; i < r->nfields; i++)
		free(r->v[i]);
}

static bool make_room(struct reading *q)
{
	const size_t room = q->room < (size_t)4 << 20 ? q->room * 2 + BLOCK : q->room + q->room / 2;

	for (size_t i = 0; i < q->nfields; i++) {
		uint64_t *v = realloc(q->v[i], room * sizeof *v);

		if (!v)
			return false;
		q->v[i] = v;
	}
	q->room = room;
	return true;
}

/* Without the GIL: reads all rows. */
static int read_rows(struct reading *q, ts_cursor *c)
{
	uint64_t *into[FIELDS_MAX];
	int r = TS_OK;
	size_t n;

	while (!r && q->rows == q->room) {
		if (!make_room(q)) {
			q->no_memory = true;
			return TS_LIMIT;
		}
		for (size_t i = 0; i < q->nfields; i++)
			into[i] = q->v[i] + q->rows;
		r = ts_columns(c, q->fields, q->nfields, into, q->room - q->rows, &n);
		q->rows += r ? 0 : n;
	}
	return r;
}

static const char *name_of(ts_trace *t, const struct reading *q, size_t i, uint64_t number)
{
	return q->types[i] == TS_TEXT ? ts_column_text(t, number)
				      : ts_column_name(q->fields[i], number);
}

/* The column's numbers become indices of the list that is returned, -1 for none. */
static PyObject *texts_of(ts_trace *t, struct reading *q, size_t i)
{
	uint64_t *v = q->v[i], most = 0;
	PyObject *list = PyList_New(0);
	int64_t *map;
	Py_ssize_t n = 0;

	for (size_t row = 0; row < q->rows; row++)
		most = v[row] != TS_MISSING && v[row] > most ? v[row] : most;
	if (most > 1u << 24) /* no dictionary or enumeration has so many */
		most = 1u << 24;
	map = calloc(most + 1, sizeof *map);
	if (!map)
		Py_CLEAR(list);
	for (size_t row = 0; list && row < q->rows; row++) {
		const char *s;

		if (v[row] > most) {
			v[row] = UINT64_MAX;
			continue;
		}
		if (!map[v[row]]) {
			s = name_of(t, q, i, v[row]);
			list = append(list, s ? text(s) : PyUnicode_FromFormat("%llu", v[row]));
			map[v[row]] = ++n;
		}
		v[row] = (uint64_t)(map[v[row]] - 1);
	}
	free(map);
	return list ? list : PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* [(Column, texts or None), ...] */
static PyObject *columns_made(struct trace *t, struct reading *q)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < q->nfields; i++) {
		const bool texts = q->types[i] == TS_TEXT || q->types[i] == TS_NAME;
		const char format = texts || q->types[i] == TS_SIGNED ? 'q' : 'Q';
		PyObject *of = texts ? texts_of(t->t, q, i) : Py_NewRef(Py_None), *column;
		uint64_t *v = q->v[i];

		if (!of) {
			Py_CLEAR(list);
			break;
		}
		q->v[i] = NULL;
		column = (PyObject *)column_new(v, q->rows, format);
		if (!column) {
			Py_DECREF(of);
			Py_CLEAR(list);
			break;
		}
		list = append(list, Py_BuildValue("NN", column, of));
	}
	return list;
}

static bool take_fields(struct reading *q, PyObject *names, PyObject **keep)
{
	const Py_ssize_t n = PyTuple_Size(names);

	if (n < 0 || n > FIELDS_MAX) {
		PyErr_Format(PyExc_ValueError, "at most %d columns at a time", FIELDS_MAX);
		return false;
	}
	*keep = PyList_New(0);
	for (Py_ssize_t i = 0; *keep && i < n; i++) {
		PyObject *bytes = PyUnicode_AsUTF8String(PyTuple_GetItem(names, i));
		int r;

		if (bytes)
			q->fields[i] = PyBytes_AsString(bytes);
		*keep = append(*keep, bytes);
		if (!*keep)
			return false;
		r = ts_column_type(q->fields[i], &q->types[i]);
		if (r) {
			raise(r);
			return false;
		}
	}
	q->nfields = (size_t)n;
	return *keep != NULL;
}

static PyObject *read_columns(struct trace *t, struct reading *q, const struct opening *o)
{
	PyObject *list = NULL;
	ts_cursor *c = NULL;
	int r;

	if (!enter(t))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = open_cursor(&c, t, o);
	if (!r)
		r = read_rows(q, c);
	ts_cursor_close(c);
	Py_END_ALLOW_THREADS if (q->no_memory) PyErr_NoMemory();
	else if (r) raise(r);
	else list = columns_made(t, q);
	unlock(t);
	return list;
}

static PyObject *trace_columns(PyObject *self, PyObject *args)
{
	PyObject *names, *keep = NULL, *list = NULL;
	struct reading q = {0};
	struct opening o;

	if (!PyArg_ParseTuple(args, "O!KzzKzK", &PyTuple_Type, &names, &o.seq, &o.kind, &o.kernel,
		    &o.stream, &o.condition, &o.last))
		return NULL;
	if (take_fields(&q, names, &keep))
		list = read_columns((struct trace *)self, &q, &o);
	reading_free(&q);
	Py_XDECREF(keep);
	return list;
}

static PyMethodDef trace_methods[] = {{"close", trace_close, METH_NOARGS, NULL},
	{"text", trace_text, METH_VARARGS, NULL}, {"number", trace_number, METH_VARARGS, NULL},
	{"kernel", trace_kernel, METH_VARARGS, NULL}, {"state", trace_state, METH_O, NULL},
	{"cursor", trace_cursor, METH_VARARGS, NULL},
	{"columns", trace_columns, METH_VARARGS, NULL},
	{"question", trace_question, METH_VARARGS, NULL}, {"why", trace_why, METH_VARARGS, NULL},
	{"replay", trace_replay, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot trace_slots[] = {
	{Py_tp_dealloc, trace_dealloc}, {Py_tp_methods, trace_methods}, {0, NULL}};
static PyType_Spec trace_spec = {.name = "tracesmith._core.Trace",
	.basicsize = sizeof(struct trace),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = trace_slots};

/* --- the module --- */

static PyObject *core_open(PyObject *module, PyObject *arg)
{
	PyObject *path;
	struct trace *o;
	ts_trace *t;
	int r;

	if (!PyUnicode_FSConverter(arg, &path))
		return NULL;
	Py_BEGIN_ALLOW_THREADS r = ts_open(&t, PyBytes_AsString(path));
	Py_END_ALLOW_THREADS Py_DECREF(path);
	if (r)
		return raise(r);
	o = (struct trace *)((allocfunc)PyType_GetSlot(trace_type, Py_tp_alloc))(trace_type, 0);
	if (o)
		o->lock = PyThread_allocate_lock();
	if (!o || !o->lock) {
		ts_close(t);
		Py_XDECREF((PyObject *)o);
		return PyErr_NoMemory();
	}
	o->t = t;
	return (PyObject *)o;
}

/* {kind: [(field, help), ...]}; the kind "" has what all commands have. */
static PyObject *core_fields(PyObject *module, PyObject *arg)
{
	PyObject *list = PyList_New(0), *bytes = PyUnicode_AsUTF8String(arg);
	const char *kind = bytes ? PyBytes_AsString(bytes) : NULL, *name;

	if (!kind)
		Py_CLEAR(list);
	for (unsigned i = 0; list && (name = ts_field_name(kind, i)); i++)
		list = append(list, Py_BuildValue("sz", name, ts_field_help(kind, name)));
	Py_XDECREF(bytes);
	return list;
}

static PyObject *core_kinds(PyObject *module, PyObject *none)
{
	PyObject *list = PyList_New(0);
	const char *name;

	for (unsigned i = 0; list && (name = ts_kind_name(i)); i++)
		list = append(list, text(name));
	return list;
}

/* say(ask, text): whether a tsdb that records this process has taken it. */
static PyObject *core_say(PyObject *module, PyObject *args)
{
	unsigned ask;
	const char *text;
	int taken;

	if (!PyArg_ParseTuple(args, "Iz", &ask, &text))
		return NULL;
	/* It may stop here, or wait for memory to be recorded. */
	Py_BEGIN_ALLOW_THREADS taken = tracesmith_say((enum tracesmith_ask)ask, text);
	Py_END_ALLOW_THREADS return PyBool_FromLong(taken);
}

static PyObject *core_version(PyObject *module, PyObject *none)
{
	return text(ts_version());
}

static PyMethodDef core_methods[] = {{"launch", module_launch, METH_VARARGS, NULL},
	{"diff", module_diff, METH_VARARGS, NULL}, {"open", core_open, METH_O, NULL},
	{"fields", core_fields, METH_O, NULL}, {"kinds", core_kinds, METH_NOARGS, NULL},
	{"say", core_say, METH_VARARGS, NULL}, {"version", core_version, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL}};
static struct PyModuleDef core = {
	PyModuleDef_HEAD_INIT, .m_name = "_core", .m_size = -1, .m_methods = core_methods};

static bool add_type(PyObject *m, PyType_Spec *spec, PyTypeObject **ret)
{
	*ret = (PyTypeObject *)PyType_FromSpec(spec);
	return *ret && !PyModule_AddType(m, *ret);
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
	PyObject *m = PyModule_Create(&core);

	if (!m)
		return NULL;
	Error = PyErr_NewExceptionWithDoc("tracesmith.Error",
		"What libtracesmith could not do. str() is the sentence; cure says what to do about it, "
		"or is empty; code is its kind: 'usage', 'system', 'not found', 'bad trace', "
		"'incomplete', 'permission', 'unsupported' or 'limit'.",
		NULL, NULL);
	if (!Error || PyModule_AddObjectRef(m, "Error", Error) ||
		!add_type(m, &trace_spec, &trace_type) ||
		!add_type(m, &cursor_spec, &cursor_type) ||
		!add_type(m, &column_spec, &column_type) ||
		!add_type(m, &state_spec, &state_type) ||
		!add_type(m, &session_spec, &session_type)) {
		Py_DECREF(m);
		return NULL;
	}
	return m;
}
