#ifndef LIST_H
#define LIST_H
#ifdef __cplusplus
extern "C" {
#endif

/* Makes a list. */
struct list *list_new(void);

#ifdef __cplusplus
}
#endif
#endif
