/* SPDX-License-Identifier: MIT */
/*
 * The pieces form a treap: a search tree by the pages, and a heap by a random priority, so that no
 * order of registrations makes it deep. Each node knows the last end below it, by which the pieces
 * that touch a place are found. Of twins, pieces with the same pages, the first is in the tree:
 * many small regions in a page cost one node.
 */
#include "daemon/device/memory/watched_pieces.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK_BYTES (UINT64_C(1) << 16)

struct watched_piece {
	struct watched_piece *left, *right;
	struct watched_piece *twin_before; /* NULL: the piece is in the tree, or in no place */
	struct watched_piece *twin_behind;
	struct watched_piece *sibling; /* of the same range, or the next unused piece */
	struct watched_range *range;
	uint64_t start, end; /* pages */
	uint64_t last_end;   /* in this piece and below it */
	uint64_t base;	     /* address of the range's first byte, if all of it lay as this does */
	uint64_t priority;
};

struct watched_chunk {
	struct watched_chunk *next;
	struct watched_piece pieces[];
};

#define CHUNK_PIECES ((CHUNK_BYTES - sizeof(struct watched_chunk)) / sizeof(struct watched_piece))

/* --- memory of pieces ------------------------------------------------------------------------- */

static bool try_add_chunk(struct watched_pieces *pieces)
{
	struct watched_chunk *chunk =
		mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return false;
	chunk->next = pieces->chunks;
	pieces->chunks = chunk;
	for (size_t i = 0; i < CHUNK_PIECES; i++) {
		chunk->pieces[i].sibling = pieces->unused;
		pieces->unused = &chunk->pieces[i];
	}
	return true;
}

/* A xorshift generator: nobody gains from knowing a priority beforehand. */
static uint64_t next_priority(struct watched_pieces *pieces)
{
	uint64_t state =
		pieces->random_state != 0 ? pieces->random_state : (uint64_t)(uintptr_t)pieces | 1;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	pieces->random_state = state;
	return state;
}

static struct watched_piece *piece_take(struct watched_pieces *pieces)
{
	struct watched_piece *piece;

	if (pieces->unused == NULL && !try_add_chunk(pieces))
		return NULL;
	piece = pieces->unused;
	pieces->unused = piece->sibling;
	*piece = (struct watched_piece){.priority = next_priority(pieces)};
	return piece;
}

static void piece_give_back(struct watched_pieces *pieces, struct watched_piece *piece)
{
	piece->sibling = pieces->unused;
	pieces->unused = piece;
}

void watched_pieces_fini(struct watched_pieces *pieces)
{
	struct watched_chunk *chunk = pieces->chunks;

	while (chunk != NULL) {
		struct watched_chunk *next = chunk->next;

		munmap(chunk, CHUNK_BYTES);
		chunk = next;
	}
	*pieces = (struct watched_pieces){0};
}

/* --- the tree --------------------------------------------------------------------------------- */

static bool comes_before(const struct watched_piece *one, const struct watched_piece *other)
{
	return one->start != other->start ? one->start < other->start : one->end < other->end;
}

static bool are_twins(const struct watched_piece *one, const struct watched_piece *other)
{
	return one->start == other->start && one->end == other->end;
}

/* Returns the link to the piece's first twin, or to the piece itself; a link to NULL: none. */
static struct watched_piece **find_twin(struct watched_piece **link,
					const struct watched_piece *piece)
{
	while (*link != NULL && !are_twins(*link, piece))
		link = comes_before(piece, *link) ? &(*link)->left : &(*link)->right;
	return link;
}

static void refresh(struct watched_piece *piece)
{
	piece->last_end = piece->end;
	if (piece->left != NULL && piece->left->last_end > piece->last_end)
		piece->last_end = piece->left->last_end;
	if (piece->right != NULL && piece->right->last_end > piece->last_end)
		piece->last_end = piece->right->last_end;
}

/* Joins two trees, of which all of `low` comes before all of `high`. */
static struct watched_piece *tree_join(struct watched_piece *low, struct watched_piece *high)
{
	if (low == NULL || high == NULL)
		return low != NULL ? low : high;
	if (low->priority > high->priority) {
		low->right = tree_join(low->right, high);
		refresh(low);
		return low;
	}
	high->left = tree_join(low, high->left);
	refresh(high);
	return high;
}

/* Cuts a tree into what comes before `place`, and the rest. */
static void tree_split(struct watched_piece *tree, const struct watched_piece *place,
		       struct watched_piece **low, struct watched_piece **high)
{
	if (tree == NULL) {
		*low = *high = NULL;
	} else if (comes_before(tree, place)) {
		tree_split(tree->right, place, &tree->right, high);
		*low = tree;
		refresh(tree);
	} else {
		tree_split(tree->left, place, low, &tree->left);
		*high = tree;
		refresh(tree);
	}
}

