/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-fabric: experiments with congestion control on switches and hosts in virtual time. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "result.h"

#define MAX_DEFINES 32u
#define SUFFIX ".fabric"

static const char usage[] =
	"usage: triplane-fabric [OPTION...] NAME|FILE\n"
	"Plays an experiment with congestion control in virtual time and prints what flows and queues did.\n"
	"\n"
	"NAME is one of the experiments that come with it, FILE one of your own (with a '/' or a '.' in its name).\n"
	"\n"
	"  -D NAME=VALUE   replaces what the file sets\n"
	"  --json FILE     all figures and series ('-': standard output, without the table)\n"
	"  --svg FILE      a picture of rates, queues and pauses\n"
	"  --pcap FILE     what reaches hosts, with times in nanoseconds\n"
	"  --seed N        of the switches' marking; 1\n"
	"  --list          the experiments and what they show\n"
	"  --help\n";

struct options {
	struct scene_define def[MAX_DEFINES];
	unsigned int num_def;
	const char *json, *svg, *pcap, *seed;
	bool list;
};

/* Where the experiments lie: beside an installation's programs, or in the tree that the program was built in. */
static DIR *
open_folder(char path[PATH_MAX])
{
	static const char *const places[] = {"../share/triplane/fabric", "../../../share/fabric"};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	DIR *d = NULL;

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (unsigned int i = 0; d == NULL && i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)snprintf(path, PATH_MAX, "%s/%s", exe, places[i]) < PATH_MAX)
			d = opendir(path);
	return d;
}

/* The first line of each file says what it shows. */
static int
list(void)
{
	char path[PATH_MAX], file[PATH_MAX], line[SCENE_TEXT];
	DIR *d = open_folder(path);
	struct dirent **names;
	int n = d != NULL ? scandir(path, &names, NULL, alphasort) : -1;

	if (n < 0) {
		fprintf(stderr, "triplane-fabric: the folder of experiments is not there: give a file\n");
		return 1;
	}
	closedir(d);
	for (int i = 0; i < n; i++) {
		const char *end = strstr(names[i]->d_name, SUFFIX);
		FILE *f = NULL;

		if (end != NULL && (size_t)snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name) < sizeof(file))
			f = fopen(file, "r");
		if (f != NULL && fgets(line, sizeof(line), f) != NULL)
			printf("%-12.*s %s", (int)(end - names[i]->d_name), names[i]->d_name,
			       line + strspn(line, "# "));
		if (f != NULL)
			fclose(f);
		free(names[i]);
	}
	free(names);
	return 0;
}

static FILE *
open_scene(const char *name)
{
	char path[PATH_MAX], file[PATH_MAX];
	FILE *f = NULL;
	DIR *d;

	if (strpbrk(name, "/.") != NULL) {
		f = fopen(name, "r");
		if (f == NULL)
			fprintf(stderr, "triplane-fabric: %s: %s\n", name, strerror(errno));
		return f;
	}
	d = open_folder(path);
	if (d != NULL && (size_t)snprintf(file, sizeof(file), "%s/%s" SUFFIX, path, name) < sizeof(file))
		f = fopen(file, "r");
	if (d != NULL)
		closedir(d);
	if (f == NULL)
		fprintf(stderr,
			"triplane-fabric: there is no experiment '%s': --list shows them, ./%s is a file of yours\n",
			name, name);
	return f;
}

/* Opened before the run: a long one should not end with a file that cannot be written. */
static int
open_out(const char *name, FILE **f)
{
	*f = NULL;
	if (name == NULL)
		return 0;
	*f = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");
	if (*f == NULL)
		fprintf(stderr, "triplane-fabric: %s: %s\n", name, strerror(errno));
	return *f != NULL ? 0 : -1;
}

static int
close_out(const char *name, FILE *f)
{
	int bad;

	if (f == NULL)
		return 0;
	bad = ferror(f) != 0;
	bad |= (f == stdout ? fflush(f) : fclose(f)) != 0;
	if (bad)
		fprintf(stderr, "triplane-fabric: %s: could not be written: %s\n", name, strerror(errno));
	return bad ? -1 : 0;
}

static int
play(const struct options *o, const char *name)
{
	FILE *in = open_scene(name), *json, *svg, *pcap;
	char err[SCENE_TEXT] = "";
	struct scene s = {0};
	struct sim m = {0};
	int rc;

	if (in == NULL)
		return 1;
	rc = scene_read(&s, in, name, o->def, o->num_def, err);
	fclose(in);
	if (rc == 0 && o->seed != NULL) {
		char *end;

		s.seed = strtoull(o->seed, &end, 10);
		if (*end != '\0' || end == o->seed) {
			snprintf(err, sizeof(err), "--seed '%.32s': wanted a number", o->seed);
			rc = -1;
		}
	}
	if (rc != 0) {
		fprintf(stderr, "triplane-fabric: %s\n", err);
		scene_free(&s);
		return 1;
	}
	if (open_out(o->json, &json) != 0 || open_out(o->svg, &svg) != 0 || open_out(o->pcap, &pcap) != 0) {
		scene_free(&s);
		return 1;
	}
	rc = sim_init(&m, &s, pcap, err);
	if (rc == 0) {
		rc = sim_run(&m);
		if (rc != 0)
			snprintf(err, sizeof(err), "out of memory");
	}
	if (rc != 0) {
		fprintf(stderr, "triplane-fabric: %s: %s\n", name, err);
	} else {
		if (json != stdout)
			result_table(&m, stdout);
		if (json != NULL)
			result_json(&m, name, json);
		if (svg != NULL)
			result_svg(&m, name, svg);
	}
	sim_fini(&m);
	scene_free(&s);
	if (close_out(o->json, json) != 0 || close_out(o->svg, svg) != 0 || close_out(o->pcap, pcap) != 0)
		rc = -1;
	return rc != 0 ? 1 : 0;
}

static int
define(struct options *o, char *text)
{
	char *eq = strchr(text, '=');

	if (eq == NULL || eq == text || o->num_def == MAX_DEFINES) {
		fprintf(stderr, "triplane-fabric: -D '%s': wanted NAME=VALUE, at most %u times\n", text, MAX_DEFINES);
		return -1;
	}
	*eq = '\0';
	o->def[o->num_def++] = (struct scene_define){.name = text, .value = eq + 1};
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct option longs[] = {{"json", required_argument, NULL, 'j'},
					      {"svg", required_argument, NULL, 's'},
					      {"pcap", required_argument, NULL, 'p'},
					      {"seed", required_argument, NULL, 'r'},
					      {"list", no_argument, NULL, 'l'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct options o = {0};
	int c;

	while ((c = getopt_long(argc, argv, "D:h", longs, NULL)) != -1) {
		switch (c) {
		case 'D':
			if (define(&o, optarg) != 0)
				return 2;
			break;
		case 'j': o.json = optarg; break;
		case 's': o.svg = optarg; break;
		case 'p': o.pcap = optarg; break;
		case 'r': o.seed = optarg; break;
		case 'l': o.list = true; break;
		case 'h': fputs(usage, stdout); return 0;
		default: fputs("triplane-fabric: --help shows the options\n", stderr); return 2;
		}
	}
	if (o.list)
		return list();
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		return 2;
	}
	return play(&o, argv[optind]);
}
