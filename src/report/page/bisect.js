// SPDX-License-Identifier: Apache-2.0
//
// Places in sorted arrays. Pure.

/** The first index whose value is not below v. */
export function lowerBound(a, v, from = 0, to = a.length) {
	while (from < to) {
		const mid = (from + to) >>> 1;
		if (a[mid] < v)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/** The first index whose value is above v. */
export function upperBound(a, v, from = 0, to = a.length) {
	while (from < to) {
		const mid = (from + to) >>> 1;
		if (a[mid] <= v)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}