static struct watched_piece *tree_insert(struct watched_piece *tree, struct watched_piece *piece)
{
	if (tree == NULL || piece->priority > tree->priority) {
		tree_split(tree, piece, &piece->left, &piece->right);
		refresh(piece);
		return piece;
	}
	if (comes_before(piece, tree))
		tree->left = tree_insert(tree->left, piece);
	else
		tree->right = tree_insert(tree->right, piece);
	refresh(tree);
	return tree;
}

static struct watched_piece *tree_remove(struct watched_piece *tree,
					 const struct watched_piece *piece)
{
	if (tree == piece)
		return tree_join(tree->left, tree->right);
	if (comes_before(piece, tree))
		tree->left = tree_remove(tree->left, piece);
	else
		tree->right = tree_remove(tree->right, piece);
	refresh(tree);
	return tree;
}

/* Returns the first piece with a page between `start` and `end`; NULL: there is none. */
static struct watched_piece *find_touching(struct watched_piece *tree, uint64_t start, uint64_t end)
{
	struct watched_piece *found;

	if (tree == NULL || tree->last_end <= start)
		return NULL;
	found = find_touching(tree->left, start, end);
	if (found != NULL)
		return found;
	if (tree->start >= end)
		return NULL;
	return tree->end > start ? tree : find_touching(tree->right, start, end);
}

/* Returns the last end of the pieces that begin at `place` or before; 0: there are none. */
static uint64_t last_end_before(const struct watched_piece *tree, uint64_t place)
{
	uint64_t end = 0;

	while (tree != NULL) {
		if (tree->start > place) {
			tree = tree->left;
			continue;
		}
		if (tree->left != NULL && tree->left->last_end > end)
			end = tree->left->last_end;
		if (tree->end > end)
			end = tree->end;
		tree = tree->right;
	}
	return end;
}

/* Returns the first start behind `place`; `otherwise`: there is none before that. */
static uint64_t first_start_behind(const struct watched_piece *tree, uint64_t place,
				   uint64_t otherwise)
{
	while (tree != NULL) {
		if (tree->start > place) {
			if (tree->start < otherwise)
				otherwise = tree->start;
			tree = tree->left;
		} else {
			tree = tree->right;
		}
	}
	return otherwise;
}

bool watched_pieces_gap(const struct watched_pieces *pieces, uint64_t start, uint64_t end,
			uint64_t *gap_start, uint64_t *gap_end)
{
	while (start < end) {
		const uint64_t covered = last_end_before(pieces->root, start);

		if (covered <= start) {
			*gap_start = start;
			*gap_end = first_start_behind(pieces->root, start, end);
			return true;
		}
		start = covered;
	}
	return false;
}

/* --- runs of pages ---------------------------------------------------------------------------- */

static bool has_piece_at(const struct watched_pieces *pieces, uint64_t page)
{
	return last_end_before(pieces->root, page) > page;
}

/* Returns how many runs more there are when all gaps between `start` and `end` are covered. */
static int32_t runs_of_gaps(const struct watched_pieces *pieces, uint64_t start, uint64_t end)
{
	uint64_t gap_start, gap_end;
	int32_t runs = 0;

	while (watched_pieces_gap(pieces, start, end, &gap_start, &gap_end)) {
		runs += 1 - has_piece_at(pieces, gap_start - 1) - has_piece_at(pieces, gap_end);
		start = gap_end;
	}
	return runs;
}

/* --- ranges ----------------------------------------------------------------------------------- */

uint64_t watched_page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t watched_pages_start(const struct watched_range *range)
{
	return range->address & ~(watched_page_bytes() - 1);
}

uint64_t watched_pages_end(const struct watched_range *range)
{
	return rnic_round_up(range->address + range->bytes, watched_page_bytes());
}

static void twin_add(struct watched_piece *first, struct watched_piece *piece)
{
	piece->twin_before = first;
	piece->twin_behind = first->twin_behind;
	if (piece->twin_behind != NULL)
		piece->twin_behind->twin_before = piece;
	first->twin_behind = piece;
}

/* A later twin leaves the row. Of the first, the second one takes the node in the tree. */
static void twin_take_out(struct watched_pieces *pieces, struct watched_piece *piece)
{
	struct watched_piece *before = piece->twin_before, *behind = piece->twin_behind;

	if (before != NULL) {
		before->twin_behind = behind;
	} else {
		*find_twin(&pieces->root, piece) = behind;
		behind->left = piece->left;
		behind->right = piece->right;
		behind->last_end = piece->last_end;
		behind->priority = piece->priority;
	}
	if (behind != NULL)
		behind->twin_before = before;
	piece->twin_before = piece->twin_behind = NULL;
}

static void piece_insert(struct watched_pieces *pieces, struct watched_piece *piece)
{
	struct watched_piece *first = *find_twin(&pieces->root, piece);

	if (first != NULL) {
		twin_add(first, piece);
		return;
	}
	piece->left = piece->right = NULL;
	pieces->run_count += (uint32_t)runs_of_gaps(pieces, piece->start, piece->end);
	pieces->root = tree_insert(pieces->root, piece);
}

