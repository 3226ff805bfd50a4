/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Explains a dump of a port; see docs/health.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "explain.h"

#define EXIT_USAGE 2
#define SIZE_MAX_MIB 256u

static const char usage[] =
	"usage: triplane-inspect [--json] FOLDER\n"
	"       triplane-inspect --kinds | --help | --version\n"
	"\n"
	"Explains a dump of a port that triplane or its driver wrote: what differs between the driver and the card, "
	"and what\n"
	"waits for what.\n"
	"\n"
	"  FOLDER     a folder dmn-..., with dump.json in it, or that file\n"
	"  --json     prints the findings as JSON\n"
	"  --kinds    prints the kinds of findings and what they mean\n"
	"  --help     prints this\n"
	"  --version  prints the version\n"
	"\n"
	"The exit status is 0 when the dump could be read, whatever was found, 1 when not, 2 for wrong arguments.\n";

struct printer {
	bool json;
	unsigned int n;
};

static int
wrong(const char *what, const char *path, const char *why)
{
	fprintf(stderr, "error: %s%s%s: %s\n", what, path[0] != '\0' ? " " : "", path, why);
	return EXIT_FAILURE;
}

static void
quoted(const char *s)
{
	putchar('"');
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void
on_finding(void *arg, const char *kind, const char *object, const char *text)
{
	struct printer *p = arg;

	if (p->json) {
		printf("%s{\"kind\": ", p->n != 0 ? ", " : "");
		quoted(kind);
		printf(", \"object\": ");
		quoted(object);
		printf(", \"text\": ");
		quoted(text);
		putchar('}');
	} else {
		printf("  %s: %s: %s\n", kind, object, text);
	}
	p->n++;
}

static void
print_kind(const char *kind, const char *text)
{
	printf("%-20s %s\n", kind, text);
}

static int
read_all(FILE *f, char **out)
{
	struct stat st;
	size_t n;

	if (fstat(fileno(f), &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EISDIR;
	if (st.st_size > (off_t)SIZE_MAX_MIB << 20)
		return -EFBIG;
	*out = malloc((size_t)st.st_size + 1);
	if (*out == NULL)
		return -ENOMEM;
	n = fread(*out, 1, (size_t)st.st_size, f);
	(*out)[n] = '\0';
	if (ferror(f) == 0)
		return 0;
	free(*out);
	return -EIO;
}

static struct json *
load(const char *path)
{
	char name[4096], err[256], *text = NULL;
	struct json *j;
	struct stat st;
	FILE *f;
	int rc;

	if ((size_t)snprintf(name, sizeof(name), "%s%s", path,
			     stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/dump.json" : "") >= sizeof(name)) {
		wrong("dump", path, strerror(ENAMETOOLONG));
		return NULL;
	}
	f = fopen(name, "r");
	if (f == NULL) {
		wrong("dump", name, strerror(errno));
		return NULL;
	}
	rc = read_all(f, &text);
	fclose(f);
	if (rc != 0) {
		wrong("dump", name, strerror(-rc));
		return NULL;
	}
	j = json_parse(text, err, sizeof(err));
	free(text);
	if (j != NULL && (j->type != JSON_OBJECT || json_num(j, "format", 0) == 0)) {
		snprintf(err, sizeof(err), "not a dump of a port");
		json_free(j);
		j = NULL;
	}
	if (j == NULL)
		wrong("dump", name, err);
	return j;
}

static void
print_text(const struct json *d)
{
	struct printer p = {.json = false};

	printf("port %" PRIu64 " (%s, card port %" PRIu64 ", firmware %s) at %s\n", json_num(d, "port", 0),
	       json_str(d, "device", "?"), json_num(d, "card_port", 0), json_str(d, "firmware", "?"),
	       json_str(d, "time", "?"));
	printf("written by %s: %s\n", json_str(d, "source", "?"), json_str(d, "reason", "?"));
	printf("findings:\n");
	if (explain(d, on_finding, &p) == 0)
		printf("  none: nothing waits, and the driver and the card agree\n");
}

static void
print_json(const struct json *d)
{
	struct printer p = {.json = true};

	printf("{\"port\": %" PRIu64 ", \"device\": ", json_num(d, "port", 0));
	quoted(json_str(d, "device", "?"));
	printf(", \"time\": ");
	quoted(json_str(d, "time", "?"));
	printf(", \"source\": ");
	quoted(json_str(d, "source", "?"));
	printf(", \"reason\": ");
	quoted(json_str(d, "reason", "?"));
	printf(", \"findings\": [");
	(void)explain(d, on_finding, &p);
	printf("]}\n");
}

int
main(int argc, char **argv)
{
	const char *path = NULL;
	bool as_json = false;
	struct json *d;
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		}
		if (strcmp(argv[i], "--kinds") == 0) {
			kinds(print_kind);
			return EXIT_SUCCESS;
		}
		if (strcmp(argv[i], "--version") == 0) {
			printf("triplane-inspect %s\n", TRIPLANE_VERSION);
			return EXIT_SUCCESS;
		}
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (argv[i][0] == '-' || path != NULL) {
			fprintf(stderr, "error: '%s': wanted one folder; see --help\n", argv[i]);
			return EXIT_USAGE;
		} else {
			path = argv[i];
		}
	}
	if (path == NULL) {
		fprintf(stderr, "error: no folder; see --help\n");
		return EXIT_USAGE;
	}
	d = load(path);
	if (d == NULL)
		return EXIT_FAILURE;
	if (as_json)
		print_json(d);
	else
		print_text(d);
	json_free(d);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : wrong("output", "", strerror(errno));
}
