/* SPDX-License-Identifier: Apache-2.0
 *
 * Short names of kernels out of mangled ones (Itanium C++ ABI 5.1), and globs over them. Not a
 * demangler: template arguments and parameter types are stepped over, never printed, so that
 * nothing is allocated and the agent can use it too. A part of a name that is not understood ends
 * the short name there: what was found up to that point is right and is kept.
 */
#include <string.h>
#include "sbt/cmd.h"
#include "sbt/kernel-name.h"

#define DEPTH_MAX 64 /* nesting of types and template arguments; deeper names are cut short */

struct demangle {
	const char *p; /* next character */
	char *dst;
	size_t n, len;	  /* room in dst, used */
	size_t last, end; /* where the last component begins and ends, for constructors */
	unsigned depth;
	unsigned silent; /* > 0: what is parsed is not printed */
};

static bool name(struct demangle *d);
static bool encoding(struct demangle *d);
static bool skip_type(struct demangle *d);
static bool skip_template_args(struct demangle *d);
static bool skip_expression(struct demangle *d);

static void put(struct demangle *d, const char *s, size_t n)
{
	if (d->silent || d->n - d->len <= 1)
		return;
	if (n > d->n - d->len - 1)
		n = d->n - d->len - 1;
	memcpy(d->dst + d->len, s, n);
	d->len += n;
}

/* Begins a component: "::" between two. */
static void component(struct demangle *d, const char *s, size_t n)
{
	if (d->silent)
		return;
	if (d->len)
		put(d, "::", 2);
	d->last = d->len;
	put(d, s, n);
	d->end = d->len;
}

