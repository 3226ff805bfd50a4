/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Pages of HTML in one file, in one style. */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* Text of HTML; quotes are escaped, too. */
void page_text(FILE *f, const char *s, size_t len);
/* Up to the heading, in a header that the caller ends. */
void page_begin(FILE *f, const char *title);
/* The document of JSON that the page shows, for programs, as a script of this id; and the end. */
void page_end(FILE *f, const char *id, const char *json, size_t len);

#endif /* COMMON_PAGE_H */
