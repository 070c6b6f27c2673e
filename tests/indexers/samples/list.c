/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "list.h"

#define LIMIT 64
/* The larger of two. */
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))

typedef unsigned long size;
typedef struct node {
    struct node *next;
    void *value;
} node_t;
typedef struct { int x, y; } point;
typedef int (*compare)(const void *, const void *);

enum color { RED, GREEN = 2 };
union number { int i; float f; };
struct list { node_t *head; };

static int count = 0, *cursor;
extern const char *names[];
int prototype(struct list *list, int (*match)(void *));

/**
 * Appends a value.
 * @param list where to
 */
static inline node_t *
list_append(struct list *list, /* to here */
            void *value)
{
    node_t *node = malloc(sizeof(*node));
    list->ops->insert(node, MAX(1, 2));
    return node;
}

#ifdef DEBUG
// Prints all.
void list_print(const struct list *list) {
    printf("%p", (void *)list);
}
#else
void list_print(const struct list *list) {}
#endif

int (*pick(int which))(void) { return 0; }
