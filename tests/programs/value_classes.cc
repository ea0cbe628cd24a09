/* SPDX-License-Identifier: Apache-2.0
 *
 * What C++ adds to value_types.c: references, classes with bases, namespaces, scoped enumerations,
 * templates, members of `this`.
 */
#include <cstdint>

namespace geo
{
enum class shape : std::uint8_t { circle = 1, square = 7 };
enum kind { flat, round = 4 };
struct point {
	int x = 1, y = 2;
};
int origin = 11;
namespace
{
int hidden = 12;
}
namespace deep
{
static double ratio = 0.75;
struct box {
	point a, b;
	shape s = shape::square;
};
}
template <typename T, int N> struct row {
	T values[N];
	static int made;
};
template <typename T, int N> int row<T, N>::made = 3;

class base
{
      public:
	int id = 5;

      protected:
	char tag = 'b';
};
struct other {
	long more = -1;
};
class derived : public base, public other
{
      public:
	point where;
	point &here;
	const int &number;
	static int count;
	struct inner {
		bool on = true;
	} in;
	derived(point &p, const int &n) : here(p), number(n)
	{
	}
	__attribute__((noinline)) void check(int n);
};
int derived::count = 99;

__attribute__((noinline)) void derived::check(int n)
{
	point p, *pp = &p, &rp = p;
	const int &rn = n;
	int &&rr = 8;
	shape s = shape::circle, odd = static_cast<shape>(3);
	kind k = round;
	deep::box bx;
	row<float, 3> r = {{1, 2, 3}};
	row<point, 2> rows;
	derived *self = this;
	const derived &cself = *this;
	char16_t c16 = u'x';
	char32_t c32 = U'y';
	wchar_t wc = L'z';
	bool yes = true;
	int point::*member = nullptr;
	auto nothing = nullptr;
	auto twice = [n](int by) { return n * by; };
	int total = twice(2);
	volatile int *bad = nullptr;

	origin += hidden + static_cast<int>(deep::ratio) + row<float, 3>::made + count;
	*bad = p.x + pp->x + rp.x + rn + rr + static_cast<int>(s) + static_cast<int>(odd) + k + bx.a.x + static_cast<int>(r.values[0]) +
	       rows.values[0].x + self->id + cself.id + c16 + static_cast<int>(c32) + static_cast<int>(wc) + yes + (member != nullptr) +
	       (nothing == nullptr) + total;
}
}

int main()
{
	geo::point p;
	int n = 77;
	geo::derived d(p, n);

	d.check(4);
	return 0;
}