static bool eat(struct demangle *d, const char *s)
{
	size_t n = strlen(s);

	if (strncmp(d->p, s, n) != 0)
		return false;
	d->p += n;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* <number>: false when there is none or it is absurd. */
static bool number(struct demangle *d, size_t *ret)
{
	size_t v = 0;

	if (!is_digit(*d->p))
		return false;
	for (; is_digit(*d->p); d->p++) {
		v = v * 10 + (size_t)(*d->p - '0');
		if (v > 1000000)
			return false;
	}
	*ret = v;
	return true;
}

/* <source-name>, an anonymous namespace made readable (GCC's and nvcc's spelling) */
static bool source_name(struct demangle *d)
{
	static const char anon[] = "(anonymous namespace)";
	const char *s;
	size_t n;

	if (!number(d, &n) || strnlen(d->p, n) < n)
		return false;
	s = d->p;
	d->p += n;
	if (n >= 11 && strncmp(s, "_GLOBAL__N_", 11) == 0)
		component(d, anon, sizeof anon - 1);
	else
		component(d, s, n);
	return true;
}

/* S_, S0_, ...: false unless d is at one. The name that it refers to is not kept. */
static bool skip_seq_id(struct demangle *d)
{
	const char *p = d->p + 1;

	while (is_digit(*p) || (*p >= 'A' && *p <= 'Z'))
		p++;
	if (*d->p != 'S' || *p != '_')
		return false;
	d->p = p + 1;
	return true;
}

/* <substitution> that abbreviates a name in std, 5.1.10. St is not here: a name must follow it. */
static bool std_name(struct demangle *d)
{
	static const char table[][2][20] = {{"Sa", "std::allocator"}, {"Sb", "std::basic_string"},
		{"Ss", "std::string"}, {"Si", "std::istream"}, {"So", "std::ostream"},
		{"Sd", "std::iostream"}};

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (eat(d, table[i][0])) {
			component(d, table[i][1], strlen(table[i][1]));
			if (!d->silent)
				d->last +=
					5; /* a constructor is called as what comes after std:: */
			return true;
		}
	return false;
}

/* A <source-name> that the component goes on with. */
static bool rest_of_name(struct demangle *d)
{
	size_t n;

	if (!number(d, &n) || strnlen(d->p, n) < n)
		return false;
	put(d, d->p, n);
	d->p += n;
	d->end = d->len;
	return true;
}

/* <operator-name>, 5.1.3 */
static bool operator_name(struct demangle *d)
{
	static const char table[][2][12] = {{"nw", " new"}, {"na", " new[]"}, {"dl", " delete"},
		{"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"}, {"ng", "-"}, {"ad", "&"},
		{"de", "*"}, {"co", "~"}, {"pl", "+"}, {"mi", "-"}, {"ml", "*"}, {"dv", "/"},
		{"rm", "%"}, {"an", "&"}, {"or", "|"}, {"eo", "^"}, {"aS", "="}, {"pL", "+="},
		{"mI", "-="}, {"mL", "*="}, {"dV", "/="}, {"rM", "%="}, {"aN", "&="}, {"oR", "|="},
		{"eO", "^="}, {"ls", "<<"}, {"rs", ">>"}, {"lS", "<<="}, {"rS", ">>="},
		{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"gt", ">"}, {"le", "<="}, {"ge", ">="},
		{"ss", "<=>"}, {"nt", "!"}, {"aa", "&&"}, {"oo", "||"}, {"pp", "++"}, {"mm", "--"},
		{"cm", ","}, {"pm", "->*"}, {"pt", "->"}, {"cl", "()"}, {"ix", "[]"}, {"qu", "?"}};

	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (eat(d, table[i][0])) {
			component(d, "operator", 8);
			put(d, table[i][1], strlen(table[i][1]));
			return true;
		}
	if (eat(d, "cv")) { /* a conversion: the type is not printed */
		component(d, "operator", 8);
		return skip_type(d);
	}
	if (eat(d, "li")) {
		component(d, "operator\"\" ", 11);
		return rest_of_name(d);
	}
	return false;
}

/* <ctor-dtor-name>: the last component again */
static bool constructor(struct demangle *d)
{
	char c = d->p[0], which = c ? d->p[1] : 0;
	char copy[128];
	size_t n = d->end - d->last;

	if (!((c == 'C' && which >= '1' && which <= '5') ||
		    (c == 'D' && which >= '0' && which <= '5')))
		return false;
	d->p += 2;
	if (n > sizeof copy)
		n = sizeof copy;
	memcpy(copy, d->dst + d->last, d->silent ? 0 : n);
	if (c == 'C') {
		component(d, copy, n);
	} else {
		component(d, "~", 1);
		put(d, copy, n);
	}
	return true;
}

/* <unnamed-type-name>, <closure-type-name>, 5.1.8 */
static bool unnamed(struct demangle *d)
{
	size_t n;

	if (eat(d, "Ut")) {
		component(d, "{unnamed}", 9);
	} else if (eat(d, "Ul")) {
		component(d, "{lambda}", 8);
		while (*d->p && *d->p != 'E')
			if (!skip_type(d))
				return false;
		if (!eat(d, "E"))
			return false;
	} else {
		return false;
	}
	(void)number(d, &n);
	return eat(d, "_");
}

/* <unqualified-name> with its ABI tags */
static bool unqualified(struct demangle *d)
{
	(void)eat(d, "L"); /* internal linkage */
	if (is_digit(*d->p)) {
		if (!source_name(d))
			return false;
	} else if (!unnamed(d) && !constructor(d) && !operator_name(d)) {
		return false;
	}
	while (eat(d, "B")) {
		bool ok;

		d->silent++;
		ok = source_name(d);
		d->silent--;
		if (!ok)
			return false;
	}
	return true;
}

/* <nested-name>, after its N */
static bool nested(struct demangle *d)
{
	while (*d->p && strchr("rVK", *d->p))
		d->p++;
	if (*d->p == 'R' || *d->p == 'O')
		d->p++;
	while (*d->p && !eat(d, "E")) {
		if (*d->p == 'I') {
			if (!skip_template_args(d))
				return false;
		} else if (eat(d, "St")) {
			component(d, "std", 3);
		} else if (*d->p == 'S') {
			if (!std_name(d) && !skip_seq_id(d))
				return false;
		} else if (*d->p == 'T' || (d->p[0] == 'D' && (d->p[1] == 't' || d->p[1] == 'T'))) {
			if (!skip_type(d))
				return false;
		} else if (*d->p == 'M') {
			d->p++; /* data member prefix of a lambda in an initialiser */
		} else if (!unqualified(d)) {
			return false;
		}
	}
	return d->p[-1] == 'E';
}

/* <local-name>, after its Z: Z <encoding> E <name>, Z <encoding> E s, Z <encoding> E d [n] _ <name>
 */
static bool local(struct demangle *d)
{
	size_t n;

	if (!encoding(d) || !eat(d, "E"))
		return false;
	if (eat(d, "s")) {
		component(d, "{string}", 8);
		if (eat(d, "_"))
			(void)(number(d, &n) && eat(d, "_"));
		return true;
	}
	if (eat(d, "d")) {
		(void)number(d, &n);
		if (!eat(d, "_"))
			return false;
	}
	if (!name(d))
		return false;
	if (eat(d, "__")) /* discriminator */
		return number(d, &n) && eat(d, "_");
	if (d->p[0] == '_' && is_digit(d->p[1]))
		d->p += 2;
	return true;
}

static bool name_inner(struct demangle *d)
{
	if (eat(d, "N"))
		return nested(d);
	if (eat(d, "Z"))
		return local(d);
	if (eat(d, "St")) {
		component(d, "std", 3);
		if (!unqualified(d))
			return false;
	} else if (*d->p == 'S') {
		if (!std_name(d) && !skip_seq_id(d))
			return false;
	} else if (!unqualified(d)) {
		return false;
	}
	return *d->p != 'I' || skip_template_args(d);
}

static bool name(struct demangle *d)
{
	bool ok;

	if (d->depth >= DEPTH_MAX)
		return false;
	d->depth++;
	ok = name_inner(d);
	d->depth--;
	return ok;
}

static bool skip_name(struct demangle *d)
{
	bool ok;

	d->silent++;
	ok = name(d);
	d->silent--;
	return ok;
}

/* <encoding>: a name, printed; its parameter types up to an E or the end, not. */
static bool encoding(struct demangle *d)
{
	if (!name(d))
		return false;
	while (*d->p && *d->p != 'E' && *d->p != '.')
		if (!skip_type(d))
			return false;
	return true;
}

/* --- what is stepped over --- */

static bool skip_until_e(struct demangle *d, bool (*one)(struct demangle *))
{
	while (*d->p && *d->p != 'E')
		if (!one(d))
			return false;
	return eat(d, "E");
}

/* Types that begin with D, 5.1.5 */
static bool skip_d_type(struct demangle *d)
{
	size_t n;
	char c = d->p[1];

	d->p += c ? 2 : 1;
	switch (c) {
	case 'p': /* pack expansion */
		return skip_type(d);
	case 't':
	case 'T':
		return skip_expression(d) && eat(d, "E");
	case 'v': /* vector */
		if (!number(d, &n) && !skip_expression(d))
			return false;
		return eat(d, "_") && skip_type(d);
	case 'F': /* _FloatN */
		return number(d, &n) && (eat(d, "_") || eat(d, "b") || eat(d, "x"));
	case 'B':
	case 'U': /* _BitInt */
		return (number(d, &n) || skip_expression(d)) && eat(d, "_");
	case 'o': /* noexcept function */
		return skip_type(d);
	case 'O':
		return skip_expression(d) && eat(d, "E") && skip_type(d);
	case 'w':
		return skip_until_e(d, skip_type) && skip_type(d);
	default: /* Dd De Df Dh Di Ds Du Da Dc Dn */
		return c && strchr("defhisuacn", c);
	}
}

static bool skip_type_inner(struct demangle *d)
{
	size_t n;
	char c = *d->p;

	if (is_digit(c) || c == 'N' || c == 'Z')
		return skip_name(d);
	switch (c) {
	case 0:
		return false;
	case 'P':
	case 'R':
	case 'O':
	case 'K':
	case 'V':
	case 'r':
	case 'C':
	case 'G': /* <qualified>, 5.1.5.3 */
		d->p++;
		return skip_type(d);
	case 'U': /* vendor qualifier, or a closure */
		if (d->p[1] == 'l' || d->p[1] == 't')
			return skip_name(d);
		d->p++;
		d->silent++;
		if (!source_name(d)) {
			d->silent--;
			return false;
		}
		d->silent--;
		if (*d->p == 'I' && !skip_template_args(d))
			return false;
		return skip_type(d);
	case 'A': /* array */
		d->p++;
		if (!number(d, &n) && *d->p != '_' && !skip_expression(d))
			return false;
		return eat(d, "_") && skip_type(d);
	case 'M': /* pointer to member */
		d->p++;
		return skip_type(d) && skip_type(d);
	case 'F': /* function */
		d->p++;
		(void)eat(d, "Y");
		while (*d->p && *d->p != 'E') {
			if ((*d->p == 'R' || *d->p == 'O') && d->p[1] == 'E') {
				d->p++;
				break;
			}
			if (!skip_type(d))
				return false;
		}
		return eat(d, "E");
	case 'T': /* template parameter, or elaborated type */
		if (d->p[1] == 's' || d->p[1] == 'u' || d->p[1] == 'e') {
			d->p += 2;
			return skip_name(d);
		}
		d->p++;
		(void)number(d, &n);
		if (!eat(d, "_"))
			return false;
		return *d->p != 'I' || skip_template_args(d);
	case 'S':
		if (d->p[1] == 't')
			return skip_name(d);
		d->silent++;
		if (!std_name(d) && !skip_seq_id(d)) {
			d->silent--;
			return false;
		}
		d->silent--;
		return *d->p != 'I' || skip_template_args(d);
	case 'D':
		return skip_d_type(d);
	case 'I': /* a pack among the types of a closure */
	case 'J':
		return skip_template_args(d);
	case 'u': /* vendor type */
		d->p++;
		d->silent++;
		n = source_name(d);
		d->silent--;
		return n && (*d->p != 'I' || skip_template_args(d));
	default: /* builtin */
		d->p++;
		return strchr("vwbcahstijlmxynofdegz", c) != NULL;
	}
}

static bool skip_type(struct demangle *d)
{
	bool ok;

	if (d->depth >= DEPTH_MAX)
		return false;
	d->depth++;
	ok = skip_type_inner(d);
	d->depth--;
	return ok;
}

/* <expr-primary>, after its L: L <type> <value> E, L _Z <encoding> E */
static bool skip_literal(struct demangle *d)
{
	bool ok;

	if (eat(d, "_Z") || eat(d, "Z")) {
		d->silent++;
		ok = encoding(d);
		d->silent--;
		return ok && eat(d, "E");
	}
	if (!skip_type(d))
		return false;
	while (*d->p && *d->p != 'E')
		d->p++;
	return eat(d, "E");
}

/* <template-arg>, 5.1.6 */
static bool skip_template_arg(struct demangle *d)
{
	switch (*d->p) {
	case 'L':
		d->p++;
		return skip_literal(d);
	case 'X':
		d->p++;
		return skip_expression(d) && eat(d, "E");
	case 'J':
	case 'I':
		return skip_template_args(d);
	default:
		return skip_type(d);
	}
}

/* I ... E or J ... E */
static bool skip_template_args(struct demangle *d)
{
	bool ok;

	if (d->depth >= DEPTH_MAX)
		return false;
	d->depth++;
	d->p++;
	ok = skip_until_e(d, skip_template_arg);
	d->depth--;
	return ok;
}

/* <expression>, the forms that occur in kernels' names: literals, parameters, sizeof, calls, casts,
 * operators. */
static bool skip_expression_inner(struct demangle *d)
{
	/* operators by number of operands */
	static const char unary[] = "ps ng ad de co nt pp mm nx te az sz ";
	static const char binary[] =
		"pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss aa oo cm "
		"pm ix dt pt ds ";
	char op[4] = {d->p[0], d->p[0] ? d->p[1] : 0, ' ', 0};
	size_t n;

	if (eat(d, "L"))
		return skip_literal(d);
	if (*d->p == 'T')
		return skip_type(d);
	if (eat(d, "fp") || eat(d, "fL")) {
		while (*d->p && *d->p != '_')
			d->p++;
		return eat(d, "_");
	}
	if (eat(d, "st") || eat(d, "at") || eat(d, "ti"))
		return skip_type(d);
	if (eat(d, "sZ"))
		return skip_expression(d);
	if (eat(d, "sp"))
		return skip_expression(d);
	if (eat(d, "cl") || eat(d, "il"))
		return skip_until_e(d, skip_expression);
	if (eat(d, "tl"))
		return skip_type(d) && skip_until_e(d, skip_expression);
	if (eat(d, "cv")) {
		if (!skip_type(d))
			return false;
		return eat(d, "_") ? skip_until_e(d, skip_expression) : skip_expression(d);
	}
	if (eat(d, "sc") || eat(d, "dc") || eat(d, "cc") ||
		eat(d, "rc")) /* static_cast<type>(...) */
		return skip_type(d) && skip_expression(d);
	if (eat(d, "qu"))
		return skip_expression(d) && skip_expression(d) && skip_expression(d);
	if (eat(d, "sr")) {
		if (!skip_type(d))
			return false;
		return skip_name(d);
	}
	if (op[1] && strstr(unary, op)) {
		d->p += 2;
		(void)eat(d, "_");
		return skip_expression(d);
	}
	if (op[1] && strstr(binary, op)) {
		d->p += 2;
		return skip_expression(d) && skip_expression(d);
	}
	(void)(eat(d, "on"));
	n = is_digit(*d->p);
	return n && skip_name(d);
}

static bool skip_expression(struct demangle *d)
{
	bool ok;

	if (d->depth >= DEPTH_MAX)
		return false;
	d->depth++;
	ok = skip_expression_inner(d);
	d->depth--;
	return ok;
}

/* The name goes to screens, in lists of one line each: a control character would break out of its
 * line. */
static void make_one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

void sbt_kernel_short_name(char *dst, size_t n, const char *mangled)
{
	struct demangle d = {.dst = dst, .n = n};

	if (!n)
		return;
	if (strncmp(mangled, "_Z", 2) == 0) {
		d.p = mangled + 2;
		(void)name(&d);
	}
	if (!d.len) { /* not mangled, or not understood at all */
		d.p = mangled;
		put(&d, mangled, strlen(mangled));
	}
	dst[d.len] = 0;
	make_one_line(dst);
}

/* --- globs --- */

/* [set] at glob; *ret_next is behind it. A set that is never closed is a plain '['. */
static bool match_set(const char *glob, char c, const char **ret_next)
{
	const char *p = glob + 1;
	bool negated = *p == '!' || *p == '^', found = false;
	const char *first = p += negated;

	for (; *p && (*p != ']' || p == first); p++) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			found |= (unsigned char)p[0] <= (unsigned char)c &&
				 (unsigned char)c <= (unsigned char)p[2];
			p += 2;
		} else {
			found |= *p == c;
		}
	}
	if (!*p) {
		*ret_next = glob + 1;
		return c == '[';
	}
	*ret_next = p + 1;
	return found != negated;
}

