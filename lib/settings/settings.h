/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Settings: one table of everything that can be set, whoever implements it.
 *
 * A row says all of a setting: its name, the name that users of the vendor's driver know it by, unit, type, range,
 * default, when it can be changed, whose it is, and two functions over the API that has the value. What a row says is
 * checked here and nowhere else; what only the implementation knows, it refuses itself. Showing, comparing with the defaults,
 * configuration files, profiles and the generated reference come from the rows.
 *
 * Not thread-safe: a registry belongs to one control thread. Functions that refuse return a negative errno and write
 * one line that names the value and what is wanted; nothing was changed then.
 */
#ifndef SETTINGS_SETTINGS_H
#define SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_SETTING_VALUE 18688 /**< room of a value's text with its end */
#define TP_SETTING_ERR 512     /**< room of a line of refusal */
#define TP_SETTING_OBJECT 48   /**< room of an object's text */
#define TP_SETTING_RANGE 256   /**< room of what may stand on the right */
#define TP_SETTING_NAME 32     /**< of a group, as in TP_GROUP_NAME */
#define TP_SETTINGS_TABLES 24

/** Whose a setting is. */
enum tp_setting_scope {
	TP_SCOPE_PROGRAM,
	TP_SCOPE_CARD, /**< what a device was made with; numbered by its ports */
	TP_SCOPE_PORT,
	TP_SCOPE_RXQ,
	TP_SCOPE_TXQ,
	TP_SCOPE_GROUP,
	TP_SCOPES
};

/** When a setting can be changed. */
enum tp_setting_when {
	TP_WHEN_LIVE,    /**< while packets flow */
	TP_WHEN_IDLE,    /**< while forwarding is stopped */
	TP_WHEN_STOPPED, /**< while the port is stopped */
	TP_WHEN_MADE,    /**< only by an argument, when the device is made */
	TP_WHENS
};

enum tp_setting_type {
	TP_SETTING_NUMBER, /**< min..max, decimal or with 0x, or one of the names */
	TP_SETTING_SWITCH, /**< on, off; 1, 0 */
	TP_SETTING_CHOICE, /**< one of the names */
	TP_SETTING_TEXT,   /**< judged by the row's function */
	TP_SETTING_TYPES
};

/** An object that has settings. */
struct tp_setting_at {
	enum tp_setting_scope scope;
	uint16_t port;               /**< all but the program */
	uint16_t queue;              /**< receive and transmit queues */
	char group[TP_SETTING_NAME]; /**< groups */
};

struct tp_setting {
	const char *name;
	const char *vendor; /**< "": the vendor's driver has none */
	const char *unit;   /**< "" */
	const char *def;    /**< "": depends on the machine, or there is none */
	const char *help;   /**< a sentence without its full stop */
	const char *names;  /**< "a|b|c", or NULL; of a text: what may stand there */
	enum tp_setting_scope scope;
	enum tp_setting_type type;
	enum tp_setting_when when;
	uint64_t min, max; /**< of a number */

	/**
	 * The value in force, in the form in which @p set takes it.
	 * @return 0; -ENODEV, -ENOTSUP: this object has no such setting; another negative errno
	 */
	int (*get)(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at,
		   char value[TP_SETTING_VALUE]);
	/** value passed the row's check and has its canonical form. NULL: cannot be changed. */
	int (*set)(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
		   char err[TP_SETTING_ERR]);
	/** Of a text; rewrites it to its canonical form. NULL: any text without control characters. */
	int (*judge)(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR]);
	uintptr_t id; /**< for the functions */

	/**
	 * What this change needs now, where that depends on the value or on what the object does; at most @p when.
	 * NULL: always @p when.
	 */
	enum tp_setting_when (*needs)(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at,
				      const char *value);
	const char *needs_text; /**< with needs: when it can be changed, for people */
};

/** Rows with something in common. */
struct tp_settings_table {
	const struct tp_setting *row;
	unsigned int num;
	void *ctx;  /**< of the functions */
	bool tells; /**< the implementation logs each change itself */
	/**
	 * Both or none: between them, the values of one object are set, and are in force all at once when end returned 0;
	 * when it refused, none is.
	 */
	int (*begin)(void *ctx, const struct tp_setting_at *at, char err[TP_SETTING_ERR]);
	int (*end)(void *ctx, const struct tp_setting_at *at, char err[TP_SETTING_ERR]);
};

/** What the program is asked. All but object may be NULL. */
struct tp_settings_ops {
	/** Object number @p i of a scope, in order. @return false past the last. */
	bool (*object)(void *arg, enum tp_setting_scope scope, unsigned int i, struct tp_setting_at *at);
	/** A value has changed. */
	void (*changed)(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *was,
			const char *is);
	/**
	 * Stops forwarding, and the ports if stop_ports, so that changes that need it can be made; go starts again
	 * what stop stopped. Called around whole lists of changes, not by tp_settings_set.
	 */
	int (*stop)(void *arg, bool stop_ports, char err[TP_SETTING_ERR]);
	int (*go)(void *arg, char err[TP_SETTING_ERR]);
};

struct tp_settings;

