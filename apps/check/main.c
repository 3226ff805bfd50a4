/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The acceptance test of a card; see docs/hardware.md. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/triplane/vfio/vfio.h"
#include "check.h"

static bool
wrote(const char *what, const char *path, int rc)
{
	if (rc != 0)
		fprintf(stderr, "triplane-check: error: %s '%s': %s\n", what, path, strerror(-rc));
	return rc == 0;
}

static int
report(struct ck_report *r)
{
	bool ok = true;
	const bool passed = ck_report_count(r);

	ck_text_sum(stdout, r);
	if (r->o->json != NULL)
		ok &= wrote("--json", r->o->json, ck_write(r->o->json, ck_json, r));
	if (r->o->html != NULL)
		ok &= wrote("--html", r->o->html, ck_write(r->o->html, ck_page, r));
	if (r->o->quirks != NULL)
		ok &= wrote("--write-quirks", r->o->quirks, ck_write(r->o->quirks, ck_quirks, r));
	if (r->o->bundle != NULL)
		ok &= wrote("--bundle", r->o->bundle, ck_bundle_end(r));
	return passed && ok && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	static struct ck_options o;
	static struct ck_report r;
	char err[CK_TEXT];
	time_t t = time(NULL);
	struct tm tm;
	int rc;

	if (ck_options(&o, argc, argv, err) != 0) {
		fprintf(stderr, "triplane-check: error: %s\n", err);
		return CK_EXIT_USAGE;
	}
	if (o.help) {
		ck_usage();
		return EXIT_SUCCESS;
	}
	if (o.version) {
		printf("triplane-check %s\n", TRIPLANE_VERSION);
		return EXIT_SUCCESS;
	}
	if (o.plan) {
		ck_text_plan(stdout, &o);
		return EXIT_SUCCESS;
	}
	if (o.sysroot != NULL)
		root_set(o.sysroot);
	gmtime_r(&t, &tm);
	strftime(r.made, sizeof(r.made), "%Y-%m-%d %H:%M:%S UTC", &tm);
	r.o = &o;
	rc = o.bundle != NULL ? ck_bundle_begin(&o) : 0;
	if (!wrote("--bundle", o.bundle, rc))
		return CK_EXIT_USAGE;
	printf("triplane-check %s of %s, %s\n", TRIPLANE_VERSION, o.dev.name, r.made);
	ck_run(&r);
	rc = report(&r);
	ck_report_free(&r);
	return rc;
}