/* Goes back only to the last star: time is at most length times length. */
static bool match(const char *glob, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (*s) {
		const char *next = glob + 1;
		bool ok;

		if (*glob == '*') {
			star = ++glob;
			retry = s;
			continue;
		}
		if (*glob == '[')
			ok = match_set(glob, *s, &next);
		else
			ok = *glob && (*glob == '?' || *glob == *s);
		if (ok) {
			glob = next;
			s++;
		} else if (star) {
			glob = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

static bool one_glob(const char *glob, const char *mangled, const char *short_name)
{
	const char *last;

	if (mangled && match(glob, mangled))
		return true;
	if (!short_name)
		return false;
	if (match(glob, short_name))
		return true;
	last = short_name;
	for (const char *p = short_name; (p = strstr(p, "::")) != NULL;)
		last = p += 2;
	return last != short_name && match(glob, last);
}

bool sbt_kernel_glob(const char *glob, const char *mangled, const char *short_name)
{
	char one[256];

	while (strchr(glob, '|')) {
		const size_t n = strcspn(glob, "|");

		if (n < sizeof(one)) {
			memcpy(one, glob, n);
			one[n] = 0;
			if (one_glob(one, mangled, short_name))
				return true;
		}
		glob += n + 1;
	}
	return one_glob(glob, mangled, short_name);
}

bool sbt_mark_glob(const char *glob, const struct sbt_cmd *c)
{
	enum { POP = 2 };
	const struct sbt_blob *b = &c->u.mark.text;
	char text[256];
	size_t n;

	if (c->kind != SBT_MARK || c->u.mark.mark_kind == POP)
		return false;
	n = b->len < sizeof(text) ? b->len : sizeof(text) - 1;
	if (n)
		memcpy(text, b->p, n);
	text[n] = 0;
	return match(glob, text);
}
