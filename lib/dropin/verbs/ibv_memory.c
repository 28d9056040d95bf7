/* SPDX-License-Identifier: MIT */
#include "lib/client/native/populate.h"
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_opened.h"
#include "lib/dropin/verbs/ibv_translate.h"
#include "proto/base/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes `mr`, whose native region is there, known to the program. */
static void mr_set_up(struct rnic_verbs_mr *mr, struct ibv_pd *pd, void *address, size_t length)
{
	rnic_verbs_export_add(pd->context, &mr->export, RNIC_VERBS_EXPORT_MR,
			      rnic_mr_name(mr->native), rnic_mr_lkey(mr->native));
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = address,
		.length = length,
		.handle = mr->export.handle,
		.lkey = rnic_mr_lkey(mr->native),
		.rkey = rnic_mr_rkey(mr->native),
	};
	mr->made = rnic_verbs_made(pd->context, mr->mr.handle);
}

/*
 * All registrations of memory come here. With ZERO_BASED addresses count from 0, whatever `iova`
 * says.
 */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned access)
{
	struct rnic_verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	if ((access & IBV_ACCESS_ZERO_BASED) != 0)
		iova = 0;
	error = rnic_verbs_check_pd(pd);
	if (error == 0)
		error = rnic_reg_mr(rnic_verbs_pd(pd)->native, address, length, iova, access,
				    &mr->native);
	if (error != 0) {
		free(mr);
		return rnic_verbs_null(-error);
	}
	mr->memory = address;
	mr->iova = iova;
	mr->access = access;
	mr_set_up(mr, pd, address, length);
	return &mr->mr;
}

struct ibv_mr *rnic_verbs_alloc_null_mr(struct ibv_pd *pd)
{
	struct rnic_verbs_mr *mr = calloc(1, sizeof(*mr));
	int error;

	if (mr == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_check_pd(pd);
	if (error == 0)
		error = rnic_alloc_null_mr(rnic_verbs_pd(pd)->native, &mr->native);
	if (error != 0) {
		free(mr);
		return rnic_verbs_null(-error);
	}
	mr->access = IBV_ACCESS_LOCAL_WRITE;
	mr_set_up(mr, pd, NULL, SIZE_MAX);
	return &mr->mr;
}

/*
 * Maps `bytes` of the descriptor at `offset`, which begins a page. A buffer that cannot be mapped
 * cannot be registered: there is no device that would reach it otherwise. A file that is shorter
 * would make the mapping fault.
 */
static int map_dmabuf(int fd, uint64_t offset, size_t bytes, unsigned access, void **mapping)
{
	const int protection =
		(access & IBV_ACCESS_LOCAL_WRITE) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
	const off_t end = lseek(fd, 0, SEEK_END);

	if (end < 0 && errno == EBADF)
		return -EBADF;
	if (end >= 0 && !rnic_range_within(offset, bytes, (uint64_t)end))
		return -EINVAL;
	*mapping = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)offset);
	if (*mapping == MAP_FAILED)
		return errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
	return 0;
}

/*
 * A buffer of another device. Where its pages can be mapped they are memory of this process like
 * any other. Without pages behind the buffer the answer is EOPNOTSUPP. Programs such as NCCL probe
 * with descriptor -1 and length 0: EBADF tells them that the call is served, as on hardware.
 */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	const uint64_t before = offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	struct ibv_mr *mr;
	void *mapping;
	size_t bytes;
	int error;

	if (fd < 0)
		return rnic_verbs_null(EBADF);
	if (length == 0 || __builtin_add_overflow(length, (size_t)before, &bytes))
		return rnic_verbs_null(EINVAL);
	error = map_dmabuf(fd, offset - before, bytes, (unsigned)access, &mapping);
	if (error != 0)
		return rnic_verbs_null(-error);
	mr = ibv_reg_mr_iova2(pd, (uint8_t *)mapping + before, length, iova, (unsigned)access);
	if (mr == NULL) {
		error = errno == EFAULT ? EOPNOTSUPP : errno;
		munmap(mapping, bytes);
		return rnic_verbs_null(error);
	}
	rnic_verbs_mr(mr)->mapping = mapping;
	rnic_verbs_mr(mr)->mapping_bytes = bytes;
	mr->addr = (void *)(uintptr_t)offset;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, address, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned)access);
}

