/* SPDX-License-Identifier: MIT */
#include "tools/support/condition_object.h"

#include "tools/support/number_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse_name(struct admin_link *link, const char *name, const char *wanted)
{
	snprintf(link->reason, sizeof(link->reason), "\"%.60s\" is not %s", name, wanted);
	return -EINVAL;
}

/* Stores the client of the one row that has the number; else the reason names the clients. */
static int choose_client(struct admin_link *link, const uint32_t *clients, size_t count,
			 const char *name, const char *what, uint32_t *client_id)
{
	char list[120] = "";

	if (count == 1) {
		*client_id = clients[0];
		return 0;
	}
	if (count == 0) {
		snprintf(link->reason, sizeof(link->reason),
			 "no program that you may see (rnicctl show) has a %s %.30s; one of "
			 "another user is for that user and root",
			 what, name);
		return -ENOENT;
	}
	for (size_t i = 0; i < count; i++) {
		const size_t length = strlen(list);

		snprintf(list + length, sizeof(list) - length, "%s%u",
			 i == 0		 ? ""
			 : i + 1 < count ? ", "
					 : " or ",
			 clients[i]);
	}
	snprintf(link->reason, sizeof(link->reason),
		 "several programs have a %s %.30s: type CLIENT/%.30s, with the client %s", what,
		 name, name, list);
	return -EEXIST;
}

static int find_cq_client(struct admin_link *link, const char *name,
			  struct rnic_ctl_condition *condition)
{
	const struct rnic_show_cq *cqs;
	uint32_t *clients;
	size_t count, found = 0;
	void *rows;
	int error = admin_link_show(link, RNIC_SHOW_CQS, sizeof(*cqs), &rows, &count);

	if (error)
		return error;
	cqs = rows;
	clients = calloc(count + 1, sizeof(*clients));
	for (size_t i = 0; clients != NULL && i < count; i++)
		if (cqs[i].slot == condition->number)
			clients[found++] = cqs[i].client_id;
	error = clients != NULL ? choose_client(link, clients, found, name, "completion queue",
						&condition->client_id)
				: -ENOMEM;
	free(clients);
	free(rows);
	return error;
}

static int find_cq_of(struct admin_link *link, const char *name,
		      struct rnic_ctl_condition *condition)
{
	const char *at = name;

	if (number_text_read(&at, 0, '/', &condition->client_id)) {
		at++;
		return number_text_read(&at, 0, '\0', &condition->number)
			       ? 0
			       : refuse_name(link, name, "CLIENT/CQ of rnicctl show cqs");
	}
	at = name;
	if (!number_text_read(&at, 0, '\0', &condition->number))
		return refuse_name(link, name, "CQ or CLIENT/CQ of rnicctl show cqs");
	return find_cq_client(link, name, condition);
}

static int find_srq_of(struct admin_link *link, const char *name,
		       struct rnic_ctl_condition *condition)
{
	const struct rnic_show_srq *srqs;
	const char *at = name;
	uint32_t client = 0;
	size_t count, found = 0;
	void *rows;
	int error;

	if (!number_text_read(&at, 0, '\0', &condition->number))
		return refuse_name(link, name, "the SRQN of rnicctl show srqs");
	error = admin_link_show(link, RNIC_SHOW_SRQS, sizeof(*srqs), &rows, &count);
	if (error)
		return error;
	srqs = rows;
	for (size_t i = 0; i < count && found == 0; i++) {
		if (srqs[i].number != condition->number)
			continue;
		client = srqs[i].client_id;
		found++;
	}
	free(rows);
	return choose_client(link, &client, found, name, "shared receive queue",
			     &condition->client_id);
}

static int find_qp_of(struct admin_link *link, const char *name,
		      struct rnic_ctl_condition *condition)
{
	const char *at = name[0] == '#' ? name + 1 : name;
	const struct rnic_show_qp *qps;
	uint32_t number;
	size_t count;
	void *rows;
	int error;

	if (!number_text_read(&at, 0, '\0', &number))
		return refuse_name(link, name, "the QPN of rnicctl show qps");
	condition->number = number;
	if (name[0] != '#')
		return 0;
	error = admin_link_show(link, RNIC_SHOW_QPS, sizeof(*qps), &rows, &count);
	if (error)
		return error;
	qps = rows;
	if (number != 0 && number <= count)
		condition->number = qps[number - 1].qpn;
	free(rows);
	if (number != 0 && number <= count)
		return 0;
	snprintf(link->reason, sizeof(link->reason), "there are %zu queue pairs, and no %.30s",
		 count, name);
	return -ENOENT;
}

int condition_object_find(struct admin_link *link, const char *name,
			  struct rnic_ctl_condition *condition)
{
	switch (condition->condition) {
	case RNIC_CONDITION_LINK_FLAP:
		snprintf(condition->text, sizeof(condition->text), "%s", name);
		return 0;
	case RNIC_CONDITION_CQ_ERR:
		return find_cq_of(link, name, condition);
	case RNIC_CONDITION_SRQ_ERR:
		return find_srq_of(link, name, condition);
	default:
		return find_qp_of(link, name, condition);
	}
}
