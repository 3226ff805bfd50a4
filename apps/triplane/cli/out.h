/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What show commands print: the same calls give indented text, or one line of JSON per document. */
#ifndef TRIPLANE_CLI_OUT_H
#define TRIPLANE_CLI_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_ether.h>

#define OUT_MAX_DEPTH 12

struct out {
	FILE *f;
	bool json;
	unsigned int depth;  /* of objects and arrays */
	unsigned int indent; /* of text: arrays add none, their elements carry a label */
	bool first[OUT_MAX_DEPTH];
	bool array[OUT_MAX_DEPTH];
};

/* From begin to end the documents written to f are elements of one array, which is whole whenever end is called. */
void out_array_begin(FILE *f);
void out_array_end(void);

/* Starts and ends the document, an object. */
void out_init(struct out *o, FILE *f, bool json);
void out_done(struct out *o);
/* key is NULL for an element of an array. */
void out_object(struct out *o, const char *key);
void out_array(struct out *o, const char *key);
/* An element of an array that has a number: text shows "port 0:", JSON gets the member "port": 0. */
void out_item(struct out *o, const char *label, uint64_t num);
void out_end(struct out *o);
void out_u64(struct out *o, const char *key, uint64_t v);
void out_hex(struct out *o, const char *key, uint64_t v, int digits);
void out_real(struct out *o, const char *key, double v, int decimals);
void out_bool(struct out *o, const char *key, bool v);
void out_str(struct out *o, const char *key, const char *v);
void out_mac(struct out *o, const char *key, const struct rte_ether_addr *mac);

#endif /* TRIPLANE_CLI_OUT_H */