struct ibv_mr *rnic_verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
				    size_t length, unsigned access)
{
	struct rnic_verbs_dm_memory *memory = rnic_verbs_dm(ibv)->memory;
	struct ibv_mr *mr;
	int error = rnic_verbs_check_dm(ibv);

	if (error != 0)
		return rnic_verbs_null(-error);
	if ((access & IBV_ACCESS_ZERO_BASED) == 0 || ibv->context != pd->context ||
	    offset > memory->length || length > memory->length - offset)
		return rnic_verbs_null(EINVAL);
	mr = ibv_reg_mr_iova2(pd, memory->bytes + offset, length, 0, access);
	if (mr == NULL)
		return NULL;
	mr->addr = NULL;
	rnic_verbs_mr(mr)->dm = memory;
	rnic_verbs_dm_region_made(memory);
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct rnic_verbs_mr *mr = rnic_verbs_mr(ibv);
	int error = rnic_verbs_check_mr(ibv);

	if (error == 0)
		error = rnic_dereg_mr(mr->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	if (mr->dm != NULL)
		rnic_verbs_dm_region_gone(ibv->context, mr->dm);
	if (mr->mapping != NULL)
		munmap(mr->mapping, mr->mapping_bytes);
	rnic_verbs_export_remove(&mr->export);
	free(mr);
	return 0;
}

/* Finds what libibverbs of rdma-core finds without the device; the domain of another device also.
 */
static int check_rereg(const struct rnic_verbs_mr *mr, int flags, struct ibv_pd *pd,
		       const void *address, size_t length, int access)
{
	if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || mr->dm != NULL)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0 &&
	    (address == NULL || length == 0 || mr->mapping != NULL))
		return -EINVAL;
	if (access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) == 0)
		return 0;
	return pd == NULL || pd->context != mr->mr.context ? -EINVAL : rnic_verbs_check_pd(pd);
}

/* Has the device change the region, and notes the change. 0 or a negative errno. */
static int region_change(struct rnic_verbs_mr *mr, int flags, struct ibv_pd *pd, void *address,
			 size_t length, int access)
{
	struct ibv_mr shown = mr->mr;
	uint8_t *memory = mr->memory;
	uint32_t rights = mr->access;
	uint64_t iova = mr->iova;
	int error;

	if (flags == 0)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0)
		shown.pd = pd;
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0)
		rights = (uint32_t)access;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		memory = address;
		shown.addr = address;
		shown.length = length;
		iova = (rights & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)address;
	}
	error = rnic_rereg_mr(mr->native, rnic_verbs_pd(shown.pd)->native, memory, shown.length,
			      iova, rights);
	if (error != 0)
		return error;
	mr->mr = shown;
	mr->memory = memory;
	mr->iova = iova;
	mr->access = rights;
	return 0;
}

/*
 * The classes of the man page. ERR_INPUT: this library refuses, and the old region is valid.
 * ERR_CMD: the device or the memory refuses. A program must not use such a region any more, though
 * here it is as it was: the daemon changes all or nothing. The classes of fork do not occur, since
 * no range has to be kept from a child. The keys stay.
 */
int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *address, size_t length,
		 int access)
{
	struct rnic_verbs_mr *mr = rnic_verbs_mr(ibv);
	int error = rnic_verbs_check_mr(ibv);

	if (error == 0)
		error = check_rereg(mr, flags, pd, address, length, access);
	if (error != 0) {
		errno = -error;
		return IBV_REREG_MR_ERR_INPUT;
	}
	error = region_change(mr, flags, pd, address, length, access);
	if (error != 0) {
		errno = -error;
		return IBV_REREG_MR_ERR_CMD;
	}
	return 0;
}

/* NO_FAULT asks to make pages ready that are there already, and they are. */
static int prefetch(struct ibv_pd *pd, const struct ibv_sge *element,
		    enum ibv_advise_mr_advice advice)
{
	const bool for_writing = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const struct rnic_verbs_mr *mr = rnic_verbs_mr_of_key(pd->context, element->lkey);

	if (mr == NULL || rnic_verbs_pd(mr->mr.pd)->native != rnic_verbs_pd(pd)->native)
		return -EINVAL;
	if (element->addr < mr->iova ||
	    !rnic_range_within(element->addr - mr->iova, element->length, mr->mr.length))
		return -EINVAL;
	if (for_writing && (mr->access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EPERM;
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	return rnic_populate(mr->memory + (element->addr - mr->iova), element->length, for_writing,
			     UINT64_MAX);
}

/* The library prefetches at once, with or without FLUSH. */
int rnic_verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			 struct ibv_sge *elements, uint32_t count)
{
	int error = rnic_verbs_check_pd(pd);

	if (error != 0)
		return rnic_verbs_errno(error);
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) != 0)
		return rnic_verbs_errno(-EINVAL);
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return rnic_verbs_errno(-EOPNOTSUPP);
	for (uint32_t i = 0; i < count && error == 0; i++)
		error = prefetch(pd, &elements[i], advice);
	return rnic_verbs_errno(error);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attributes)
{
	struct rnic_verbs_ah *ah;
	struct rnic_path path;
	int error;

	if (attributes->is_global == 0 || attributes->port_num != RNIC_VERBS_PORT)
		return rnic_verbs_null(EINVAL);
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL)
		return rnic_verbs_null(ENOMEM);
	rnic_verbs_path(attributes, &path);
	error = rnic_verbs_check_pd(pd);
	if (error == 0)
		error = rnic_create_ah(rnic_verbs_pd(pd)->native, &path, &ah->native);
	if (error != 0) {
		free(ah);
		return rnic_verbs_null(-error);
	}
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->made = rnic_verbs_made(pd->context, 0);
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct rnic_verbs_ah *ah = rnic_verbs_ah(ibv);
	int error = rnic_verbs_check_ah(ibv);

	if (error == 0)
		error = rnic_destroy_ah(ah->native);
	if (error == 0)
		free(ah);
	return rnic_verbs_errno(error);
}