static void piece_take_out(struct watched_pieces *pieces, struct watched_piece *piece)
{
	if (piece->twin_before != NULL || piece->twin_behind != NULL) {
		twin_take_out(pieces, piece);
		return;
	}
	pieces->root = tree_remove(pieces->root, piece);
	pieces->run_count -= (uint32_t)runs_of_gaps(pieces, piece->start, piece->end);
}

static void range_update(struct watched_pieces *pieces, struct watched_range *range)
{
	const struct watched_piece *piece = range->pieces;
	const bool was_torn = range->is_torn;

	range->is_torn = piece == NULL || piece->sibling != NULL || piece->base != range->address ||
			 piece->start > watched_pages_start(range) ||
			 piece->end < watched_pages_end(range);
	if (range->is_torn != was_torn)
		atomic_fetch_add(&pieces->torn_count, range->is_torn ? 1U : -1U);
}

static void range_unlink(struct watched_piece *piece)
{
	struct watched_piece **link = &piece->range->pieces;

	while (*link != piece)
		link = &(*link)->sibling;
	*link = piece->sibling;
}

static struct watched_piece *range_add_piece(struct watched_pieces *pieces,
					     struct watched_range *range, uint64_t start,
					     uint64_t end, uint64_t base)
{
	struct watched_piece *piece = piece_take(pieces);

	if (piece == NULL)
		return NULL;
	piece->range = range;
	piece->start = start;
	piece->end = end;
	piece->base = base;
	piece->sibling = range->pieces;
	range->pieces = piece;
	piece_insert(pieces, piece);
	return piece;
}

int watched_pieces_add(struct watched_pieces *pieces, struct watched_range *range)
{
	range->pieces = NULL;
	range->is_torn = false;
	return range_add_piece(pieces, range, watched_pages_start(range), watched_pages_end(range),
			       range->address) != NULL
		       ? 0
		       : -ENOMEM;
}

bool watched_pieces_remove(struct watched_pieces *pieces, struct watched_range *range,
			   uint64_t *start, uint64_t *end)
{
	struct watched_piece *piece = range->pieces;

	if (piece == NULL) {
		if (range->is_torn)
			atomic_fetch_sub(&pieces->torn_count, 1);
		range->is_torn = false;
		return false;
	}
	range->pieces = piece->sibling;
	*start = piece->start;
	*end = piece->end;
	piece_take_out(pieces, piece);
	piece_give_back(pieces, piece);
	return true;
}

/* --- changes of mappings ---------------------------------------------------------------------- */

/*
 * Takes the first piece between `start` and `end` out of the tree, and cuts it to what lies there.
 * What lies before and behind stays in the tree; without memory for that it is lost, as if it had
 * been unmapped. Returns NULL when there is no piece.
 */
static struct watched_piece *cut_out(struct watched_pieces *pieces, uint64_t start, uint64_t end)
{
	struct watched_piece *piece = find_touching(pieces->root, start, end);

	if (piece == NULL)
		return NULL;
	piece_take_out(pieces, piece);
	if (piece->start < start)
		range_add_piece(pieces, piece->range, piece->start, start, piece->base);
	if (piece->end > end)
		range_add_piece(pieces, piece->range, end, piece->end, piece->base);
	piece->start = piece->start > start ? piece->start : start;
	piece->end = piece->end < end ? piece->end : end;
	return piece;
}

void watched_pieces_unmap(struct watched_pieces *pieces, uint64_t start, uint64_t end)
{
	struct watched_piece *piece;

	while ((piece = cut_out(pieces, start, end)) != NULL) {
		range_unlink(piece);
		range_update(pieces, piece->range);
		piece_give_back(pieces, piece);
	}
}

void watched_pieces_move(struct watched_pieces *pieces, uint64_t from, uint64_t to, uint64_t bytes)
{
	struct watched_piece *moving = NULL, *piece;

	while ((piece = cut_out(pieces, from, from + bytes)) != NULL) {
		piece->left = moving;
		moving = piece;
	}
	while ((piece = moving) != NULL) {
		moving = piece->left;
		piece->start += to - from;
		piece->end += to - from;
		piece->base += to - from;
		piece_insert(pieces, piece);
		range_update(pieces, piece->range);
	}
}

bool watched_pieces_find(const struct watched_range *range, uint64_t offset, uint64_t *address,
			 uint64_t *bytes)
{
	for (const struct watched_piece *piece = range->pieces; piece != NULL;
	     piece = piece->sibling) {
		const uint64_t place = piece->base + offset;

		if (place >= piece->start && place < piece->end) {
			*address = place;
			*bytes = piece->end - place;
			return true;
		}
	}
	return false;
}