/** @return 0, -ENOMEM. */
int tp_settings_create(const struct tp_settings_ops *ops, void *arg, struct tp_settings **out);
void tp_settings_free(struct tp_settings *s);
/** The table must live as long as the registry. @return 0, -ENOSPC, -EEXIST (a name that its scope has already). */
int tp_settings_add(struct tp_settings *s, const struct tp_settings_table *table);

/** Row number @p i of all tables; NULL past the last. */
const struct tp_setting *tp_settings_row(const struct tp_settings *s, unsigned int i);
/** NULL: the scope has no such setting; @p near is then the name most like it, or NULL. */
const struct tp_setting *tp_settings_find(const struct tp_settings *s, enum tp_setting_scope scope, const char *name,
					  const char **near);

/** Words for people: "program", "port", ...; "live", "port stopped", ...; "number", ... */
const char *tp_setting_scope_name(enum tp_setting_scope scope);
const char *tp_setting_when_name(enum tp_setting_when when);
/** When a row's setting can be changed: the name of its when, or its own words where that depends on more. */
const char *tp_setting_when_text(const struct tp_setting *row);
const char *tp_setting_type_name(enum tp_setting_type type);
/** What may stand on the right, without the unit: "none or 1..8". */
void tp_setting_range(const struct tp_setting *row, char buf[TP_SETTING_RANGE]);
/** "program", "port 0", "rxq 0 3", "group 0 web" */
void tp_setting_at_text(const struct tp_setting_at *at, char buf[TP_SETTING_OBJECT]);
/** The other way round. The object need not exist. @return 0, -EINVAL with err. */
int tp_setting_at_parse(const char *text, struct tp_setting_at *at, char err[TP_SETTING_ERR]);

/** Judges a value by its row; value becomes canonical. @return 0, -EINVAL and what the row's function answers. */
int tp_setting_judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR]);
/** The number of a canonical value, 0 when it is a name. */
uint64_t tp_setting_num(const char *value);
bool tp_setting_on(const char *value);

/** Whether the value is the row's default; one without a default is never. */
bool tp_setting_is_default(const struct tp_setting *row, const char *value);

/** @return 0, -ENODEV, -ENOTSUP (the object has no such setting), another negative errno. */
int tp_settings_get(struct tp_settings *s, const struct tp_setting *row, const struct tp_setting_at *at,
		    char value[TP_SETTING_VALUE]);
/** Changes one setting of an object, by name. @return 0, -ENOENT (name, object), -EINVAL, -EPERM, or the setter's. */
int tp_settings_set(struct tp_settings *s, const struct tp_setting_at *at, const char *name, const char *value,
		    char err[TP_SETTING_ERR]);

/** Calls fn with each setting of each object, or of one; fn's answer other than 0 ends it and is returned. */
typedef int (*tp_setting_fn)(void *arg, const struct tp_setting *row, const struct tp_setting_at *at,
			     const char *value);
int tp_settings_each(struct tp_settings *s, const struct tp_setting_at *only, tp_setting_fn fn, void *arg);

/** One change of a list. */
struct tp_setting_change {
	struct tp_setting_at at;
	const struct tp_setting *row;
	char value[TP_SETTING_VALUE];
	char was[TP_SETTING_VALUE]; /**< filled when the list is applied */
	unsigned int line;          /**< where it was read, 0: nowhere */
	bool unnamed;               /**< nobody asked for it by name: dropped where there is no such setting */
	enum tp_setting_when when;  /**< what it needs; filled when the list is applied */
};

/** A list of changes; starts as zeroes. */
struct tp_setting_list {
	struct tp_setting_change *change;
	unsigned int num;
};

/** Appends a change after judging it. @return 0, -ENOENT, -EINVAL, -EPERM, -ENOMEM. */
int tp_setting_list_add(struct tp_settings *s, struct tp_setting_list *l, const struct tp_setting_at *at,
			const char *name, const char *value, unsigned int line, char err[TP_SETTING_ERR]);
void tp_setting_list_free(struct tp_setting_list *l);
/**
 * Makes all changes of a list or none. Those that are in force already are taken out of the list. Forwarding and ports
 * are stopped meanwhile when a change needs it.
 * @param[out] bad the change that was refused; l->num: none was, but something did not stop or start; may be NULL
 */
int tp_settings_apply(struct tp_settings *s, struct tp_setting_list *l, unsigned int *bad, char err[TP_SETTING_ERR]);

/** Writes what differs from the defaults, one section an object. @return 0, -EIO. */
int tp_settings_write(struct tp_settings *s, FILE *f);
/** Writes a list as a file with the values before; the new ones stand in comments. */
void tp_setting_list_write(const struct tp_setting_list *l, FILE *f);

/**
 * Reads a configuration file: sections such as "[port 0]", lines NAME=VALUE, '#' comments.
 * @param whole a section says all of its object: what it does not name gets its default. Else that stays.
 * @param wrong called with "FILE:LINE: reason" for each wrong line
 * @return 0, -EINVAL when a line was wrong, another negative errno when the file cannot be read (wrong was called)
 */
int tp_settings_read(struct tp_settings *s, const char *path, bool whole, struct tp_setting_list *l,
		     void (*wrong)(void *arg, const char *text), void *arg);

#ifdef __cplusplus
}
#endif

#endif /* SETTINGS_SETTINGS_H */
